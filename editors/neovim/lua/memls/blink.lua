--- A source of blink.cmp for prompt buffers:
---   sources = { providers = { memls = { name = 'memls', module = 'memls.blink' } } }
local complete = require('memls.complete')

---@class memls.BlinkSource
local Source = {}
Source.__index = Source

function Source.new()
  return setmetatable({}, Source)
end

--- Where a language server is attached, links are completed by it.
function Source:enabled()
  return vim.bo.buftype ~= '' or vim.bo.filetype ~= 'markdown'
end

function Source:get_trigger_characters()
  return { '[' }
end

--- The items of LSP that complete what is typed; positions are in bytes (UTF-8).
---@param line string up to the cursor
---@param row integer from 0
---@param callback fun(items: table[])
---@return memls.Request
function Source.items(line, row, callback)
  local start, typed = complete.typed(line)
  return complete.find(typed, function(documents)
    local items = {}
    for i, document in ipairs(documents) do
      local text = complete.insertion(document)
      table.insert(items, {
        label = document.title,
        kind = vim.lsp.protocol.CompletionItemKind.Reference,
        filterText = typed ~= '' and line:sub(start + 1) or text,
        sortText = ('%04d'):format(i),
        detail = document.scope,
        documentation = { kind = 'plaintext', value = complete.documentation(document) },
        textEdit = {
          newText = text,
          range = {
            start = { line = row, character = start },
            ['end'] = { line = row, character = #line },
          },
        },
      })
    end
    callback(items)
  end)
end

---@param ctx table `blink.cmp.Context`
---@param callback fun(response: table)
---@return fun() cancel
function Source:get_completions(ctx, callback)
  local line = ctx.line:sub(1, ctx.cursor[2])
  local request = Source.items(line, ctx.cursor[1] - 1, function(items)
    callback({ items = items, is_incomplete_forward = true, is_incomplete_backward = true })
  end)
  return request.cancel
end

return Source
