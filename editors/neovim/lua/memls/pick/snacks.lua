--- Choosing with snacks.picker: the server searches as you type.
local pick = require('memls.pick')
local util = require('memls.util')
local M = {}

---@param opts memls.PickOptions
function M.open(opts)
  local actions = require('memls.actions')
  local search = pick.searcher(opts)

  local function finder(_, ctx)
    return function(add)
      local done
      -- The finder runs apart from the main loop: what asks the server must not.
      vim.schedule(function()
        search(ctx.filter.search, function(err, items)
          if err then
            util.complain(err)
          end
          done = items
          ctx.async:resume()
        end)
      end)
      while not done do
        ctx.async:suspend()
      end
      for _, item in ipairs(done) do
        add({ text = item.text, file = item.path, pos = { item.lnum, item.col }, document = item.document })
      end
    end
  end

  ---@param act fun(document: table)
  local function on_item(act)
    return function(picker, item)
      picker:close()
      if item then
        act(item.document)
      end
    end
  end

  require('snacks').picker.pick({
    source = 'memls',
    title = 'Memories',
    live = true,
    supports_live = true,
    search = opts.query,
    finder = finder,
    format = function(item)
      return { { item.text } }
    end,
    preview = 'file',
    confirm = 'jump',
    actions = {
      memls_forget = on_item(function(document)
        actions.forget({ { ref = document.ref, version = document.version } })
      end),
      memls_pin = on_item(function(document)
        actions.pin(document, not document.pinned)
      end),
    },
    win = {
      input = {
        keys = {
          ['<M-f>'] = { 'memls_forget', mode = { 'i', 'n' }, desc = 'forget' },
          ['<M-p>'] = { 'memls_pin', mode = { 'i', 'n' }, desc = 'pin' },
        },
      },
    },
  })
end

return M
