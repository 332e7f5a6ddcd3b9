--- What can be done with a memory, from whatever shows it.
local client = require('memls.client')
local util = require('memls.util')
local M = {}

--- Opens the file of a memory at its passage.
---@param document table with `uri` and, where known, `range`
---@param how? 'edit'|'split'|'vsplit'|'tabedit'
function M.open(document, how)
  if not document.uri then
    return util.notify('where ' .. util.clean(document.ref) .. ' lies is not known yet', vim.log.levels.WARN)
  end
  local path = util.path(document.uri)
  local shown = util.buffers_of(path)[1]
  local name = shown and vim.api.nvim_buf_get_name(shown) or path -- the spelling under which it is open already
  local ok, err = pcall(vim.cmd[how or 'edit'], vim.fn.fnameescape(name))
  if not ok then
    return util.notify(('%s was not opened: %s'):format(util.clean(name), err), vim.log.levels.ERROR)
  end
  if document.range then
    local buf = vim.api.nvim_get_current_buf()
    local line = math.min(document.range.start.line, vim.api.nvim_buf_line_count(buf) - 1)
    vim.api.nvim_win_set_cursor(0, { line + 1, 0 })
    vim.cmd('normal! zv')
  end
end

---@param text string
---@param what string
function M.yank(text, what)
  vim.fn.setreg(vim.v.register, text)
  util.notify(('yanked %s (%s)'):format(what, util.count(#vim.split(text, '\n'), 'line')))
end

---@param turn memls.SurfacedTurn?
function M.yank_prompt(turn)
  local prompt = turn and require('memls.turns').prompt(turn) or ''
  if prompt == '' then
    return util.notify('there is no block: nothing was given that stands', vim.log.levels.WARN)
  end
  M.yank(prompt, 'the block of these memories')
end

---@param document table
---@param pinned boolean
---@param done? fun()
function M.pin(document, pinned, done)
  client.request(
    'memory/pin',
    { ref = document.ref, version = document.version, pinned = pinned },
    function(err, operation)
      if err then
        return util.complain(err)
      end
      document.pinned = pinned
      for _, change in ipairs(operation.changes) do
        document.version = change.to or document.version
      end
      M.reload(operation)
      util.notify(
        ('%s %s'):format(util.clean(document.title or document.ref), pinned and 'is pinned' or 'is pinned no longer')
      )
      if done then
        done()
      end
    end
  )
end

---@param document table
---@param verdict 'useful'|'wrong'|'outdated'
---@param session? string
function M.feedback(document, verdict, session)
  local params = { ref = document.ref, verdict = verdict, session = session ~= '' and session or nil }
  client.request('memory/feedback', params, function(err, result)
    if err then
      return util.complain(err)
    end
    local f = result.feedback
    util.notify(
      ('%s: %d useful, %d wrong, %d outdated'):format(
        util.clean(document.title or document.ref),
        f.useful,
        f.wrong,
        f.outdated
      )
    )
  end)
end

--- Plans to forget exactly these memories or entries and shows the plan.
---@param targets { ref: string, version?: string }[]
---@param opts? { purge?: boolean }
function M.forget(targets, opts)
  client.request('memory/forget', { refs = targets }, function(err, plan)
    if err then
      return util.complain(err)
    end
    require('memls.plan').open(plan, opts)
  end)
end

--- Has buffers that show changed files read them again; those with unsaved changes are left alone.
---@param operation table `Operation`
function M.reload(operation)
  if #(operation.changes or {}) == 0 then
    return
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and not vim.bo[buf].modified then
      local name = vim.api.nvim_buf_get_name(buf)
      if name ~= '' and vim.uv.fs_stat(name) then
        vim.api.nvim_buf_call(buf, function()
          local autoread = vim.o.autoread
          vim.bo[buf].autoread = true
          pcall(vim.cmd.checktime, buf)
          vim.bo[buf].autoread = autoread
        end)
      end
    end
  end
end

return M
