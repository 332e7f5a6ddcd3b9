--- One short text about the memories, for a status line: cheap to ask for, renewed when something happens.
local M = {}

local text = ''
local level = 'none' ---@type 'none'|'ok'|'busy'|'warn'

local bad = { error = true, degraded = true, untrusted = true }

local function compute()
  local events, turns = require('memls.events'), require('memls.turns')
  if next(events.servers) == nil then
    return '', 'none'
  end
  local states, plans, started = {}, 0, false
  for _, server in pairs(events.servers) do
    started = started or server.started
    plans = plans + server.plans
    for _, root in ipairs(server.roots) do
      states[root.state] = (states[root.state] or 0) + 1
    end
  end
  local parts, how = { 'memls' }, 'ok'
  if not started or states.loading then
    table.insert(parts, 'reading')
    how = 'busy'
  end
  for _, state in ipairs({ 'error', 'degraded', 'untrusted' }) do
    if states[state] then
      table.insert(parts, state)
      how = bad[state] and 'warn' or how
    end
  end
  local last = turns.last()
  if last then
    local n = turns.count(last)
    local pending = last.phase == 'asked' or last.phase == 'fast'
    table.insert(parts, pending and not last.host and n .. '…' or tostring(n))
  end
  if plans > 0 then
    table.insert(parts, '+' .. plans)
  end
  return table.concat(parts, ' '), how
end

local pending = false

--- Computes the text anew, soon.
function M.refresh()
  if pending then
    return
  end
  pending = true
  vim.schedule(function()
    pending = false
    local before = text
    text, level = compute()
    if text ~= before then
      vim.cmd('redrawstatus')
    end
  end)
end

---@return string
function M.text()
  return text
end

---@return 'none'|'ok'|'busy'|'warn'
function M.level()
  return level
end

require('memls.turns').listen(M.refresh)

return M
