--- Unified diffs applied to text, for showing what a plan would do before it is done.
local M = {}

---@class memls.Text
---@field lines string[]
---@field ended boolean the last line has its end

---@param raw string
---@return memls.Text
function M.text(raw)
  local ended = raw:sub(-1) == '\n'
  local lines = vim.split(ended and raw:sub(1, -2) or raw, '\n', { plain = true })
  if raw == '' then
    lines = {}
  end
  return { lines = lines, ended = ended }
end

---@param text memls.Text
---@return string
function M.join(text)
  return table.concat(text.lines, '\n') .. (text.ended and #text.lines > 0 and '\n' or '')
end

local no_end = '\\ No newline at end of file'

---@class memls.Hunk
---@field at integer first line of the old text, from 1
---@field old string[]
---@field new string[]
---@field new_open boolean the new text ends without an end of line

---@param diff string
---@return memls.Hunk[]
local function hunks(diff)
  local found, hunk, last = {}, nil, nil
  for _, line in ipairs(vim.split(diff, '\n', { plain = true })) do
    local at, count = line:match('^@@ %-(%d+),?(%d*) %+%d+,?%d* @@')
    local mark, rest = line:sub(1, 1), line:sub(2)
    if at then
      -- A hunk that removes nothing names the line before it.
      hunk = { at = tonumber(at) + (count == '0' and 1 or 0), old = {}, new = {}, new_open = false }
      table.insert(found, hunk)
    elseif hunk and mark == ' ' then
      table.insert(hunk.old, rest)
      table.insert(hunk.new, rest)
    elseif hunk and mark == '-' then
      table.insert(hunk.old, rest)
    elseif hunk and mark == '+' then
      table.insert(hunk.new, rest)
    elseif hunk and line == no_end then
      hunk.new_open = hunk.new_open or last == '+' or last == ' '
    end
    last = mark
  end
  return found
end

--- Applies a diff. Nil when it does not fit the text.
---@param base memls.Text
---@param diff string
---@return memls.Text?
function M.apply(base, diff)
  local lines, from, ended = {}, 1, true
  local list = hunks(diff)
  for _, hunk in ipairs(list) do
    for i = from, hunk.at - 1 do
      table.insert(lines, base.lines[i])
    end
    for i, old in ipairs(hunk.old) do
      if base.lines[hunk.at + i - 1] ~= old then
        return nil
      end
    end
    vim.list_extend(lines, hunk.new)
    from = hunk.at + #hunk.old
    ended = not hunk.new_open
  end
  if from <= #base.lines then
    ended = base.ended
  end
  for i = from, #base.lines do
    table.insert(lines, base.lines[i])
  end
  return { lines = lines, ended = ended }
end

return M
