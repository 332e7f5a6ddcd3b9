--- The window of `:Memls status`.
local float = require('memls.float')
local util = require('memls.util')
local M = {}

local ns = vim.api.nvim_create_namespace('memls.report')

-- Of long lists the beginning is shown, and how many there are.
local shown = 10

---@param page memls.Page
---@param root table `RootStatus`
local function show_root(page, root)
  local group = root.state == 'ready' and 'MemlsRefined' or 'MemlsProblem'
  if root.state == 'missing' and root.profile then -- a place for the first memory of its scope
    group = 'MemlsMeta'
  end
  page:add({ util.clean(root.scope) .. ' ', 'MemlsTitle' }, { util.clean(vim.fn.fnamemodify(root.path, ':~')) })
  page:add(
    { '  ' },
    { util.clean(root.state), group },
    { root.reason and ': ' .. util.clean(root.reason) or '', 'MemlsProblem' },
    { (' · %d of %s'):format(root.catalogued, util.count(root.onDisk, 'file')), 'MemlsMeta' },
    { root.readOnly and ' · read only' or '', 'MemlsMeta' },
    { ' · changes by ' .. util.clean(root.watch.mode), 'MemlsMeta' }
  )
  if root.watch.reason and root.state ~= 'missing' then
    page:add({ '  ' .. util.clean(root.watch.reason), 'MemlsProblem' })
  end
  for i = 1, math.min(#root.skipped, shown) do
    local skipped = root.skipped[i]
    page:add({ ('  not read: %s: %s'):format(util.clean(skipped.path), util.clean(skipped.reason)), 'MemlsStale' })
  end
  if root.skippedTotal > shown then
    page:add({ ('  and %d more'):format(root.skippedTotal - shown), 'MemlsStale' })
  end
  page:add({ '' })
end

--- Shows a status.
---@param status table `StatusResult`
function M.open(status)
  require('memls.highlights').set()
  local page = float.page()
  page:add({ 'memls ' .. util.clean(status.process.version), 'MemlsQuery' })
  page:add({
    ('process %d, up for %d s'):format(status.process.pid, math.floor(status.process.uptimeMs / 1000)),
    'MemlsMeta',
  })
  page:add({ '' })
  for _, root in ipairs(status.roots) do
    show_root(page, root)
  end
  if #status.roots == 0 then
    page:add({ 'No memories are served here.', 'MemlsProblem' })
    page:add({ '' })
  end
  for _, place in ipairs(status.discovered) do
    if place.state ~= 'served' and place.state ~= 'absent' and place.state ~= 'new' then
      local reason = place.reason and ': ' .. util.clean(place.reason) or ''
      page:add({ ('%s %s%s'):format(util.clean(place.path), util.clean(place.state), reason), 'MemlsStale' })
    end
  end
  for _, note in ipairs(status.notes) do
    page:add({ util.clean(note), 'MemlsStale' })
  end
  local model = status.model
  page:add(
    { 'model: ', 'MemlsMeta' },
    { util.clean(model.state) .. (model.name and ' ' .. util.clean(model.name) or '') },
    { model.detail and ', ' .. util.clean(model.detail) or '', 'MemlsProblem' }
  )
  page:add({ 'changes that wait: ', 'MemlsMeta' }, { tostring(status.plans) })
  local buf = float.buffer('status', 'memls')
  local win = float.open(buf, true)
  page:show(buf, ns)
  float.map(buf, { 'q', '<Esc>' }, 'close', function()
    vim.api.nvim_win_close(win, true)
  end)
end

return M
