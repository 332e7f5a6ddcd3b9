--- The connection: which server serves a buffer, starting it, requests with sentences for errors, restarts.
local config = require('memls.config')
local util = require('memls.util')
local M = {}

M.name = 'memls'

---@class memls.Error
---@field kind string `data.kind` of the protocol, or `stopped`, `start`, `unsupported`, `cancelled`, `params`, `internal`
---@field message string a sentence for a person
---@field code? integer of JSON-RPC
---@field refs? string[]

-- How long a server may take to answer `initialize`, and to leave when it is told to.
local start_timeout, stop_timeout = 10000, 3000
local has_methods = vim.fn.has('nvim-0.11') == 1

--- Calls a method of a client: these became methods in Neovim 0.11.
---@param client vim.lsp.Client
---@param name string
function M.call(client, name, ...)
  if has_methods then
    return client[name](client, ...)
  end
  return client[name](...)
end
local call = M.call

---@return vim.lsp.Client[]
local function clients()
  return vim.lsp.get_clients({ name = M.name })
end

--- The folder of the project that a buffer belongs to, else the current directory. Nil when there is none.
---@param buf integer
---@return string?
function M.root(buf)
  local markers = config.get().root_markers
  local name = vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_get_name(buf) or ''
  if name ~= '' and vim.bo[buf].buftype == '' and not name:match('^%w[%w+.-]+://') then
    local root = vim.fs.root(name, markers)
    if root then
      return root
    end
  end
  local cwd = vim.uv.cwd()
  return cwd and (vim.fs.root(cwd, markers) or cwd)
end

---@param root string?
---@return string
local function same(root)
  return root and (util.real(root) or vim.fs.normalize(root)) or ''
end

---@param root string?
---@return vim.lsp.Client?
local function running(root)
  for _, client in ipairs(clients()) do
    if same(client.config.root_dir) == same(root) and not call(client, 'is_stopped') then
      return client
    end
  end
end

--- What a message of the server says to this plugin.
local function receive(method)
  return function(err, result, ctx)
    if not err and result then
      require('memls.events').receive(method, result, ctx.client_id)
    end
  end
end

--- What the server is told of this workspace.
---@param root string?
---@return table
local function initialization_options(root)
  local options = vim.deepcopy(config.get().options)
  if options.trusted == nil and root then
    options.trusted = require('memls.trust').get(root) == 'allow'
  end
  return options
end

--- The configuration of the language client, for |vim.lsp.config()| and for starting it without.
---@return vim.lsp.ClientConfig
function M.base()
  local options = config.get()
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = vim.tbl_extend('force', capabilities.experimental or {}, { memory = true })
  local handlers = {
    ['memory/secret'] = function(_, params)
      return require('memls.secret').answer(params)
    end,
  }
  for _, method in ipairs({
    'memory/recallFast',
    'memory/recallRefined',
    'memory/changed',
    'memory/activity',
    'memory/statusChanged',
    'memory/plansChanged',
    'memory/taskChanged',
  }) do
    handlers[method] = receive(method)
  end
  return {
    name = M.name,
    cmd = options.cmd,
    filetypes = { 'markdown' },
    root_markers = options.root_markers,
    capabilities = capabilities,
    handlers = handlers,
    -- Inv: the workspace decides nothing about trust: the choice is looked up in the person's own state.
    before_init = function(params, client_config)
      params.initializationOptions =
        vim.tbl_extend('keep', params.initializationOptions or {}, initialization_options(client_config.root_dir))
    end,
    exit_timeout = false, -- leaving the editor waits for nothing; the server ends when its input does
  }
end

---@param root string
---@return vim.lsp.ClientConfig
local function configuration(root)
  local c = vim.lsp.config and vim.deepcopy(vim.lsp.config[M.name]) or M.base()
  c.root_dir = root
  local on_init, on_exit = c.on_init, c.on_exit
  c.on_init = function(client, result)
    if type(on_init) == 'function' then
      on_init(client, result)
    end
    require('memls.events').started(client)
  end
  c.on_exit = function(code, signal, id)
    if type(on_exit) == 'function' then
      on_exit(code, signal, id)
    end
    vim.schedule(function()
      require('memls.events').stopped(id, code, signal)
    end)
  end
  return c
end

---@param kind string
---@param message string
---@return memls.Error
local function failure(kind, message)
  return { kind = kind, message = message }
end

---@param c vim.lsp.ClientConfig
---@return memls.Error?
local function startable(c)
  local program = type(c.cmd) == 'table' and c.cmd[1]
  if program and vim.fn.executable(program) ~= 1 then
    return failure(
      'start',
      ('there is no program %s: install memls, or name it with '):format(program)
        .. 'vim.g.memls = { cmd = { "/path/to/memls", "serve", "--stdio" } }; see :checkhealth memls'
    )
  end
end

--- Starts a server for a folder, or takes the one that is there.
---@param root string
---@param buf integer? to attach
---@return integer? id
---@return memls.Error?
local function start(root, buf)
  local c = configuration(root)
  local err = startable(c)
  if err then
    return nil, err
  end
  local id
  local ok, reason = pcall(function()
    if buf then
      id = vim.lsp.start(c, {
        bufnr = buf,
        reuse_client = function(client, wanted)
          return client.name == M.name and same(client.config.root_dir) == same(wanted.root_dir)
        end,
      })
    elseif has_methods then
      id = vim.lsp.start(c, { attach = false })
    else
      id = vim.lsp.start_client(c)
    end
  end)
  if not ok or not id then
    return nil,
      failure('start', ('%s could not be started: %s'):format(c.cmd[1], ok and 'see :checkhealth memls' or reason))
  end
  return id
end

---@param buf integer
---@return boolean
local function could_be_memory(buf)
  return vim.api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ''
    and vim.bo[buf].filetype == 'markdown'
    and vim.api.nvim_buf_get_name(buf) ~= ''
end

local told = {} ---@type table<string, true> what was said once and need not be said for every file

--- Attaches a buffer that may hold a memory.
---@param buf integer
function M.attach(buf)
  if not could_be_memory(buf) or #vim.lsp.get_clients({ name = M.name, bufnr = buf }) > 0 then
    return
  end
  if vim.lsp.is_enabled and vim.lsp.is_enabled(M.name) then
    return -- Neovim itself attaches it, to the root that its configuration finds
  end
  local root = M.root(buf)
  if not root then
    return
  end
  local _, err = start(root, buf)
  if err and not told[err.message] then
    told[err.message] = true
    util.notify(err.message, vim.log.levels.WARN)
  end
end

---@param root string
local function attach_all(root)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if could_be_memory(buf) and vim.g.memls_auto_attach ~= false and same(M.root(buf)) == same(root) then
      start(root, buf)
    end
  end
end

--- Runs `step` every few milliseconds until it answers true.
---@param step fun(): boolean?
local function poll(step)
  local timer = assert(vim.uv.new_timer())
  timer:start(
    0,
    5,
    vim.schedule_wrap(function()
      if not timer:is_closing() and step() then
        timer:close()
      end
    end)
  )
end

---@param id integer
---@return vim.lsp.Client?
local function alive(id)
  local client = vim.lsp.get_client_by_id(id)
  return client and not call(client, 'is_stopped') and client or nil
end

--- The server for a buffer, started if need be, as soon as it can take requests.
---@param buf integer?
---@param callback fun(err: memls.Error?, client: vim.lsp.Client?)
function M.get(buf, callback)
  buf = (buf == nil or buf == 0) and vim.api.nvim_get_current_buf() or buf
  local attached = vim.api.nvim_buf_is_valid(buf) and vim.lsp.get_clients({ name = M.name, bufnr = buf })[1]
  local root = attached and attached.config.root_dir or M.root(buf)
  if not root then
    return callback(failure('start', 'there is no current directory any more: change to one with :cd'))
  end
  local client = running(root)
  if client and client.initialized then
    return callback(nil, client)
  end
  local id = client and client.id
  if not id then
    local err
    id, err = start(root)
    if not id then
      return callback(err)
    end
    attach_all(root)
  end
  local deadline = vim.uv.now() + start_timeout
  poll(function()
    local c = alive(id)
    if not c then
      callback(failure('stopped', 'the server ended while it started; see :checkhealth memls'))
    elseif c.initialized then
      callback(nil, c)
    elseif vim.uv.now() > deadline then
      callback(
        failure(
          'stopped',
          ('the server did not answer within %d s; see :checkhealth memls'):format(start_timeout / 1000)
        )
      )
    else
      return false
    end
    return true
  end)
end

local remedies = {
  conflict = 'look at the file and try again',
  stale_plan = 'make the plan anew',
  locked = 'try again in a moment',
  read_only = 'nothing was changed',
  untrusted = 'trust the workspace with :Memls trust',
  disabled = 'see :h memls-config',
}

--- A failure as the server tells it, with what can be done about it.
---@param err lsp.ResponseError
---@return memls.Error
local function explain(err)
  local data = type(err.data) == 'table' and err.data or {}
  local kind = data.kind
    or ({ [-32800] = 'cancelled', [-32601] = 'unsupported', [-32602] = 'params', [-32603] = 'internal' })[err.code]
    or 'io'
  local detail = data.detail or err.message or 'no reason was given'
  local text = util.clean(tostring(detail))
  local remedy = remedies[kind]
  if remedy and not text:find(remedy, 1, true) then
    text = text .. ' (' .. remedy .. ')'
  end
  return { kind = kind, message = text, code = err.code, refs = data.refs }
end

---@param client vim.lsp.Client
---@param method string
---@return boolean
function M.supports(client, method)
  local memory = vim.tbl_get(client.server_capabilities or {}, 'experimental', 'memory', 'methods')
  return type(memory) == 'table' and vim.tbl_contains(memory, method)
end

---@class memls.Request
---@field cancel fun()

local waiting = {} ---@type table<table, true> requests that have no answer yet
local watching = false

-- A client that ends forgets its requests without an answer to anybody.
local function watch()
  if watching then
    return
  end
  watching = true
  local timer = assert(vim.uv.new_timer())
  timer:start(
    100,
    100,
    vim.schedule_wrap(function()
      for request in pairs(waiting) do
        if not alive(request.client) then
          request.answer(failure('stopped', 'the server ended before it answered; :Memls restart starts it anew'))
        end
      end
      if next(waiting) == nil and not timer:is_closing() then
        watching = false
        timer:close()
      end
    end)
  )
end

---@param client vim.lsp.Client
---@param method string
---@param params table
---@param request table
local function send(client, method, params, request)
  request.client = client.id
  waiting[request] = true
  watch()
  local empty = next(params) == nil and vim.empty_dict() or params
  local ok, id = call(client, 'request', method, empty, function(err, result)
    if err then
      return request.answer(explain(err))
    end
    request.answer(nil, result ~= vim.NIL and result or nil)
  end)
  if not ok then
    return request.answer(failure('stopped', 'the server has ended; :Memls restart starts it anew'))
  end
  request.id = id
end

--- Sends a request to the server of a buffer. The callback is called exactly once, outside of fast contexts.
---@param method string
---@param params table
---@param callback fun(err: memls.Error?, result: any)
---@param buf integer?
---@param before? fun(id: integer) called with the client before the request leaves
---@return memls.Request
function M.request(method, params, callback, buf, before)
  local request = {}
  request.answer = function(err, result)
    if not request.answered then
      request.answered = true
      waiting[request] = nil
      util.protect('a callback of ' .. method, callback, err, result)
    end
  end
  request.cancel = function()
    if request.answered then
      return
    end
    local client = request.id and alive(request.client)
    if client then
      call(client, 'cancel_request', request.id)
    end
    request.answer(failure('cancelled', 'cancelled')) -- Neovim keeps what a server says to that to itself
  end
  M.get(buf, function(err, client)
    if err or request.answered then
      return request.answer(err)
    end
    ---@cast client vim.lsp.Client
    if method:match('^memory/') and not M.supports(client, method) then
      return request.answer(
        failure(
          'unsupported',
          ('this memls has no %s: update it (:checkhealth memls shows its version)'):format(method)
        )
      )
    end
    if before then
      before(client.id)
    end
    send(client, method, params, request)
  end)
  return request
end

--- Tells the server something.
---@param method string
---@param params table
---@param buf integer?
function M.notify(method, params, buf)
  M.get(buf, function(err, client)
    if err then
      return util.complain(err)
    end
    call(client, 'notify', method, params)
  end)
end

--- Has running servers of a folder take the present settings.
---@param root string
function M.configure(root)
  local client = running(root)
  if client then
    call(client, 'notify', 'workspace/didChangeConfiguration', { settings = { memls = initialization_options(root) } })
  end
end

--- Ends the server of a buffer's folder and starts it anew, attached to what it was attached to.
---@param buf integer?
---@param callback fun(err: memls.Error?)
function M.restart(buf, callback)
  local root = M.root(buf or vim.api.nvim_get_current_buf())
  local client = running(root)
  local attached = client and vim.lsp.get_buffers_by_client_id(client.id) or {}
  local function again()
    M.get(buf, function(err)
      for _, b in ipairs(err and {} or attached) do
        M.attach(b)
      end
      callback(err)
    end)
  end
  if not client then
    return again()
  end
  require('memls.events').expect_stop(client.id)
  vim.lsp.stop_client(client.id)
  local deadline, forced = vim.uv.now() + stop_timeout, false
  poll(function()
    if not vim.lsp.get_client_by_id(client.id) or call(client, 'is_stopped') and forced then
      again()
      return true
    elseif vim.uv.now() > deadline then
      if forced then
        again()
        return true
      end
      forced, deadline = true, vim.uv.now() + stop_timeout
      vim.lsp.stop_client(client.id, true)
    end
  end)
end

return M
