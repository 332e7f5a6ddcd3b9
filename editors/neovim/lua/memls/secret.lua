--- The key of a model, when the server asks for it.
local M = {}

--- Answers `memory/secret`. What is typed or given is handed to the server and kept nowhere.
---@param params { name: string }
---@return { value: string }?
---@return lsp.ResponseError?
function M.answer(params)
  local none = { code = -32803, message = 'there is no key' }
  local name = type(params) == 'table' and require('memls.util').clean(params.name) or ''
  local given = require('memls.config').get().secret
  if given then
    local ok, value = pcall(given, name)
    if ok and type(value) == 'string' and value ~= '' then
      return { value = value }
    end
    return vim.NIL, none
  end
  if #vim.api.nvim_list_uis() == 0 then
    return vim.NIL, none
  end
  local value = vim.fn.inputsecret(('memls: the key of the model, %s (empty: none): '):format(name))
  if value == '' then
    return vim.NIL, none
  end
  return { value = value }
end

return M
