--- The window of surfaced memories: what the last question brought, live, and what can be done with each.
local actions = require('memls.actions')
local float = require('memls.float')
local turns = require('memls.turns')
local util = require('memls.util')
local M = {}

local ns = vim.api.nvim_create_namespace('memls.surface')

---@class memls.Surface
---@field buf integer
---@field win integer
---@field turn? memls.SurfacedTurn the one that is shown
---@field follow boolean the newest turn is shown as soon as it is there
---@field rows table<integer, integer> which document a row belongs to
---@field starts integer[] the first row of each document
---@field more table<string, boolean> refs whose whole passage is shown
local view ---@type memls.Surface?

-- A longer passage is shown by its beginning, until more is asked for.
local short = 6

local matches = { exact = '', fold = ' (accents)', prefix = ' (beginning)', part = ' (part)', gram = ' (near)' }

---@param why table[]
---@return string
local function reasons(why)
  local fields, order = {}, {}
  for _, reason in ipairs(why) do
    if not fields[reason.field] then
      fields[reason.field] = {}
      table.insert(order, reason.field)
    end
    local how = matches[reason.match] or (' (' .. util.clean(reason.match) .. ')')
    table.insert(fields[reason.field], util.clean(reason.term) .. how)
  end
  local parts = {}
  for _, field in ipairs(order) do
    table.insert(parts, util.clean(field):gsub('_', ' ') .. ': ' .. table.concat(fields[field], ', '))
  end
  return table.concat(parts, ' · ')
end
M.reasons = reasons

local states = { updated = 'changed since', more = 'another passage' }

---@param document table
---@param mark memls.Mark
---@return string
local function facts(document, mark)
  local parts = {}
  local function add(text)
    if text and text ~= '' then
      table.insert(parts, util.clean(text))
    end
  end
  if mark.gone then
    add('forgotten')
  elseif mark.retracted then
    add('withdrawn by the model')
  end
  add(states[document.state])
  add(document.scope)
  add(document.type ~= document.scope and document.type or nil)
  add(document.ageDays and util.age(document.ageDays))
  add(document.pinned and 'pinned' or nil)
  add(document.status ~= 'active' and document.status or nil)
  return table.concat(parts, ' · ')
end

---@param page memls.Page
---@param document table
---@param mark memls.Mark
---@param index integer
local function show_document(page, document, mark, index)
  local off = mark.retracted or mark.gone
  local phase = mark.phase == 'activity' and '' or mark.phase
  local first = page:add(
    { ('%d '):format(index), 'MemlsMeta' },
    { util.clean(document.title), off and 'MemlsRetracted' or 'MemlsTitle' }
  )
  page:add(
    { '  ' },
    { phase, phase == 'fast' and 'MemlsFast' or 'MemlsRefined' },
    { (phase ~= '' and ' · ' or '') .. facts(document, mark), 'MemlsMeta' }
  )
  if document.detail then
    page:add({ '  ' .. util.clean(document.detail), 'MemlsProblem' })
  end
  if document.stale then
    page:add({ '  check it: ' .. util.clean(document.stale.detail), 'MemlsStale' })
  end
  local why = reasons(document.why)
  if why ~= '' then
    page:add({ '  why ', 'MemlsMeta' }, { why, 'MemlsWhy' })
  end
  if not off and document.body ~= '' then
    local lines = util.lines(document.body)
    local shown = view and view.more[document.ref] and #lines or math.min(#lines, short)
    for i = 1, shown do
      page:add({ '  │ ', 'MemlsMeta' }, { lines[i] })
    end
    if shown < #lines then
      page:add({ ('  │ … %s more: K'):format(util.count(#lines - shown, 'line')), 'MemlsMeta' })
    elseif document.truncated then
      page:add({ '  │ …', 'MemlsMeta' })
    end
  end
  page:add({ '' })
  return first
end

---@param turn memls.SurfacedTurn
---@return string
local function progress(turn)
  if turn.host then
    return ('given to %s at %s'):format(util.clean(turn.host), os.date('%H:%M', turn.at))
  end
  local n = util.count(turns.count(turn), 'memory', 'memories')
  if turn.phase == 'asked' then
    return 'looking …'
  elseif turn.phase == 'fast' then
    return n .. ' so far · a model is choosing …'
  elseif turn.phase == 'failed' then
    return 'failed: ' .. util.clean(turn.detail)
  end
  local how = turn.strategy == 'model' and 'chosen by the model' or 'by the index'
  if turn.status == 'cancelled' then
    return 'cancelled'
  elseif turn.status == 'not_started' then
    return 'not recalled: ' .. util.clean(turn.detail or '')
  elseif #turn.documents == 0 then
    return turn.status == 'already_delivered' and 'nothing that this conversation does not have already'
      or 'nothing is about this'
  end
  return turn.latency and ('%s %s in %d ms'):format(n, how, turn.latency) or n
end

---@return memls.Page
local function compose()
  ---@cast view memls.Surface
  local page, turn = float.page(), view.turn
  view.rows, view.starts = {}, {}
  if not turn then
    page:add({ 'No memories have surfaced yet.', 'MemlsQuery' })
    page:add({ '' })
    page:add({ 'Ask with :Memls recall {question}, or from a chat pane (:h memls-chat).', 'MemlsMeta' })
    return page
  end
  local query = turn.query ~= '' and util.fit(util.clean(turn.query), 400) or util.clean(turn.host or '')
  page:add({ query, 'MemlsQuery' })
  page:add({ progress(turn), turn.phase == 'failed' and 'MemlsProblem' or 'MemlsMeta' })
  page:add({ '' })
  for i, document in ipairs(turn.documents) do
    local from = show_document(page, document, turn.marks[document.ref], i)
    view.starts[i] = from
    for row = from, #page.lines - 1 do
      view.rows[row] = i
    end
  end
  if #turn.already > 0 then
    local names = {}
    for i = 1, math.min(#turn.already, 5) do
      table.insert(names, util.clean(turn.already[i]))
    end
    if #turn.already > 5 then
      table.insert(names, ('and %d more'):format(#turn.already - 5))
    end
    page:add({ 'already in this conversation: ', 'MemlsMeta' }, { table.concat(names, ', '), 'MemlsMeta' })
  end
  for _, degraded in ipairs(turn.degraded) do
    page:add({ 'did without: ' .. util.clean(degraded.detail), 'MemlsProblem' })
  end
  page:add({ '<CR> open  K whole  p pin  x forget  + - useful, wrong  y yank  g? all keys', 'MemlsHelp' })
  return page
end

---@return integer? index of the document at the cursor
local function at_cursor()
  ---@cast view memls.Surface
  return view.rows[vim.api.nvim_win_get_cursor(view.win)[1] - 1]
end

---@return boolean
function M.is_open()
  return view ~= nil and vim.api.nvim_win_is_valid(view.win) and vim.api.nvim_buf_is_valid(view.buf)
end

function M.render()
  if not M.is_open() then
    return
  end
  ---@cast view memls.Surface
  local kept = at_cursor()
  local ref = kept and view.turn and view.turn.documents[kept] and view.turn.documents[kept].ref
  if view.follow then
    view.turn = turns.last()
  end
  compose():show(view.buf, ns)
  local row = view.starts[1]
  for i, document in ipairs(view.turn and view.turn.documents or {}) do
    if document.ref == ref then
      row = view.starts[i]
    end
  end
  if row then
    vim.api.nvim_win_set_cursor(view.win, { row + 1, 0 })
  end
end

---@param step integer
local function move(step)
  ---@cast view memls.Surface
  local index = (at_cursor() or (step > 0 and 0 or #view.starts + 1)) + step
  local row = view.starts[math.max(1, math.min(index, #view.starts))]
  if row then
    vim.api.nvim_win_set_cursor(view.win, { row + 1, 0 })
  end
end

--- Shows an older or a newer turn.
---@param step integer
local function browse(step)
  ---@cast view memls.Surface
  local index = #turns.list
  for i, turn in ipairs(turns.list) do
    index = turn == view.turn and i or index
  end
  index = math.max(1, math.min(index + step, #turns.list))
  view.turn, view.follow = turns.list[index], index == #turns.list
  M.render()
end

function M.close()
  if M.is_open() then
    ---@cast view memls.Surface
    vim.api.nvim_win_close(view.win, true)
  end
  view = nil
end

---@param fn fun(document: table, turn: memls.SurfacedTurn)
local function on_document(fn)
  return function()
    ---@cast view memls.Surface
    local index = at_cursor()
    local document = index and view.turn and view.turn.documents[index]
    if not document then
      return util.notify('there is no memory at the cursor')
    end
    fn(document, view.turn)
  end
end

---@param how 'edit'|'split'|'vsplit'|'tabedit'
local function opener(how)
  return on_document(function(document)
    local was_float = vim.api.nvim_win_get_config(view.win).relative ~= ''
    if was_float then
      M.close()
    else
      vim.cmd('wincmd p')
    end
    actions.open(document, how)
  end)
end

---@type { [1]: string|string[], [2]: string, [3]: fun() }[]
local keys
keys = {
  { '<CR>', 'open the memory', opener('edit') },
  { 's', 'open it in a split', opener('split') },
  { 'v', 'open it in a vertical split', opener('vsplit') },
  { 't', 'open it in a tab page', opener('tabedit') },
  {
    'K',
    'show the whole passage, or its beginning',
    on_document(function(document)
      view.more[document.ref] = not view.more[document.ref] or nil
      M.render()
    end),
  },
  {
    'p',
    'pin it, or let go of it',
    on_document(function(document, turn)
      actions.pin(document, not document.pinned, function()
        turns.changed(turn)
      end)
    end),
  },
  {
    'x',
    'forget it, after a look at what goes',
    on_document(function(document)
      actions.forget({ { ref = document.ref, version = document.version } })
    end),
  },
  {
    '+',
    'it was useful',
    on_document(function(document, turn)
      actions.feedback(document, 'useful', turn.session)
    end),
  },
  {
    '-',
    'it is wrong',
    on_document(function(document, turn)
      actions.feedback(document, 'wrong', turn.session)
    end),
  },
  {
    'o',
    'it is outdated',
    on_document(function(document, turn)
      actions.feedback(document, 'outdated', turn.session)
    end),
  },
  {
    'y',
    'yank the block that an agent would get',
    function()
      actions.yank_prompt(view.turn)
    end,
  },
  {
    'Y',
    'yank the name of the memory',
    on_document(function(document)
      actions.yank(document.ref, 'its name')
    end),
  },
  {
    ']]',
    'next memory',
    function()
      move(1)
    end,
  },
  {
    '[[',
    'previous memory',
    function()
      move(-1)
    end,
  },
  {
    '<',
    'an older question',
    function()
      browse(-1)
    end,
  },
  {
    '>',
    'a newer question',
    function()
      browse(1)
    end,
  },
  {
    'g?',
    'the keys of this window',
    function()
      M.help()
    end,
  },
  {
    { 'q', '<Esc>' },
    'close',
    function()
      M.close()
    end,
  },
}

--- Shows the keys of the window.
function M.help()
  local page = float.page()
  for _, key in ipairs(keys) do
    local names = type(key[1]) == 'table' and table.concat(key[1], ' ') or key[1]
    page:add({ ('%-8s '):format(names), 'MemlsTitle' }, { key[2] })
  end
  local buf = float.buffer('keys', 'memls')
  local win = float.open(buf, true)
  page:show(buf, ns)
  float.map(buf, { 'q', '<Esc>', 'g?' }, 'close', function()
    vim.api.nvim_win_close(win, true)
  end)
end

--- Opens the window, or goes to it.
---@param opts? { enter?: boolean }
function M.open(opts)
  local enter = not opts or opts.enter ~= false
  if M.is_open() then
    ---@cast view memls.Surface
    view.follow = true
    if enter then
      vim.api.nvim_set_current_win(view.win)
    end
    return M.render()
  end
  require('memls.highlights').set()
  local buf = float.buffer('surfaced', 'memls')
  view = { buf = buf, win = float.open(buf, enter), follow = true, rows = {}, starts = {}, more = {} }
  for _, key in ipairs(keys) do
    float.map(buf, key[1], key[2], key[3])
  end
  vim.api.nvim_create_autocmd('VimResized', {
    buffer = buf,
    callback = function()
      if M.is_open() and vim.api.nvim_win_get_config(view.win).relative ~= '' then
        vim.api.nvim_win_set_config(view.win, float.layout())
      end
    end,
  })
  M.render()
end

turns.listen(function()
  M.render()
end)

return M
