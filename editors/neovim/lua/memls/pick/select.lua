--- Choosing with |vim.ui.select()|, which every Neovim has.
local pick = require('memls.pick')
local util = require('memls.util')
local M = {}

---@param query string
---@param opts memls.PickOptions
local function search(query, opts)
  pick.searcher(opts)(query, function(err, items, total)
    if err then
      return util.complain(err)
    elseif #items == 0 then
      return util.notify('nothing was found for ' .. util.clean(query))
    end
    vim.ui.select(items, {
      prompt = pick.title(#items, total),
      kind = 'memls',
      format_item = function(item)
        return item.text
      end,
    }, function(item)
      if item then
        require('memls.actions').open(item.document)
      end
    end)
  end)
end

---@param opts memls.PickOptions
function M.open(opts)
  if opts.query and opts.query ~= '' then
    return search(opts.query, opts)
  end
  vim.ui.input({ prompt = 'Search memories (empty: all): ' }, function(query)
    if query then
      search(query, opts)
    end
  end)
end

return M
