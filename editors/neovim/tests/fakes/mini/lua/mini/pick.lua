-- What mini.pick does with a source, as far as its documentation says: `match` is called for each change of the query, a list of characters;
-- it sets the items itself, and items of an older query are refused by its tick.
local M = { tick = 0, active = false }

function M.start(opts)
  M.opts, M.active, M.items = opts, true, {}
  M.target = vim.api.nvim_get_current_win()
  vim.api.nvim_exec_autocmds('User', { pattern = 'MiniPickStart' })
  if not M.query then
    M.set_picker_query({})
  end
end

function M.set_picker_query(query)
  M.query, M.tick, M.ended = query, M.tick + 1, false
  M.opts.source.match({}, {}, query)
end

function M.get_querytick()
  return M.tick
end

function M.is_picker_active()
  return M.active
end

function M.set_picker_items(items, opts)
  assert(opts.do_match == false)
  if opts.querytick == M.tick then
    M.items, M.ended = items, true
  end
end

function M.get_picker_matches()
  return { current = M.items[1], all = M.items }
end

function M.get_picker_state()
  return { windows = { target = M.target } }
end

return M
