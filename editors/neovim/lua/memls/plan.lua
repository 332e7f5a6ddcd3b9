--- The review of a plan in a tab page of its own: the file as it is, the file as it would be, and the list of changes, from which those that
--- are wanted are chosen. Nothing is changed before the person has said so.
local actions = require('memls.actions')
local client = require('memls.client')
local float = require('memls.float')
local patch = require('memls.patch')
local util = require('memls.util')
local M = {}

local ns = vim.api.nvim_create_namespace('memls.plan')

---@class memls.Item one change of the plan
---@field change table `PlanChange`
---@field chosen boolean
---@field before? string the file's text; nil when it cannot be shown as text
---@field after? string what the plan would make of it
---@field edited? string what the person made of that
---@field problem? string why it cannot be shown, or would be refused

---@class memls.Review
---@field plan table
---@field purge boolean
---@field items memls.Item[]
---@field current integer
---@field list integer buffer
---@field left integer buffer
---@field right integer buffer
---@field wins table<'list'|'left'|'right', integer>
---@field tab integer
---@field busy boolean

---@param review memls.Review
---@return boolean
local function is_open(review)
  return vim.api.nvim_tabpage_is_valid(review.tab) and vim.api.nvim_buf_is_valid(review.list)
end

---@param review memls.Review
local function close(review)
  if not is_open(review) then
    return
  end
  vim.bo[review.right].modified = false
  if #vim.api.nvim_list_tabpages() > 1 then
    vim.cmd.tabclose(vim.api.nvim_tabpage_get_number(review.tab))
  else
    vim.cmd('enew')
  end
  for _, buf in ipairs({ review.list, review.left, review.right }) do
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
end

local verbs = { create = 'new', update = 'change', delete = 'delete' }

---@param review memls.Review
local function show_list(review)
  local page = float.page()
  local chosen = 0
  for i, item in ipairs(review.items) do
    local change = item.change
    chosen = chosen + (item.chosen and 1 or 0)
    page:add(
      { i == review.current and '> ' or '  ', 'MemlsTitle' },
      { item.chosen and '[x] ' or '[ ] ', item.chosen and 'MemlsAccepted' or 'MemlsRejected' },
      { ('%-7s'):format(verbs[change.action] or util.clean(change.action)), 'MemlsMeta' },
      { util.clean(change.ref), 'MemlsTitle' },
      { item.edited and ' (edited)' or '', 'MemlsStale' },
      { '  ' .. util.clean(change.reason), 'MemlsMeta' },
      { item.problem and '  ' .. item.problem or '', 'MemlsProblem' }
    )
    local why = require('memls.surface').reasons(change.why or {})
    if why ~= '' then
      page:add({ '          why ', 'MemlsMeta' }, { why, 'MemlsWhy' })
    end
  end
  for _, warning in ipairs(review.plan.warnings) do
    page:add({ util.clean(warning), 'MemlsProblem' })
  end
  local apply = ('a apply %d of %d'):format(chosen, #review.items)
  local purge = review.purge and ' for good' or ''
  page:add({ ('%s%s  <Space> choose  <CR> show  D discard  q leave  do, dp: a hunk'):format(apply, purge), 'MemlsHelp' })
  page:show(review.list, ns)
end

---@param review memls.Review
---@return integer index of the change at the cursor
local function at_cursor(review)
  local row = vim.api.nvim_win_get_cursor(review.wins.list)[1]
  local line = 0
  for i, item in ipairs(review.items) do
    line = line + 1 + (#(item.change.why or {}) > 0 and 1 or 0)
    if row <= line then
      return i
    end
  end
  return #review.items
end

---@param buf integer
---@param text string
local function fill(buf, text)
  local t = patch.text(text)
  local editable = vim.bo[buf].modifiable
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, t.lines)
  vim.bo[buf].endofline = t.ended or #t.lines == 0
  vim.bo[buf].modifiable = editable
  vim.bo[buf].modified = false
end

---@param buf integer
---@return string
local function content(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  if #lines == 1 and lines[1] == '' then
    return ''
  end
  return patch.join({ lines = lines, ended = vim.bo[buf].endofline })
end

--- Keeps what the person has made of the text that is shown.
---@param review memls.Review
local function keep(review)
  local item = review.items[review.current]
  if item and item.after and vim.api.nvim_buf_is_valid(review.right) then
    local text = content(review.right)
    item.edited = text ~= item.after and text or nil
  end
end

---@param review memls.Review
---@param index integer
local function show(review, index)
  keep(review)
  review.current = index
  local item = review.items[index]
  local both = item.after ~= nil
  vim.bo[review.right].modifiable = both and item.change.action ~= 'delete'
  if both then
    fill(review.left, item.before)
    fill(review.right, item.edited or item.after)
  else
    fill(review.left, '')
    fill(review.right, item.change.diff)
  end
  for _, side in ipairs({ 'left', 'right' }) do
    local buf = review[side]
    local filetype = both and 'markdown' or 'diff'
    if vim.bo[buf].filetype ~= filetype then
      vim.bo[buf].filetype = filetype
    end
    vim.api.nvim_win_call(review.wins[side], function()
      vim.cmd(both and 'diffthis' or 'diffoff')
      vim.wo.foldenable = both
      vim.wo.winbar = (side == 'left' and 'as it is' or 'as it would be')
        .. ': '
        .. util.clean(item.change.ref):gsub('%%', '%%%%')
    end)
  end
  vim.api.nvim_win_call(review.wins.right, function()
    vim.cmd('normal! gg')
    if both then
      pcall(vim.cmd, 'silent! normal! ]c')
    end
  end)
  show_list(review)
end

---@param item memls.Item
---@return integer? buf a buffer with unsaved changes of the file
local function unsaved(item)
  for _, buf in ipairs(util.buffers_of(util.path(item.change.uri))) do
    if vim.bo[buf].modified then
      return buf
    end
  end
end

--- Reads the file of a change and computes what would become of it.
---@param item memls.Item
---@param done fun()
local function load(item, done)
  local change = item.change
  local function computed(before)
    local after = patch.apply(patch.text(before), change.diff)
    if change.action == 'delete' then
      item.before, item.after = before, ''
    elseif after then
      item.before, item.after = before, patch.join(after)
    end
    done()
  end
  if not change.base then
    return computed('')
  end
  util.read(util.path(change.uri), function(err, data)
    if err then
      item.problem = 'the file cannot be read: ' .. util.clean(err)
      return done()
    end
    ---@cast data string
    if data:find('\0', 1, true) then
      return done() -- no text for Neovim: the diff is shown as it is
    end
    if 'sha256:' .. vim.fn.sha256(data) ~= change.base then
      item.problem = 'the file has changed since the plan was made'
      return done()
    end
    if data:sub(1, 3) == '\239\187\191' or data:find('\r', 1, true) then
      return done() -- the server compares text without marks and with its own line ends
    end
    computed(data)
  end)
end

---@param review memls.Review
---@return string[] ids
---@return table<string, string>? edits
---@return string? refusal
local function selection(review)
  keep(review)
  local ids, edits, files = {}, {}, {}
  for _, item in ipairs(review.items) do
    if item.chosen then
      local buf = unsaved(item)
      if buf then
        local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':~:.')
        return ids, nil, ('%s has unsaved changes in buffer %d: write or drop them first'):format(util.clean(name), buf)
      end
      table.insert(ids, item.change.id)
      local file = files[item.change.uri] or { count = 0 }
      files[item.change.uri] = file
      file.count, file.edited = file.count + 1, file.edited or item.edited ~= nil
      if item.edited and item.edited ~= item.before then
        edits[item.change.id] = item.edited
      elseif item.edited then
        return ids,
          nil,
          ('nothing is left of the change of %s: take it out with <Space>'):format(util.clean(item.change.ref))
      end
      if file.edited and file.count > 1 then
        return ids,
          nil,
          ('an edited text stands for the whole file: choose no other change of %s'):format(util.clean(item.change.ref))
      end
    end
  end
  if #ids == 0 then
    return ids, nil, 'nothing is chosen: choose with <Space>'
  end
  return ids, next(edits) and edits or nil
end

---@param review memls.Review
---@param ids string[]
---@param edits table<string, string>?
local function send(review, ids, edits)
  review.busy = true
  local params = { plan = review.plan.id, only = ids, edits = edits, purge = review.purge or nil }
  client.request('memory/apply', params, function(err, operation)
    review.busy = false
    if err then
      return util.complain(err)
    end
    close(review)
    actions.reload(operation)
    require('memls.turns').gone(operation)
    util.notify(require('memls.commands').done(operation))
  end)
end

local asks = { forget = 'Forget', dream = 'Change', extract = 'Remember', move = 'Move', remember = 'Remember' }

---@param review memls.Review
local function apply(review)
  if review.busy then
    return
  end
  local ids, edits, refusal = selection(review)
  show_list(review)
  if refusal then
    return util.notify(refusal, vim.log.levels.WARN)
  end
  local verb = asks[review.plan.kind] or 'Change'
  local prompt = ('%s this (%s)%s?'):format(
    verb,
    util.count(#ids, 'change'),
    review.purge and ' without a trace, for good' or ''
  )
  vim.ui.select({ verb, 'Not yet' }, { prompt = prompt }, function(_, index)
    if index == 1 then
      send(review, ids, edits)
    end
  end)
end

---@param review memls.Review
local function discard(review)
  vim.ui.select({ 'Discard the plan', 'Keep it' }, { prompt = 'Nothing of it will be done' }, function(_, index)
    if index ~= 1 then
      return
    end
    client.request('memory/discard', { plan = review.plan.id }, function(err)
      if err then
        return util.complain(err)
      end
      close(review)
      util.notify('the plan is discarded')
    end)
  end)
end

---@param review memls.Review
local function map_keys(review)
  local function select_at_cursor()
    local item = review.items[at_cursor(review)]
    item.chosen = not item.chosen
    show(review, at_cursor(review))
  end
  float.map(review.list, '<Space>', 'choose the change, or not', select_at_cursor)
  float.map(review.list, '<CR>', 'show the change', function()
    show(review, at_cursor(review))
  end)
  float.map(review.list, 'D', 'discard the plan', function()
    discard(review)
  end)
  float.map(review.list, 'a', 'apply what is chosen', function()
    apply(review)
  end)
  for _, buf in ipairs({ review.list, review.left, review.right }) do
    float.map(buf, 'q', 'leave, with nothing done', function()
      close(review)
    end)
  end
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = review.right,
    callback = function()
      vim.bo[review.right].modified = false
      apply(review)
    end,
  })
end

---@param name string
---@param filetype string set once: leaving one may complain of mappings that its plugin never made
---@return integer
local function side(name, filetype)
  local buf = float.buffer(name, filetype)
  vim.bo[buf].bufhidden = 'hide'
  return buf
end

---@param review memls.Review
local function open_windows(review)
  vim.cmd('tabnew')
  local first = vim.api.nvim_get_current_buf()
  review.tab = vim.api.nvim_get_current_tabpage()
  review.left, review.right, review.list = side('before', ''), side('after', ''), side('plan', 'memls')
  vim.bo[review.right].buftype = 'acwrite'
  review.wins.left = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(review.wins.left, review.left)
  vim.cmd('rightbelow vsplit')
  review.wins.right = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(review.wins.right, review.right)
  vim.cmd(
    'botright ' .. math.min(2 * #review.items + #review.plan.warnings + 1, math.floor(vim.o.lines / 3)) .. 'split'
  )
  review.wins.list = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(review.wins.list, review.list)
  vim.wo.winfixheight = true
  vim.wo.cursorline = true
  vim.wo.winbar = ''
  for option, value in pairs({ number = false, relativenumber = false, signcolumn = 'no', wrap = true, diff = false }) do
    vim.wo[option] = value
  end
  if vim.api.nvim_buf_is_valid(first) and vim.api.nvim_buf_get_name(first) == '' then
    pcall(vim.api.nvim_buf_delete, first, {})
  end
end

--- Shows a plan for review.
---@param plan table `Plan`
---@param opts? { purge?: boolean }
function M.open(plan, opts)
  if #plan.changes == 0 then
    return util.notify(table.concat(vim.list_extend({ 'the plan changes nothing' }, plan.warnings), '. '))
  end
  require('memls.highlights').set()
  ---@type memls.Review
  local review = { plan = plan, purge = opts and opts.purge or false, items = {}, current = 0, wins = {}, busy = false }
  -- What words have found is a proposal, of which the person chooses.
  local all = plan.kind ~= 'forget' or #plan.changes == 1
  local left = #plan.changes
  for _, change in ipairs(plan.changes) do
    local item = { change = change, chosen = all }
    table.insert(review.items, item)
    load(item, function()
      left = left - 1
      if left == 0 then
        open_windows(review)
        map_keys(review)
        show(review, 1)
      end
    end)
  end
end

return M
