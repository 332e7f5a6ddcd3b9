--- The memories that surfaced lately, turn by turn: what the window, the virtual text and the status show.
local M = {}

---@class memls.Mark
---@field phase 'fast'|'refined'|'activity' how it came
---@field retracted? boolean
---@field gone? boolean forgotten since

---@class memls.SurfacedTurn
---@field session string
---@field token string
---@field query string
---@field host? string who was given the memories, when that was somebody else
---@field at integer seconds
---@field phase 'asked'|'fast'|'refined'|'done'|'failed'
---@field status? string
---@field strategy? string
---@field latency? integer milliseconds
---@field documents table[] `RecallDocument` of the protocol, in order of arrival
---@field marks table<string, memls.Mark> by ref
---@field already string[] refs
---@field degraded table[]
---@field prompts table<string, string> by phase
---@field detail? string for a person: why there is nothing
---@field buf? integer the buffer that it belongs to
---@field line? integer of that buffer, from 0

-- Older turns are dropped: the window is about now, and documents are large.
local kept = 50

M.list = {} ---@type memls.SurfacedTurn[] oldest first
local listeners = {} ---@type fun(turn: memls.SurfacedTurn)[]

---@param listener fun(turn: memls.SurfacedTurn)
function M.listen(listener)
  table.insert(listeners, listener)
end

---@param turn memls.SurfacedTurn
function M.changed(turn)
  for _, listener in ipairs(listeners) do
    require('memls.util').protect('showing memories', listener, turn)
  end
end

---@param fields table
---@return memls.SurfacedTurn
function M.add(fields)
  local turn = vim.tbl_extend('keep', fields, {
    at = os.time(),
    phase = 'asked',
    documents = {},
    marks = {},
    already = {},
    degraded = {},
    prompts = {},
  })
  table.insert(M.list, turn)
  if #M.list > kept then
    table.remove(M.list, 1)
  end
  M.changed(turn)
  return turn
end

---@return memls.SurfacedTurn?
function M.last()
  return M.list[#M.list]
end

--- Adds a result of the protocol to a turn.
---@param turn memls.SurfacedTurn
---@param result table `RecallResult`
function M.deliver(turn, result)
  turn.phase, turn.strategy, turn.status = result.phase, result.strategy, result.status or turn.status
  turn.latency = result.latencyMs
  for _, document in ipairs(result.documents) do
    if not turn.marks[document.ref] then
      table.insert(turn.documents, document)
      turn.marks[document.ref] = { phase = result.phase }
    end
  end
  for _, ref in ipairs(result.retract or {}) do
    if turn.marks[ref] then
      turn.marks[ref].retracted = true
    end
  end
  for _, ref in ipairs(result.alreadyDelivered) do
    if not vim.tbl_contains(turn.already, ref) then
      table.insert(turn.already, ref)
    end
  end
  turn.degraded = result.degraded
  if result.prompt ~= '' then
    turn.prompts[result.phase] = result.prompt
  end
  M.changed(turn)
end

--- How many memories of a turn stand: neither retracted nor forgotten.
---@param turn memls.SurfacedTurn
---@return integer
function M.count(turn)
  local n = 0
  for _, mark in pairs(turn.marks) do
    if not mark.retracted and not mark.gone then
      n = n + 1
    end
  end
  return n
end

--- The prompt of what stands; of phases all of whose memories were retracted there is none.
---@param turn memls.SurfacedTurn
---@return string
function M.prompt(turn)
  local parts = {}
  for _, phase in ipairs({ 'fast', 'refined' }) do
    local stands = false
    for _, mark in pairs(turn.marks) do
      stands = stands or (mark.phase == phase and not mark.retracted and not mark.gone)
    end
    if stands and turn.prompts[phase] then
      table.insert(parts, turn.prompts[phase])
    end
  end
  return table.concat(parts, '\n')
end

--- Marks what an operation has deleted.
---@param operation table `Operation`
function M.gone(operation)
  for _, change in ipairs(operation.changes) do
    for _, turn in ipairs(change.action == 'delete' and M.list or {}) do
      if turn.marks[change.ref] then
        turn.marks[change.ref].gone = true
        M.changed(turn)
      end
    end
  end
end

-- A refined result that comes this soon after a fast one of the same host belongs to the same turn.
local same_turn = 60

--- Adds what an agent elsewhere was given.
---@param activity table `ActivityParams`
---@param id integer of the client
function M.activity(activity, id)
  if activity.own then
    return
  end
  local last = M.last()
  local turn = last
      and last.host == activity.host
      and last.phase == 'fast'
      and activity.phase == 'refined'
      and os.time() - last.at <= same_turn
      and last
    or M.add({ host = activity.host, session = '', token = '', query = '' })
  turn.phase, turn.strategy, turn.status = activity.phase, activity.strategy, activity.status
  for _, ref in ipairs(activity.refs) do
    if not turn.marks[ref] then
      turn.marks[ref] = { phase = activity.phase }
      M.fetch(turn, ref, id)
    end
  end
  M.changed(turn)
  require('memls.events').fire('MemlsActivity', activity)
end

--- Reads a memory of which only the name is known.
---@param turn memls.SurfacedTurn
---@param ref string
---@param id integer of the client that named it
function M.fetch(turn, ref, id)
  local place = { ref = ref, title = ref, body = '', description = '', why = {}, unread = true }
  table.insert(turn.documents, place)
  local client = vim.lsp.get_client_by_id(id)
  if not client then
    return
  end
  require('memls.client').call(client, 'request', 'memory/get', { ref = ref }, function(err, document)
    if err or not document then
      place.detail = err and err.message
    else
      for i, d in ipairs(turn.documents) do
        if d == place then
          turn.documents[i] = vim.tbl_extend('force', document, { why = {} })
        end
      end
    end
    M.changed(turn)
  end)
end

return M
