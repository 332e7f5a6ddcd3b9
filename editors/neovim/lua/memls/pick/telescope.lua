--- Choosing with telescope.nvim: the server searches as you type, and its order stands.
local pick = require('memls.pick')
local util = require('memls.util')
local M = {}

---@param item memls.PickItem
local function entry(item)
  return {
    value = item,
    display = item.text,
    ordinal = item.text,
    filename = item.path,
    path = item.path,
    lnum = item.lnum,
    col = item.col + 1,
  }
end

--- A finder that asks the server; results of a question that is no longer asked are passed over by the picker.
---@param opts memls.PickOptions
---@param on_total fun(shown: integer, total: integer)
local function finder(opts, on_total)
  local search = pick.searcher(opts)
  return setmetatable({ close = function() end }, {
    __call = function(_, prompt, process_result, process_complete)
      search(prompt or '', function(err, items, total)
        if err and err.kind == 'cancelled' then
          return -- completing it would end the search that took its place
        elseif err then
          util.complain(err)
        end
        for i, item in ipairs(items) do
          local e = entry(item)
          e.index = i
          if process_result(e) then
            break
          end
        end
        on_total(#items, total)
        process_complete()
      end)
    end,
  })
end

---@param buf integer
---@param act fun(item: memls.PickItem)
local function with_selection(buf, act)
  return function()
    local selected = require('telescope.actions.state').get_selected_entry()
    require('telescope.actions').close(buf)
    if selected then
      act(selected.value)
    end
  end
end

---@param opts memls.PickOptions
function M.open(opts)
  local pickers, sorters = require('telescope.pickers'), require('telescope.sorters')
  local conf = require('telescope.config').values
  local actions = require('memls.actions')
  local picker
  picker = pickers.new({ default_text = opts.query }, {
    prompt_title = 'Memories',
    finder = finder(opts, function(shown, total)
      if picker and picker.prompt_border and picker.prompt_border.change_title then
        picker.prompt_border:change_title(pick.title(shown, total))
      end
    end),
    sorter = sorters.empty(),
    previewer = conf.grep_previewer({}),
    attach_mappings = function(buf, map)
      map(
        { 'i', 'n' },
        '<M-f>',
        with_selection(buf, function(item)
          actions.forget({ { ref = item.document.ref, version = item.document.version } })
        end),
        { desc = 'forget' }
      )
      map(
        { 'i', 'n' },
        '<M-p>',
        with_selection(buf, function(item)
          actions.pin(item.document, not item.document.pinned)
        end),
        { desc = 'pin' }
      )
      return true
    end,
  })
  picker:find()
end

return M
