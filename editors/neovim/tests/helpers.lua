-- Editors under test with a workspace of their own, and ways to wait for what they show.
local H = {}
local child_mt = {}

-- A wait that is over as soon as what is waited for is there; this long only when it never comes.
H.patience = tonumber(vim.env.MEMLS_TEST_PATIENCE) or 20000

---@param path string
---@param text string
function H.write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
end

---@param path string
---@return string?
function H.read(path)
  local file = io.open(path, 'rb')
  if not file then
    return nil
  end
  local text = file:read('*a')
  file:close()
  return text
end

---@param name string
---@param description string
---@param kind string
---@param body string
---@return string
function H.note(name, description, kind, body)
  return ('---\nname: %s\ndescription: %s\ntype: %s\n---\n\n%s\n'):format(name, description, kind, body)
end

H.notes = {
  ['port.md'] = H.note('Gateway port', 'which port the gateway uses', 'project', 'The gateway listens on 7433.'),
  ['ferry.md'] = H.note(
    'Ferry gateway',
    'the gateway of the ferry',
    'project',
    'The ferry gateway is down on Mondays.'
  ),
  ['refund.md'] = H.note(
    'Refund window',
    'how long a ticket can be given back',
    'reference',
    '- Asteria refunds until 24 hours before departure.\n- Nordhavn never refunds.\n- Hakuto refunds in vouchers.'
  ),
}

---@class Options
---@field notes? table<string, string>
---@field options? table of the server
---@field config? table of the plugin
---@field trusted? boolean default true
---@field rtp? string[]
---@field lines? integer
---@field columns? integer
---@field env? table<string, string>
---@field args? string[]
---@field memory? boolean the workspace holds so many files that it lies in memory where that can be

--- An editor in a fresh workspace whose path has spaces and letters beyond ASCII.
---@param o? Options
function H.editor(o)
  o = o or {}
  local base = vim.uv.fs_realpath(vim.fn.fnamemodify(vim.fn.tempname(), ':h'))
    .. '/'
    .. vim.fn.fnamemodify(vim.fn.tempname(), ':t')
  local home, ws = base .. '/home', base .. '/Strøm og færge'
  vim.fn.mkdir(home, 'p')
  vim.fn.mkdir(ws .. '/.git', 'p')
  for name, text in pairs(o.notes or H.notes) do
    H.write(ws .. '/.memory/' .. name, text)
  end
  local env = {
    HOME = home,
    XDG_CONFIG_HOME = home .. '/.config',
    XDG_DATA_HOME = home .. '/.local/share',
    XDG_STATE_HOME = home .. '/.local/state',
    XDG_CACHE_HOME = home .. '/.cache',
    MEMLS_PLUGIN = vim.fn.getcwd(),
    MEMLS_TEST_RTP = table.concat(o.rtp or {}, ':'),
    NVIM_LOG_FILE = home .. '/nvim.log',
  }
  local config = vim.tbl_deep_extend('force', { cmd = { vim.env.MEMLS_BIN, 'serve', '--stdio' } }, o.config or {})
  config.options = o.options
  env.MEMLS_TEST_OPTIONS = vim.json.encode(config)
  for name, value in pairs(vim.tbl_extend('force', env, o.env or {})) do
    vim.env[name] = value
  end
  if o.trusted ~= false then
    H.write(home .. '/.local/state/nvim/memls/trust', 'allow ' .. vim.uri_from_fname(ws) .. '\n')
  end
  local child = MiniTest.new_child_neovim()
  local here = vim.fn.getcwd()
  vim.fn.chdir(ws)
  child.start(
    vim.list_extend({ '--clean', '-u', here .. '/tests/child.lua' }, o.args or {}),
    { connection_timeout = 10000 }
  )
  vim.fn.chdir(here)
  child.o.lines, child.o.columns = o.lines or 24, o.columns or 100
  child.base, child.home, child.ws, child.memory = base, home, ws, ws .. '/.memory'
  for name, method in pairs(child_mt) do
    child[name] = function(...)
      return method(child, ...)
    end
  end
  H.children = H.children or {}
  table.insert(H.children, child)
  return child
end

--- A model endpoint that chooses memories by title, once `go` was called.
---@param ... string titles
---@return { options: table, go: fun() }
function H.model(...)
  local dir = vim.fn.tempname()
  vim.fn.mkdir(dir, 'p')
  local process = vim.system({ vim.v.progpath, '--clean', '-l', vim.fn.getcwd() .. '/tests/model.lua', dir, ... })
  H.processes = H.processes or {}
  table.insert(H.processes, process)
  assert(
    vim.wait(H.patience, function()
      return vim.uv.fs_stat(dir .. '/port') ~= nil
    end, 10),
    'the model endpoint does not start'
  )
  return {
    options = { model = { baseURL = ('http://127.0.0.1:%s/v1'):format(H.read(dir .. '/port')), name = 'selector' } },
    go = function()
      H.write(dir .. '/go', '')
    end,
  }
end

--- A set whose editors are stopped after each case.
function H.set()
  return MiniTest.new_set({
    hooks = {
      post_case = function()
        for _, child in ipairs(H.children or {}) do
          child.stop()
          vim.fn.delete(child.base, 'rf')
          vim.uv.fs_rmdir('/dev/shm/memls-' .. vim.uv.os_getpid())
        end
        H.children = {}
        for _, process in ipairs(H.processes or {}) do
          process:kill('sigkill')
        end
        H.processes = {}
      end,
    },
  })
end

--- Waits until an expression is true in the editor.
function child_mt.wait(child, expression, what)
  local ok = child.lua_get(('vim.wait(%d, function() return %s end, 10)'):format(H.patience, expression))
  if not ok then
    error(
      ('waited in vain for %s\nnotes: %s\nscreen:\n%s'):format(
        what or expression,
        vim.inspect(child.lua_get('_G.notes')),
        child.screen()
      ),
      2
    )
  end
end

--- Waits for a message to the person that holds a text, and returns it.
function child_mt.note(child, text)
  child.wait(
    ('vim.iter(_G.notes):any(function(n) return n.text:find(%q, 1, true) ~= nil end)'):format(text),
    'a message with: ' .. text
  )
  for _, note in ipairs(child.lua_get('_G.notes')) do
    if note.text:find(text, 1, true) then
      return note
    end
  end
end

function child_mt.forget_notes(child)
  child.lua('_G.notes = {}')
end

--- Closes what is open and starts with an empty buffer.
function child_mt.fresh(child)
  child.type_keys('<Esc>')
  child.lua([[require('memls.surface').close()
    vim.cmd('silent! tabonly')
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(win).relative ~= '' then
        vim.api.nvim_win_close(win, true)
      end
    end
    vim.cmd('only | enew')]])
end

--- The screen as text.
function child_mt.screen(child)
  local shot = child.get_screenshot()
  local lines = {}
  for _, row in ipairs(shot.text) do
    table.insert(lines, (table.concat(row):gsub('%s+$', '')))
  end
  return table.concat(lines, '\n')
end

--- Waits until the screen shows a text.
function child_mt.shows(child, text)
  local seen
  local ok = vim.wait(H.patience, function()
    seen = child.screen()
    return seen:find(text, 1, true) ~= nil
  end, 20)
  if not ok then
    error(('the screen never shows %q\n%s\nnotes: %s'):format(text, seen, vim.inspect(child.lua_get('_G.notes'))), 2)
  end
  return seen
end

--- Has vim.ui.select answer with the item of that number, and keeps what it was asked.
function child_mt.choose(child, index)
  child.lua(
    [[_G.asked = {}
      local index = ...
      vim.ui.select = function(items, opts, on_choice)
        local shown = vim.tbl_map(opts.format_item or tostring, items)
        table.insert(_G.asked, { prompt = opts.prompt, items = shown })
        on_choice(items[index], items[index] and index or nil)
      end]],
    { index }
  )
end

--- The text of the window of surfaced memories, however its lines are broken.
function child_mt.surfaced(child)
  return child.buffer('memls://surfaced')
end

--- The lines of the buffer whose name holds a text.
function child_mt.buffer(child, name)
  return child.lua_get(
    [[(function(name)
      for _, b in ipairs(vim.api.nvim_list_bufs()) do
        if vim.api.nvim_buf_get_name(b):find(name, 1, true) then
          return table.concat(vim.api.nvim_buf_get_lines(b, 0, -1, false), '\n')
        end
      end
    end)(...)]],
    { name }
  )
end

H.eq = MiniTest.expect.equality

---@param text string?
---@param part string
function H.has(text, part)
  if type(text) ~= 'string' or not text:find(part, 1, true) then
    error(('%q is not in:\n%s'):format(part, tostring(text)), 2)
  end
end

---@param text string?
---@param part string
function H.has_not(text, part)
  if type(text) == 'string' and text:find(part, 1, true) then
    error(('%q is in:\n%s'):format(part, text), 2)
  end
end

return H
