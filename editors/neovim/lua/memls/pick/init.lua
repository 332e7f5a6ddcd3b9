--- Choosing among memories: the searches, and which picker shows them.
local client = require('memls.client')
local config = require('memls.config')
local util = require('memls.util')
local M = {}

---@class memls.PickOptions
---@field query? string
---@field inactive? boolean superseded and expired ones, too
---@field picker? string

---@class memls.PickItem
---@field text string what is shown, and what other pickers match
---@field document table
---@field path string
---@field lnum integer from 1
---@field col integer from 0

-- The most that the server answers to one search.
local most = 100

---@param document table
---@return memls.PickItem
function M.item(document)
  local about = document.description ~= '' and '  ' .. util.clean(document.description) or ''
  return {
    text = ('%s%s  %s'):format(util.clean(document.title), about, util.clean(document.ref)),
    document = document,
    path = util.path(document.uri),
    lnum = document.range and document.range.start.line + 1 or 1,
    col = 0,
  }
end

--- A searcher: each call gives up the search before it, so that of what is typed only the newest is answered; the others get an error of
--- the kind `cancelled`.
---@param opts memls.PickOptions
---@return fun(query: string, callback: fun(err: memls.Error?, items: memls.PickItem[], total: integer))
function M.searcher(opts)
  local pending ---@type memls.Request?
  local asked = 0
  local buf = vim.api.nvim_get_current_buf()
  return function(query, callback)
    if pending then
      pending.cancel()
    end
    local method, params = 'memory/search', { query = query, limit = most, inactive = opts.inactive }
    if vim.trim(query) == '' then -- an empty search finds nothing: the list stands for it
      method, params = 'memory/list', { limit = most, inactive = opts.inactive or false }
    end
    asked = asked + 1
    local own = asked
    local request = client.request(method, params, function(err, result)
      -- An answer that came before it could be given up is as if it had been.
      if not err and own ~= asked then
        err = { kind = 'cancelled', message = 'cancelled' }
      end
      if err then
        return callback(err, {}, 0)
      end
      local items = vim.tbl_map(M.item, result.documents)
      callback(nil, items, result.total or #items + (result.cursor and 1 or 0))
    end, buf)
    pending = request
  end
end

--- How many there are, when not all are shown.
---@param shown integer
---@param total integer
---@return string
function M.title(shown, total)
  if total > shown then
    return ('Memories: the best %d of %d'):format(shown, total)
  end
  return 'Memories'
end

---@type { [1]: string, [2]: string }[] a picker's name here, and the module that it needs
local adapters = {
  { 'telescope', 'telescope' },
  { 'fzf_lua', 'fzf-lua' },
  { 'snacks', 'snacks' },
  { 'mini_pick', 'mini.pick' },
}

---@param wanted string
---@return string
local function choose(wanted)
  for _, adapter in ipairs(adapters) do
    local name, module = adapter[1], adapter[2]
    if wanted == name or wanted == 'auto' then
      local ok = pcall(require, module)
      if ok then
        return name
      elseif wanted == name then
        util.notify(('the picker %s is not there; vim.ui.select is used'):format(name), vim.log.levels.WARN)
      end
    end
  end
  return 'select'
end

--- Opens a picker.
---@param opts memls.PickOptions
function M.open(opts)
  require('memls.pick.' .. choose(opts.picker or config.get().picker)).open(opts)
end

return M
