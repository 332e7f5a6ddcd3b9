--- Which workspaces the person trusts: an explicit choice for each, kept beside Neovim's other state and never in the workspace.
local util = require('memls.util')
local M = {}

---@return string
function M.file()
  return vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'memls', 'trust')
end

---@return table<string, 'allow'|'deny'> by path
local function load()
  local choices = {}
  local file = io.open(M.file(), 'r')
  if file then
    for line in file:lines() do
      local choice, uri = line:match('^(%a+) (file://.+)$')
      if choice == 'allow' or choice == 'deny' then
        choices[vim.uri_to_fname(uri)] = choice
      end
    end
    file:close()
  end
  return choices
end

---@param root string
---@return string
local function key(root)
  return util.real(root) or vim.fs.normalize(root)
end

--- What was chosen for a workspace; nil when nothing was.
---@param root string
---@return 'allow'|'deny'|nil
function M.get(root)
  return load()[key(root)]
end

--- Keeps a choice. Nil forgets it.
---@param root string
---@param choice 'allow'|'deny'|nil
---@return string? err
function M.set(root, choice)
  local choices = load()
  choices[key(root)] = choice
  local lines = {}
  for path, c in vim.spairs(choices) do
    table.insert(lines, c .. ' ' .. vim.uri_from_fname(path) .. '\n')
  end
  local name = M.file()
  vim.fn.mkdir(vim.fs.dirname(name), 'p', 448) -- 0700
  local new = ('%s.%d'):format(name, vim.uv.os_getpid())
  local fd, err = vim.uv.fs_open(new, 'w', 384) -- 0600
  if not fd then
    return err
  end
  local _, write_err = vim.uv.fs_write(fd, table.concat(lines))
  vim.uv.fs_close(fd)
  if write_err then
    vim.uv.fs_unlink(new)
    return write_err
  end
  local _, rename_err = vim.uv.fs_rename(new, name)
  return rename_err
end

return M
