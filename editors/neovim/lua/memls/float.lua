--- A window of the plugin's own: a float or a split with a buffer that is only shown.
local config = require('memls.config')
local M = {}

---@param part number
---@param whole integer
---@return integer
local function cells(part, whole)
  local n = part < 1 and math.floor(part * whole) or math.floor(part)
  return math.max(10, math.min(n, whole))
end

--- A scratch buffer that lives as long as it is shown.
---@param name string after `memls://`
---@param filetype string
---@return integer
function M.buffer(name, filetype)
  local buf = vim.api.nvim_create_buf(false, true)
  pcall(vim.api.nvim_buf_set_name, buf, ('memls://%s/%d'):format(name, buf))
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].modifiable = false
  vim.bo[buf].filetype = filetype
  return buf
end

--- How a float lies over the editor: at its right, as wide and high as was set.
---@return vim.api.keyset.win_config
function M.layout()
  local window = config.get().window
  local columns, lines = vim.o.columns, vim.o.lines - vim.o.cmdheight - 2
  local width = math.min(cells(window.width, columns), columns - 4)
  local height = math.min(cells(window.height, lines), lines - 2)
  local layout = {
    relative = 'editor',
    row = 1,
    col = columns - width - 2,
    width = width,
    height = math.max(height, 3),
    style = 'minimal',
    border = window.border,
  }
  -- Where 'winborder' is an option it decides; where it is not, a border parts the float from the text below.
  if layout.border == nil and vim.fn.exists('+winborder') == 0 then
    layout.border = 'rounded'
  end
  return layout
end

--- Opens a window for a buffer.
---@param buf integer
---@param enter boolean
---@return integer win
function M.open(buf, enter)
  local win
  if config.get().window.kind == 'side' then
    local before = vim.api.nvim_get_current_win()
    vim.cmd('botright vertical ' .. cells(config.get().window.width, vim.o.columns) .. 'split')
    win = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(win, buf)
    vim.wo[win].winfixwidth = true
    if not enter then
      vim.api.nvim_set_current_win(before)
    end
  else
    win = vim.api.nvim_open_win(buf, enter, M.layout())
  end
  for option, value in pairs({
    wrap = true,
    linebreak = true,
    breakindent = true,
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    foldcolumn = '0',
    list = false,
    spell = false,
    cursorline = true,
    conceallevel = 0,
  }) do
    vim.api.nvim_set_option_value(option, value, { win = win, scope = 'local' })
  end
  return win
end

---@param buf integer
---@param lines string[]
function M.write(buf, lines)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

---@param buf integer
---@param keys string|string[]
---@param what string
---@param fn fun()
function M.map(buf, keys, what, fn)
  for _, key in ipairs(type(keys) == 'table' and keys or { keys }) do
    vim.keymap.set('n', key, fn, { buffer = buf, nowait = true, silent = true, desc = 'memls: ' .. what })
  end
end

---@class memls.Page
---@field lines string[]
---@field marks { [1]: integer, [2]: integer, [3]: integer, [4]: string }[] row, start, end, group
local Page = {}
Page.__index = Page

--- A page of text with highlights, line by line.
---@return memls.Page
function M.page()
  return setmetatable({ lines = {}, marks = {} }, Page)
end

--- Adds a line made of pieces `{ text, group }`; text must be clean.
---@param ... { [1]: string, [2]: string? }
---@return integer row from 0
function Page:add(...)
  local text, row = '', #self.lines
  for _, piece in ipairs({ ... }) do
    if piece[2] and piece[1] ~= '' then
      table.insert(self.marks, { row, #text, #text + #piece[1], piece[2] })
    end
    text = text .. piece[1]
  end
  table.insert(self.lines, text)
  return row
end

--- Shows the page in a buffer.
---@param buf integer
---@param ns integer
function Page:show(buf, ns)
  M.write(buf, self.lines)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  for _, mark in ipairs(self.marks) do
    vim.api.nvim_buf_set_extmark(buf, ns, mark[1], mark[2], { end_col = mark[3], hl_group = mark[4] })
  end
end

return M
