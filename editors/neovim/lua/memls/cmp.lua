--- A source of nvim-cmp for prompt buffers: require('memls.cmp').register(), then sources = { { name = 'memls' } }.
local M = {}

local source = {}

function source:is_available()
  return vim.bo.buftype ~= '' or vim.bo.filetype ~= 'markdown'
end

function source:get_trigger_characters()
  return { '[' }
end

function source:get_position_encoding_kind()
  return 'utf-8'
end

---@param params table `cmp.SourceCompletionApiParams`
---@param callback fun(response: table)
function source:complete(params, callback)
  local context = params.context
  require('memls.blink').items(context.cursor_before_line, context.cursor.row - 1, function(items)
    callback({ items = items, isIncomplete = true })
  end)
end

--- Makes the source known to nvim-cmp.
function M.register()
  require('cmp').register_source('memls', setmetatable({}, { __index = source }))
end

return M
