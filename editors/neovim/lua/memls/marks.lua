--- Virtual text at a question: how many memories it brought.
local turns = require('memls.turns')
local M = {}

local ns = vim.api.nvim_create_namespace('memls.marks')

---@param turn memls.SurfacedTurn
---@return string
function M.text(turn)
  local n = turns.count(turn)
  if turn.phase == 'failed' then
    return 'no memories: memls failed'
  elseif turn.phase == 'asked' then
    return 'memories …'
  end
  local text = require('memls.util').count(n, 'memory', 'memories')
  return turn.phase == 'fast' and text .. ' …' or text
end

turns.listen(function(turn)
  local buf = turn.buf
  if turn.host or not buf or not vim.api.nvim_buf_is_loaded(buf) or not require('memls.config').get().virtual_text then
    return
  end
  require('memls.highlights').set()
  local last = vim.api.nvim_buf_line_count(buf) - 1
  turn.line = math.min(turn.line or last, last)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1) -- of the last turn only
  vim.api.nvim_buf_set_extmark(buf, ns, turn.line, 0, {
    virt_text = { { '  ' .. M.text(turn), 'MemlsVirtualText' } },
    virt_text_pos = 'eol',
  })
end)

return M
