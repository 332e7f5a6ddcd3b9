--- Asks whether the memories that lie in a workspace may be read.
local client = require('memls.client')
local trust = require('memls.trust')
local util = require('memls.util')
local M = {}

---@param root string
---@param choice 'allow'|'deny'|nil
local function set(root, choice)
  local err = trust.set(root, choice)
  if err then
    return util.notify(('the choice could not be kept in %s: %s'):format(trust.file(), err), vim.log.levels.ERROR)
  end
  client.configure(root)
  local name = vim.fn.fnamemodify(root, ':~')
  if choice == 'allow' then
    util.notify('the memories in ' .. name .. ' are read')
  else
    util.notify(('the memories in %s are not read%s'):format(name, choice and '' or ', until you say so'))
  end
end

---@param args memls.CommandArgs
function M.run(args)
  local root = client.root(args.buf)
  if not root then
    return util.notify('there is no current directory any more: change to one with :cd', vim.log.levels.ERROR)
  end
  if args.bang then
    return set(root, nil)
  end
  local prompt = ('May the memories in %s be read, and given to agents?'):format(vim.fn.fnamemodify(root, ':~'))
  local choices = { 'Yes, I trust this workspace', 'No, and do not mention it again', 'Decide later' }
  vim.ui.select(choices, { prompt = prompt }, function(_, index)
    if index == 1 then
      set(root, 'allow')
    elseif index == 2 then
      set(root, 'deny')
    end
  end)
end

return M
