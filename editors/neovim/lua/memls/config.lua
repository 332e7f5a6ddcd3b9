--- Options: those of the plugin below, what `vim.g.memls` says over them, and what `setup()` was given over both.
local M = {}

---@class memls.WindowConfig
---@field kind 'float'|'side' how surfaced memories are shown
---@field width number of the editor's columns: a part below 1, or columns
---@field height number of the editor's lines, for a float: a part below 1, or lines
---@field border? string|string[] as in |nvim_open_win()|; without it 'winborder' decides

---@class memls.Config
---@field cmd string[] the program and its arguments
---@field root_markers string[] what the folder of a project has
---@field options table `initializationOptions` of the server: roots, profile, model, activity …
---@field window memls.WindowConfig
---@field virtual_text boolean show at a question how many memories it brought
---@field picker 'auto'|'select'|'telescope'|'fzf_lua'|'snacks'|'mini_pick'
---@field secret? fun(name: string): string? gives the key of the model by the name of its variable
local defaults = {
  cmd = { 'memls', 'serve', '--stdio' },
  root_markers = { '.git', '.memory', '.qwen', '.claude' },
  options = {},
  window = { kind = 'float', width = 0.45, height = 0.8 },
  virtual_text = false,
  picker = 'auto',
}

local kinds = {
  cmd = 'table',
  root_markers = 'table',
  options = 'table',
  window = 'table',
  virtual_text = 'boolean',
  picker = 'string',
  secret = 'function',
}

local choices = {
  picker = { 'auto', 'select', 'telescope', 'fzf_lua', 'snacks', 'mini_pick' },
  ['window.kind'] = { 'float', 'side' },
}

local given = {} ---@type table what setup() was given

---@param options table
---@param source string
---@param problems string[]
---@return table valid
local function check(options, source, problems)
  local valid = {}
  for name, value in pairs(options) do
    if not kinds[name] then
      table.insert(problems, ('%s: there is no option %s; see :h memls-config'):format(source, tostring(name)))
    elseif type(value) ~= kinds[name] then
      table.insert(problems, ('%s: %s must be a %s, not a %s'):format(source, name, kinds[name], type(value)))
    elseif choices[name] and not vim.tbl_contains(choices[name], value) then
      table.insert(problems, ('%s: %s must be one of %s'):format(source, name, table.concat(choices[name], ', ')))
    else
      valid[name] = value
    end
  end
  local window = valid.window
  if window and window.kind and not vim.tbl_contains(choices['window.kind'], window.kind) then
    table.insert(problems, ('%s: window.kind must be float or side'):format(source))
    valid.window = nil
  end
  return valid
end

--- The options in force, and what is wrong with those that were set. A wrong one leaves its default in force.
---@return memls.Config config
---@return string[] problems sentences for a person
function M.get()
  local problems = {}
  local global = vim.g.memls
  if global ~= nil and type(global) ~= 'table' then
    table.insert(problems, 'vim.g.memls must be a table')
    global = nil
  end
  local layers = { defaults, check(global or {}, 'vim.g.memls', problems), check(given, 'setup()', problems) }
  local config = vim.tbl_deep_extend('force', unpack(layers))
  for _, layer in ipairs(layers) do -- lists are replaced, not merged item by item
    for _, list in ipairs({ 'cmd', 'root_markers' }) do
      config[list] = layer[list] or config[list]
    end
  end
  return config, problems
end

---@param options? table
---@return string[] problems
function M.set(options)
  given = options or {}
  local _, problems = M.get()
  return problems
end

return M
