--- Choosing with mini.pick: the server searches as you type.
local pick = require('memls.pick')
local util = require('memls.util')
local M = {}

---@param opts memls.PickOptions
function M.open(opts)
  local mini = require('mini.pick')
  local actions = require('memls.actions')
  local search = pick.searcher(opts)

  local function match(_, _, query)
    local tick = mini.get_querytick and mini.get_querytick()
    search(table.concat(query), function(err, items)
      if err then
        util.complain(err)
      end
      if err and err.kind == 'cancelled' or not mini.is_picker_active() then
        return
      end
      mini.set_picker_items(items, { do_match = false, querytick = tick })
    end)
  end

  --- Closes the picker and does something with what was current.
  ---@param act fun(item: memls.PickItem)
  local function on_current(act)
    return function()
      local matches = mini.get_picker_matches()
      local item = matches and matches.current
      vim.schedule(function()
        if item then
          act(item)
        end
      end)
      return true
    end
  end

  if opts.query and opts.query ~= '' then
    vim.api.nvim_create_autocmd('User', {
      pattern = 'MiniPickStart',
      once = true,
      callback = function()
        mini.set_picker_query(vim.fn.split(opts.query, '\\zs'))
      end,
    })
  end
  mini.start({
    source = {
      name = 'Memories',
      items = {},
      match = match,
      choose = function(item)
        local target = mini.get_picker_state().windows.target
        vim.api.nvim_win_call(target, function()
          actions.open(item.document)
        end)
      end,
    },
    mappings = {
      memls_forget = {
        char = '<M-f>',
        func = on_current(function(item)
          actions.forget({ { ref = item.document.ref, version = item.document.version } })
        end),
      },
      memls_pin = {
        char = '<M-p>',
        func = on_current(function(item)
          actions.pin(item.document, not item.document.pinned)
        end),
      },
    },
  })
end

return M
