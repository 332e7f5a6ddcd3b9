--- Choosing with fzf-lua: the server searches as you type.
local pick = require('memls.pick')
local util = require('memls.util')
local M = {}

---@param item memls.PickItem
---@return string as the previewers of fzf-lua read it
local function line(item)
  return ('%s:%d:%d:%s'):format(item.path, item.lnum, item.col + 1, item.text)
end

---@param opts memls.PickOptions
function M.open(opts)
  local fzf = require('fzf-lua')
  local actions = require('memls.actions')
  local search = pick.searcher(opts)
  local known = {} ---@type table<string, memls.PickItem>

  local function contents(arguments)
    local query = type(arguments) == 'table' and arguments[1] or arguments
    return function(add)
      search(query or '', function(err, items)
        if err then
          util.complain(err)
        end
        for _, item in ipairs(items) do
          known[line(item)] = item
          add(line(item))
        end
        add() -- the end
      end)
    end
  end

  ---@param act fun(item: memls.PickItem)
  local function on_selected(act)
    return function(selected)
      local item = selected and known[selected[1]]
      if item then
        act(item)
      end
    end
  end
  local function opener(how)
    return on_selected(function(item)
      actions.open(item.document, how)
    end)
  end

  fzf.fzf_live(contents, {
    prompt = 'Memories> ',
    query = opts.query,
    exec_empty_query = true,
    previewer = 'builtin',
    fzf_opts = { ['--delimiter'] = ':', ['--with-nth'] = '4..', ['--no-multi'] = true },
    actions = {
      ['enter'] = opener('edit'),
      ['ctrl-s'] = opener('split'),
      ['ctrl-v'] = opener('vsplit'),
      ['ctrl-t'] = opener('tabedit'),
      ['alt-f'] = on_selected(function(item)
        actions.forget({ { ref = item.document.ref, version = item.document.version } })
      end),
      ['alt-p'] = on_selected(function(item)
        actions.pin(item.document, not item.document.pinned)
      end),
    },
  })
end

return M
