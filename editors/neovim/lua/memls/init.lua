--- memls in Neovim: the functions that a configuration or another plugin calls. Nothing else of the plugin is meant to be called.
local M = {}

--- Overrides options; without it the defaults and `vim.g.memls` are in force. See |memls-config|.
---@param options? table
function M.setup(options)
  for _, problem in ipairs(require('memls.config').set(options)) do
    require('memls.util').notify(problem, vim.log.levels.WARN)
  end
  require('memls.marks')
end

--- A short text for a status line; empty when no server runs. Costs a table look-up.
---@return string
function M.status()
  local status = package.loaded['memls.status']
  return status and status.text() or ''
end

--- Finds what a question brings to mind. The callback gets, in this order: the fast result, the refined one, and an event `done`;
--- or one error, after which nothing comes. See |memls.recall()|.
---@param query string the person's own words
---@param opts? memls.RecallOptions
---@param callback fun(err: memls.Error?, event: memls.RecallEvent?)
---@return { session: string, token: string, cancel: fun() }
function M.recall(query, opts, callback)
  vim.validate({ query = { query, 'string' }, opts = { opts, 'table', true }, callback = { callback, 'function' } })
  require('memls.marks')
  return require('memls.recall').recall(query, opts or {}, callback)
end

--- Begins a turn of an agent, which takes memories when its request can hold them. See |memls.turn()|.
---@param opts memls.TurnOptions
---@return memls.Turn
function M.turn(opts)
  vim.validate({
    opts = { opts, 'table' },
    ['opts.query'] = { opts.query, 'string' },
    ['opts.session'] = { opts.session, 'string' },
  })
  require('memls.marks')
  return require('memls.turn').new(opts)
end

--- Says that a conversation no longer holds what it was given.
---@param session string
---@param opts { reason?: 'reset'|'compacted', refs?: string[], buf?: integer }
---@param callback? fun(err: memls.Error?)
function M.reset(session, opts, callback)
  local params = { session = session, reason = opts.reason, refs = opts.refs }
  require('memls.client').request('memory/resetSession', params, callback or function(err)
    if err then
      require('memls.util').complain(err)
    end
  end, opts.buf)
end

--- Searches memories, outside of any conversation.
---@param query string
---@param opts? { limit?: integer, inactive?: boolean, scopes?: string[], types?: string[], buf?: integer }
---@param callback fun(err: memls.Error?, result: table?)
---@return memls.Request
function M.search(query, opts, callback)
  local o = opts or {}
  return require('memls.client').request(
    'memory/search',
    { query = query, limit = o.limit, inactive = o.inactive, scopes = o.scopes, types = o.types },
    callback,
    o.buf
  )
end

--- Sends any request of the protocol.
---@param method string `memory/…`
---@param params table
---@param callback fun(err: memls.Error?, result: any)
---@return memls.Request
function M.request(method, params, callback)
  return require('memls.client').request(method, params, callback)
end

--- Opens the window of surfaced memories.
---@param opts? { enter?: boolean }
function M.open(opts)
  require('memls.surface').open(opts)
end

---@private
local conversation = 0

--- Recalls for the person at the keyboard: a conversation that lasts until `fresh`.
---@private
---@param query string
---@param opts { buf: integer, fresh: boolean }
function M.ask(query, opts)
  if opts.fresh then
    conversation = conversation + 1
  end
  local session = ('nvim-%d-person-%d'):format(vim.uv.os_getpid(), conversation)
  M.recall(query, { session = session, buf = opts.buf }, function(err)
    if err then
      require('memls.util').complain(err)
    end
  end)
end

--- Completes memories by their titles: set 'omnifunc' to `v:lua.require'memls'.omnifunc`.
---@param find_start integer
---@param base string
---@return integer|table
function M.omnifunc(find_start, base)
  return require('memls.complete').omnifunc(find_start, base)
end

return M
