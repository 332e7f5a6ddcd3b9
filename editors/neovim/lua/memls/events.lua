--- What the server tells unasked, and the life of servers: kept for the status, handed on as |User| autocommands.
local util = require('memls.util')
local M = {}

---@class memls.ServerState
---@field roots table[] `RootState` of the protocol
---@field plans integer that wait
---@field started boolean

M.servers = {} ---@type table<integer, memls.ServerState> by client id
local expected = {} ---@type table<integer, true> clients that somebody stopped

---@param name string
---@param data table
function M.fire(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = name, modeline = false, data = data })
end

---@param id integer
---@return memls.ServerState
local function server(id)
  M.servers[id] = M.servers[id] or { roots = {}, plans = 0, started = false }
  return M.servers[id]
end

local receivers = {
  ['memory/recallFast'] = function(result, id)
    require('memls.recall').receive(result, id)
  end,
  ['memory/recallRefined'] = function(result, id)
    require('memls.recall').receive(result, id)
  end,
  ['memory/activity'] = function(result, id)
    require('memls.turns').activity(result, id)
  end,
  ['memory/changed'] = function(result)
    M.fire('MemlsChanged', result)
  end,
  ['memory/statusChanged'] = function(result, id)
    server(id).roots = result.roots
    M.fire('MemlsStatus', result)
  end,
  ['memory/plansChanged'] = function(result, id)
    local before = server(id).plans
    server(id).plans = result.pending
    M.fire('MemlsPlans', result)
    if result.pending > before then
      util.notify(util.count(result.pending, 'change waits', 'changes wait') .. ' for you: :Memls plans')
    end
  end,
  ['memory/taskChanged'] = function(result)
    M.fire('MemlsTask', result)
  end,
}

---@param method string
---@param result table
---@param id integer of the client
function M.receive(method, result, id)
  util.protect(method, receivers[method], result, id)
  require('memls.status').refresh()
end

---@type table<string, true> workspaces of which was said that they are not trusted
local asked = {}

-- Memories that lie in a workspace are read only when the person has said so; that they are not is said once.
local function mention_trust(client, status)
  local root = client.config.root_dir
  if not root or asked[root] or require('memls.trust').get(root) ~= nil then
    return
  end
  for _, place in ipairs(vim.list_extend(vim.deepcopy(status.discovered), status.roots)) do
    if place.state == 'untrusted' then
      asked[root] = true
      util.notify(
        ('the memories in %s are not read: :Memls trust says whether they may be'):format(
          vim.fn.fnamemodify(root, ':~')
        ),
        vim.log.levels.WARN
      )
      return
    end
  end
end

---@param client vim.lsp.Client
function M.started(client)
  local state = server(client.id)
  state.started = true
  require('memls.client').call(client, 'request', 'memory/status', vim.empty_dict(), function(err, status)
    if not err and status then
      state.roots, state.plans = status.roots, status.plans
      mention_trust(client, status)
      require('memls.status').refresh()
    end
  end)
  require('memls.status').refresh()
end

---@param id integer
function M.expect_stop(id)
  expected[id] = true
end

---@param id integer
---@param code integer
---@param signal integer
function M.stopped(id, code, signal)
  M.servers[id] = nil
  if not expected[id] and (code ~= 0 or signal ~= 0) and vim.v.exiting == vim.NIL then
    local how = signal ~= 0 and ('signal ' .. signal) or ('exit code ' .. code)
    util.notify(
      ('the server ended (%s): :Memls restart starts it anew, :checkhealth memls may say why'):format(how),
      vim.log.levels.WARN
    )
  end
  expected[id] = nil
  require('memls.status').refresh()
end

return M
