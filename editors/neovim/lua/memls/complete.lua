--- Completion of memories by their titles in prompt buffers, where no language server is attached.
local client = require('memls.client')
local util = require('memls.util')
local M = {}

-- More than anybody looks through.
local most = 50

---@param document table
---@return string
function M.insertion(document)
  return '[[' .. util.clean(document.title) .. ']]'
end

--- The memories whose titles begin with, or that are otherwise about, what was typed.
---@param typed string
---@param callback fun(documents: table[])
---@return memls.Request
function M.find(typed, callback)
  local method, params = 'memory/search', { query = typed, limit = most }
  if vim.trim(typed) == '' then
    method, params = 'memory/list', { limit = most, inactive = false }
  end
  return client.request(method, params, function(err, result)
    callback(err and {} or result.documents)
  end)
end

--- Where what is typed about a memory begins: behind `[[`, else at the word.
---@param before string the line up to the cursor
---@return integer start in bytes, from 0: what is replaced
---@return string typed
function M.typed(before)
  local open = before:match('^.*()%[%[[^%[%]]*$')
  if open then
    return open - 1, before:sub(open + 2)
  end
  local word = vim.fn.match(before, [[\k*$]])
  return word, before:sub(word + 1)
end

---@param document table
---@return string
function M.documentation(document)
  local parts = { document.description, document.body }
  return table.concat(
    vim.tbl_map(
      function(part)
        return table.concat(util.lines(part), '\n')
      end,
      vim.tbl_filter(function(part)
        return part and part ~= ''
      end, parts)
    ),
    '\n\n'
  )
end

---@param find_start integer
---@param base string
---@return integer|table
function M.omnifunc(find_start, base)
  local line, column = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2]
  local start, typed = M.typed(line:sub(1, column))
  if find_start == 0 then
    typed = base:gsub('^%[%[', '')
  end
  local buf, row = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
  M.find(typed, function(documents)
    local here = vim.api.nvim_get_current_buf() == buf and vim.api.nvim_win_get_cursor(0)
    if not here or here[1] ~= row or not vim.api.nvim_get_mode().mode:match('^i') then
      return
    end
    local items = {}
    for _, document in ipairs(documents) do
      table.insert(items, {
        word = M.insertion(document),
        abbr = util.clean(document.title),
        menu = util.clean(document.scope),
        info = M.documentation(document),
        icase = 1,
        dup = 1,
        equal = 1,
      })
    end
    vim.fn.complete(start + 1, items)
  end)
  return find_start == 1 and -2 or {} -- the answer comes by itself
end

return M
