;;; memls-test.el --- memls.el in Emacs  -*- lexical-binding: t; -*-

;; emacs --batch -Q -L docs/clients/emacs -l memls-test.el -f ert-run-tests-batch-and-exit
;; MEMLS_BIN names the program.

(require 'ert)
(require 'memls)

(unless (fboundp 'markdown-mode) ; it is a package of its own
  (define-derived-mode markdown-mode text-mode "Markdown"))
(add-to-list 'auto-mode-alist '("\\.md\\'" . markdown-mode))

(defun memls-test-until (what test)
  "Waits until TEST is true; WHAT says what is waited for."
  (let ((end (+ (float-time) 20)) result)
    (while (not (setq result (funcall test)))
      (when (> (float-time) end) (error "Waited in vain for %s" what))
      (accept-process-output nil 0.01))
    result))

(defmacro memls-test-with (name &rest body)
  "Runs BODY in a buffer of the memory NAME of a fresh workspace, connected."
  `(let* ((ws (file-name-as-directory (make-temp-file "memls ws" t)))
          (process-environment (append (list (concat "HOME=" ws "home") (concat "XDG_STATE_HOME=" ws "state")
                                             (concat "XDG_DATA_HOME=" ws "data"))
                                       process-environment))
          (memls-program (getenv "MEMLS_BIN"))
          (memls-options '(:trusted t))
          (eglot-sync-connect t) (eglot-autoshutdown t))
     (make-directory (concat ws ".memory") t)
     (make-directory (concat ws ".git"))
     (let ((project-find-functions (list (lambda (_) (cons 'transient ws)))))
       (write-region "---\nname: Gateway port\ntype: project\n---\n\nThe gateway listens on 7433.\n" nil (concat ws ".memory/port.md"))
       (write-region "---\nname: Broken: header\ntype: nonsense\n---\n\nThe ferry is late.\n" nil (concat ws ".memory/ferry.md"))
       (find-file (concat ws ".memory/" ,name))
       (unwind-protect
           (progn (apply #'eglot (eglot--guess-contact)) ,@body)
         (when (eglot-current-server) (eglot-shutdown (eglot-current-server)))
         (set-buffer-modified-p nil)
         (kill-buffer)
         (delete-directory ws t)))))

(ert-deftest memls-test-connects ()
  (memls-test-with "port.md"
    (should (cl-typep (eglot-current-server) 'memls-server))
    (should (eglot-server-capable :experimental :memory :methods))))

(ert-deftest memls-test-diagnostics ()
  (memls-test-with "ferry.md"
    (flymake-mode 1)
    (memls-test-until "diagnostics" (lambda () (flymake-start) (flymake-diagnostics)))))

(ert-deftest memls-test-recall ()
  (memls-test-with "port.md"
    (memls-recall "which port does the gateway use")
    (memls-test-until "the memory"
                      (lambda () (with-current-buffer "*memls*" (string-match-p "listens on 7433" (buffer-string)))))
    (with-current-buffer "*memls*" (should (string-match-p "Gateway port  (fast, project:port.md)" (buffer-string))))))

(ert-deftest memls-test-search ()
  (memls-test-with "ferry.md"
    (let (visited)
      (let ((completing-read-function (lambda (_ docs &rest _) (caar docs))))
        (cl-letf (((symbol-function 'find-file) (lambda (path) (setq visited path))))
          (memls-search "gateway")))
      (should (file-equal-p visited (concat ws ".memory/port.md"))))))

(ert-deftest memls-test-changed ()
  (memls-test-with "port.md"
    (let* (seen (memls-changed-functions (list (lambda (c) (setq seen (append (plist-get c :added) nil))))))
      (write-region "The tide tables are in the office.\n" nil (concat ws ".memory/tide.md"))
      (memls-test-until "the new memory" (lambda () (member "project:tide.md" seen))))))

(ert-deftest memls-test-without-a-server ()
  (with-temp-buffer (should-error (memls-recall "anything") :type 'user-error)))

;;; memls-test.el ends here
