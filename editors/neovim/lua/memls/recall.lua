--- Recall for chat panes: what a question brings to mind, pushed as it is found.
local client = require('memls.client')
local turns = require('memls.turns')
local util = require('memls.util')
local M = {}

---@class memls.RecallOptions
---@field session? string one conversation; what it was given is not given again. Default: that of the buffer
---@field token? string names this recall; default: a new one
---@field buf? integer the buffer of the conversation; default: the current one
---@field line? integer where virtual text goes, from 0; default: the last line
---@field limit? integer 1 to 5
---@field scopes? string[]
---@field types? string[]
---@field exclude? string[] refs
---@field delivered? table[] `VersionedRef`
---@field recentTools? string[]
---@field trace? boolean

---@class memls.RecallEvent
---@field phase 'fast'|'refined'|'done'
---@field documents? table[] `RecallDocument`, of fast and refined
---@field prompt? string a block for a model request, of fast and refined
---@field retract? string[] refs of the fast result that the model refused
---@field status? string
---@field outcome? 'settled'|'cancelled'|'not_started' of done
---@field reason? string
---@field detail? string

local open = {} ---@type table<string, table> recalls that are pending, by client, session and token
local serial = 0

-- Sessions are told apart from those of other editors, and of earlier runs, only for the person who reads a trace: they belong to
-- their connection anyway.
---@param buf integer
---@return string
function M.session(buf)
  return ('nvim-%d-%d'):format(vim.uv.os_getpid(), buf)
end

---@return string
function M.token()
  serial = serial + 1
  return ('n%d'):format(serial)
end

local function key(id, session, token)
  return ('%d\0%s\0%s'):format(id, session, token)
end

---@param turn memls.SurfacedTurn
---@param event table
local function tell(turn, event)
  require('memls.events').fire(
    'MemlsRecall',
    vim.tbl_extend('keep', { session = turn.session, token = turn.token, query = turn.query, buf = turn.buf }, event)
  )
end
M.tell = tell

--- Takes a result that the server pushes.
---@param result table `RecallResult`
---@param id integer of the client
function M.receive(result, id)
  local pending = open[key(id, result.session, result.token)]
  if not pending then
    return
  end
  turns.deliver(pending.turn, result)
  tell(pending.turn, result)
  util.protect('a callback of recall', pending.callback, nil, result)
end

---@param turn memls.SurfacedTurn
---@param err memls.Error?
---@param response table?
local function finished(turn, err, response)
  if err then
    turn.phase, turn.detail = 'failed', err.message
  else
    ---@cast response table
    turn.phase = 'done'
    if response.outcome ~= 'settled' then
      turn.status = response.outcome
      turn.detail = response.detail or response.reason
    end
  end
  turns.changed(turn)
end

local sentences = {
  disabled = 'recall is switched off (options.recall)',
  empty_query = 'the question is empty',
  not_user_turn = 'not a question of a person',
}

--- Recalls. The callback gets the fast result, the refined one and a last event, or an error.
---@param query string the person's own words
---@param opts memls.RecallOptions
---@param callback fun(err: memls.Error?, event: memls.RecallEvent?)
---@return { session: string, token: string, cancel: fun() }
function M.recall(query, opts, callback)
  local buf = (opts.buf == nil or opts.buf == 0) and vim.api.nvim_get_current_buf() or opts.buf
  local session, token = opts.session or M.session(buf), opts.token or M.token()
  local turn = turns.add({ session = session, token = token, query = query, buf = buf, line = opts.line })
  local params = { session = session, token = token, query = query }
  for _, name in ipairs({ 'limit', 'scopes', 'types', 'exclude', 'delivered', 'recentTools', 'trace' }) do
    params[name] = opts[name]
  end
  local at
  local request
  request = client.request(
    'memory/recall',
    params,
    function(err, response)
      if at then
        open[at] = nil
      end
      if response and response.reason then
        response.detail = response.detail or sentences[response.reason]
      end
      finished(turn, err, response)
      local event = response and vim.tbl_extend('force', { phase = 'done' }, response)
      if event then
        tell(turn, event)
      end
      callback(err, event)
    end,
    buf,
    function(id)
      at = key(id, session, token)
      open[at] = { turn = turn, callback = callback }
    end
  )
  return {
    session = session,
    token = token,
    cancel = function()
      request.cancel()
    end,
  }
end

return M
