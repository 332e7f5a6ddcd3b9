--- Turns for agents: a recall whose results the agent takes when its request can still hold them.
local client = require('memls.client')
local recall = require('memls.recall')
local turns = require('memls.turns')
local util = require('memls.util')
local M = {}

---@class memls.TurnOptions
---@field query string the person's own words, before context is added
---@field session string one conversation
---@field token? string
---@field turn? 'user'|'retry'|'continue'|'restore'|'runtime'
---@field buf? integer the buffer of the conversation
---@field limit? integer
---@field scopes? string[]
---@field types? string[]
---@field exclude? string[]
---@field delivered? table[]
---@field recentTools? string[]

---@class memls.Turn
---@field session string
---@field token string
---@field private surfaced memls.SurfacedTurn
---@field private buf integer
---@field private sent boolean
---@field private failed? memls.Error
---@field private queue fun()[]
---@field private request memls.Request
local Turn = {}
Turn.__index = Turn

---@private
function Turn:announced(err)
  self.sent, self.failed = true, err
  local queue = self.queue
  self.queue = {}
  for _, go in ipairs(queue) do
    go()
  end
end

--- Sends a request of this turn once its recall has left.
---@private
function Turn:send(method, params, callback)
  local function go()
    if self.failed then
      return callback(self.failed)
    end
    client.request(
      method,
      vim.tbl_extend('keep', { session = self.session, token = self.token }, params),
      callback,
      self.buf
    )
  end
  if self.sent then
    go()
  else
    table.insert(self.queue, go)
  end
end

--- Takes what there is for the request that is about to be sent: `initial` before the first of a turn, `tool_result` before each that
--- carries results of tools. Nil when there is nothing. Without a callback it waits, in a coroutine, and returns `result, err`.
---@param point 'initial'|'tool_result'
---@param callback? fun(err: memls.Error?, result: table?)
---@return table? result `RecallResult`
---@return memls.Error? err
function Turn:consume(point, callback)
  if not callback then
    local err, result = util.await(function(resume)
      self:consume(point, resume)
    end)
    return result, err
  end
  self:send('memory/consume', { point = point }, function(err, result)
    if result then
      turns.deliver(self.surfaced, result)
      recall.tell(self.surfaced, result)
    end
    callback(err, result)
  end)
end

--- Says that a tool was used: memories that only document it are left out of later recalls.
---@param name string
---@param status 'ok'|'error'|'cancelled'
function Turn:tool_used(name, status)
  self:send_notification({ session = self.session, tool = name, status = status })
end

---@private
function Turn:send_notification(params)
  local function go()
    if not self.failed then
      client.notify('memory/toolUsed', params, self.buf)
    end
  end
  if self.sent then
    go()
  else
    table.insert(self.queue, go)
  end
end

--- Ends the turn, however it ended. What was not taken is given up.
---@param outcome 'end_turn'|'cancelled'|'error'|'loop_protection'|'limit'
---@param messages? { role: string, text: string, id?: string }[] the final history
---@param callback? fun(err: memls.Error?, result: table?)
function Turn:finish(outcome, messages, callback)
  self:send('memory/finish', { outcome = outcome, messages = messages }, function(err, result)
    if self.surfaced.phase ~= 'failed' then
      self.surfaced.phase = 'done'
      turns.changed(self.surfaced)
    end
    if callback then
      callback(err, result)
    end
  end)
end

--- Announces a turn and starts its recall. Waits for nothing.
---@param opts memls.TurnOptions
---@return memls.Turn
function M.new(opts)
  local buf = (opts.buf == nil or opts.buf == 0) and vim.api.nvim_get_current_buf() or opts.buf
  local self = setmetatable({
    session = opts.session,
    token = opts.token or recall.token(),
    buf = buf,
    sent = false,
    queue = {},
  }, Turn)
  self.surfaced = turns.add({ session = self.session, token = self.token, query = opts.query, buf = buf })
  local params = { session = self.session, token = self.token, query = opts.query, delivery = 'pull', turn = opts.turn }
  for _, name in ipairs({ 'limit', 'scopes', 'types', 'exclude', 'delivered', 'recentTools' }) do
    params[name] = opts[name]
  end
  local sent
  self.request = client.request(
    'memory/recall',
    params,
    function(err, response)
      if err then
        self.surfaced.phase, self.surfaced.detail = 'failed', err.message
      elseif response.outcome == 'not_started' then
        self.surfaced.phase, self.surfaced.status = 'done', response.outcome
        self.surfaced.detail = response.detail or response.reason
      end
      turns.changed(self.surfaced)
      if not sent then -- it never left
        self:announced(err)
      end
    end,
    buf,
    function()
      sent = true
      vim.schedule(function() -- behind the recall itself
        self:announced()
      end)
    end
  )
  return self
end

return M
