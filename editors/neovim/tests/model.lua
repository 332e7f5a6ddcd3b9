-- nvim -l tests/model.lua DIR TITLE...: an endpoint of the OpenAI chat API that chooses the memories with these titles. It writes its port
-- to DIR/port, and answers a request once there is a file DIR/go.
local dir = _G.arg[1]
local titles = vim.list_slice(_G.arg, 2)
local server = assert(vim.uv.new_tcp())
assert(server:bind('127.0.0.1', 0))

---@param body string of a request
---@return string of the answer
local function answer(body)
  local ids = {}
  for _, message in ipairs(vim.json.decode(body).messages) do
    for line in (message.content .. '\n'):gmatch('(.-)\n') do
      for _, title in ipairs(titles) do
        if line:find(title, 1, true) and line:match('%f[%w]m%d+%f[%W]') then
          table.insert(ids, line:match('%f[%w](m%d+)%f[%W]'))
        end
      end
    end
  end
  return vim.json.encode({
    id = 'a1',
    object = 'chat.completion',
    model = 'selector',
    choices = {
      {
        index = 0,
        finish_reason = 'stop',
        message = {
          role = 'assistant',
          content = vim.json.encode({ ids = #ids > 0 and ids or vim.empty_dict() }):gsub('{}', '[]'),
        },
      },
    },
    usage = { prompt_tokens = 1, completion_tokens = 1, total_tokens = 2 },
  })
end

local function respond(socket, body)
  local text = answer(body)
  socket:write(
    ('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s'):format(
      #text,
      text
    ),
    function()
      socket:close()
    end
  )
end

server:listen(16, function()
  local socket = assert(vim.uv.new_tcp())
  server:accept(socket)
  local text = ''
  socket:read_start(vim.schedule_wrap(function(_, chunk)
    text = text .. (chunk or '')
    local head, body = text:match('^(.-)\r\n\r\n(.*)$')
    local length = head and tonumber(head:lower():match('content%-length: (%d+)'))
    if not chunk or not length or #body < length then
      return
    end
    socket:read_stop()
    vim.wait(60000, function()
      return vim.uv.fs_stat(dir .. '/go') ~= nil
    end, 5)
    respond(socket, body)
  end))
end)

local file = assert(io.open(dir .. '/port.new', 'w'))
file:write(tostring(server:getsockname().port))
file:close()
vim.uv.fs_rename(dir .. '/port.new', dir .. '/port')
vim.wait(300000, function()
  return false
end)
