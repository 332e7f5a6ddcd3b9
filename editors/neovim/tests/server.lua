-- nvim -l tests/server.lua MODE: a server that answers as a test wants it, for what a real one does not do on demand.
--   die      ends while a dream is under way
--   hang     never answers a dream
--   silent   never answers anything, not even `initialize`
--   old      knows no memory/… but status
--   extract  answers a plan to what is to be learnt
local mode = _G.arg[1]

local function send(message)
  message.jsonrpc = '2.0'
  local body = vim.json.encode(message)
  io.stdout:write(('Content-Length: %d\r\n\r\n%s'):format(#body, body))
  io.stdout:flush()
end

local methods = {
  'memory/status',
  'memory/dream',
  'memory/extract',
  'memory/plans',
  'memory/recall',
  'memory/search',
  'memory/apply',
}
if mode == 'old' then
  methods = { 'memory/status' }
end

local status = {
  roots = {},
  discovered = {},
  notes = {},
  plans = 0,
  tasks = 0,
  model = { state = 'none' },
  embeddings = { state = 'none' },
  process = {
    pid = vim.uv.os_getpid(),
    version = 'v0.0.0',
    uptimeMs = 1,
    heapBytes = 1,
    goroutines = 1,
    startedAt = '2026-01-01T00:00:00Z',
  },
}

local answers = {
  initialize = function()
    return { capabilities = { experimental = { memory = { version = 1, methods = methods, notifications = {} } } } }
  end,
  ['memory/status'] = function()
    return status
  end,
  shutdown = function()
    return vim.NIL
  end,
  ['memory/plans'] = function()
    return { plans = {} }
  end,
}

local function handle(message)
  if mode == 'silent' then
    return
  end
  if message.method == 'exit' then
    os.exit(0)
  elseif message.method == 'memory/dream' then
    if mode == 'die' then
      os.exit(9)
    end
    send({
      method = '$/progress',
      params = { token = message.params.workDoneToken, value = { kind = 'begin', title = 'Dream' } },
    })
    return
  end
  if message.id ~= nil then
    local answer = answers[message.method]
    if answer then
      send({ id = message.id, result = answer(message.params) })
    else
      send({ id = message.id, error = { code = -32601, message = 'unknown method ' .. tostring(message.method) } })
    end
  end
end

while true do
  local line = io.stdin:read('*l')
  if not line then
    os.exit(0)
  end
  local length = line:match('^Content%-Length: (%d+)')
  if length then
    io.stdin:read('*l')
    local input = io.stdin:read(tonumber(length))
    if not input then
      os.exit(0)
    end
    handle(vim.json.decode(input))
  end
end
