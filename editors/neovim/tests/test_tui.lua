-- The terminal interface itself, in a terminal of its own: what a person sees, with keys as a person presses them.
local H = require('helpers')
local eq, has = H.eq, H.has
local T = H.set()

local tmux = vim.env.MEMLS_TMUX

local function run(socket, ...)
  return vim.system({ tmux, '-L', socket, '-f', '/dev/null', ... }, { text = true }):wait(10000)
end

T['recall, review and leaving in a real terminal'] = function()
  local child = H.editor() -- its workspace and environment are used
  child.stop()
  local socket = 'memls-' .. vim.uv.os_getpid()
  local here = vim.fn.getcwd()
  local started = run(
    socket,
    'new-session',
    '-d',
    '-x',
    '110',
    '-y',
    '30',
    '-c',
    child.ws,
    ("'%s' --clean -u '%s/tests/child.lua'"):format(vim.v.progpath, here)
  )
  eq(started.code, 0, started.stderr)
  local function shows(text)
    local screen
    local ok = vim.wait(H.patience, function()
      screen = run(socket, 'capture-pane', '-p').stdout or ''
      return screen:find(text, 1, true) ~= nil
    end, 50)
    if not ok then
      run(socket, 'kill-server')
      error(('the terminal never shows %q:\n%s'):format(text, screen), 2)
    end
    return screen
  end
  shows('~')
  run(socket, 'send-keys', ':Memls recall which port does the gateway use', 'Enter')
  local screen = shows('by the index in')
  has(screen, 'Gateway port')
  has(screen, 'The gateway listens on 7433.')
  run(socket, 'send-keys', 'x')
  screen = shows('as it would be')
  has(screen, '[x] delete')
  run(socket, 'send-keys', 'a')
  shows('Forget this (1 change)?')
  run(socket, 'send-keys', '1', 'Enter')
  eq(
    vim.wait(H.patience, function()
      return vim.uv.fs_stat(child.memory .. '/port.md') == nil
    end, 20),
    true
  )
  run(socket, 'send-keys', ':qa!', 'Enter')
  eq(
    vim.wait(H.patience, function()
      return run(socket, 'list-sessions').code ~= 0
    end, 50),
    true
  )
end

return T
