;;; memls.el --- Memories of coding agents by eglot  -*- lexical-binding: t; -*-

;; Needs Emacs 29 or newer, which has eglot, and memls in the PATH. Markdown buffers get what docs/language-server.md describes after M-x eglot;
;; M-x memls-recall shows what a question brings to mind, M-x memls-search looks through the memories.

;;; Code:

(require 'eglot)

(defgroup memls nil "Memories of coding agents." :group 'tools)

(defcustom memls-program "memls"
  "The program." :type 'string)

(defcustom memls-options nil
  "What the server is told, as a plist: initializationOptions of docs/protocol.md.
\(:trusted t) says that the memories in the workspaces that you open may be read; leave it out for those
that you do not trust."
  :type 'plist)

(defclass memls-server (eglot-lsp-server) ()
  :documentation "A connection to memls.")

;; Says that messages beyond LSP are understood: memory/changed and its like then come.
(cl-defmethod eglot-client-capabilities :around ((_server memls-server))
  (plist-put (copy-sequence (cl-call-next-method)) :experimental '(:memory t)))

(cl-defmethod eglot-initialization-options ((_server memls-server))
  (or memls-options eglot--{}))

(defun memls--contact (&rest _)
  "How eglot starts memls."
  (list 'memls-server memls-program "serve" "--stdio"))

(add-to-list 'eglot-server-programs
             '((markdown-mode gfm-mode markdown-ts-mode) . memls--contact))

(defvar memls-changed-functions nil
  "Called with the plist of memory/changed when memories have changed.")

(defvar memls--token 0)

(defun memls--show (result)
  "Adds the memories of RESULT, a RecallResult, to the buffer *memls*."
  (with-current-buffer (get-buffer-create "*memls*")
    (save-excursion
      (goto-char (point-max))
      (seq-doseq (doc (plist-get result :documents))
        (insert (format "* %s  (%s, %s)\n%s\n\n" (plist-get doc :title) (plist-get result :phase)
                        (plist-get doc :ref) (plist-get doc :body))))
      (seq-doseq (ref (plist-get result :retract))
        (insert (format "withdrawn by the model: %s\n" ref)))
      (seq-doseq (reason (plist-get result :degraded))
        (insert (format "did without: %s\n" (plist-get reason :detail)))))))

(cl-defmethod eglot-handle-notification ((_s memls-server) (_m (eql memory/recallFast)) &rest result)
  (memls--show result))

(cl-defmethod eglot-handle-notification ((_s memls-server) (_m (eql memory/recallRefined)) &rest result)
  (memls--show result))

(cl-defmethod eglot-handle-notification ((_s memls-server) (_m (eql memory/changed)) &rest changed)
  (run-hook-with-args 'memls-changed-functions changed))

(cl-defmethod eglot-handle-notification ((_s memls-server) (_m (eql memory/statusChanged)) &rest _))
(cl-defmethod eglot-handle-notification ((_s memls-server) (_m (eql memory/plansChanged)) &rest _))
(cl-defmethod eglot-handle-notification ((_s memls-server) (_m (eql memory/taskChanged)) &rest _))
(cl-defmethod eglot-handle-notification ((_s memls-server) (_m (eql memory/activity)) &rest _))

(defun memls--server ()
  "The server of this buffer, or an error that says what to do."
  (let ((server (eglot-current-server)))
    (if (cl-typep server 'memls-server) server
      (user-error "No memls here: M-x eglot in a Markdown file of the project"))))

(defun memls-recall (question)
  "Shows in *memls* what QUESTION brings to mind."
  (interactive "sQuestion: ")
  (with-current-buffer (get-buffer-create "*memls*") (erase-buffer))
  (jsonrpc-async-request
   (memls--server) :memory/recall
   (list :session "emacs" :token (format "e%d" (cl-incf memls--token)) :query question)
   :success-fn (lambda (response)
                 (when-let* ((reason (plist-get response :reason)))
                   (message "memls: %s" (or (plist-get response :detail) reason))))
   :error-fn (lambda (err) (message "memls: %s" (plist-get err :message))))
  (display-buffer "*memls*"))

(defun memls-search (words)
  "Looks for WORDS in the memories and visits the one that is chosen."
  (interactive "sSearch memories: ")
  (let* ((result (jsonrpc-request (memls--server) :memory/search (list :query words)))
         (docs (mapcar (lambda (d) (cons (plist-get d :title) d)) (plist-get result :documents))))
    (unless docs (user-error "Nothing was found for %s" words))
    (let ((chosen (cdr (assoc (completing-read "Memory: " docs nil t) docs))))
      (find-file (funcall (if (fboundp 'eglot-uri-to-path) #'eglot-uri-to-path 'eglot--uri-to-path)
                          (plist-get chosen :uri))))))

(provide 'memls)
;;; memls.el ends here
