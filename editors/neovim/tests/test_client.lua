local H = require('helpers')
local eq, has = H.eq, H.has
local T = H.set()

local attached =
  '#vim.lsp.get_clients({ name = "memls", bufnr = 0 }) == 1 and vim.lsp.get_clients({ name = "memls" })[1].initialized'

T['a memory attaches by itself, without setup()'] = function()
  local child = H.editor()
  child.cmd('edit .memory/port.md')
  child.wait(attached)
  eq(child.lua_get('#vim.lsp.get_clients()'), 1)
  eq(child.lua_get('vim.uv.fs_realpath(vim.lsp.get_clients()[1].config.root_dir)'), child.ws)
  child.cmd('edit .memory/ferry.md')
  child.wait(attached)
  eq(child.lua_get('#vim.lsp.get_clients()'), 1)
end

T['nothing starts until there is a file that could be a memory'] = function()
  local child = H.editor()
  child.cmd('edit main.go')
  eq(child.lua_get('#vim.lsp.get_clients()'), 0)
  eq(
    child.lua_get([[vim.tbl_filter(function(m) return vim.startswith(m, 'memls') end, vim.tbl_keys(package.loaded))]]),
    {}
  )
  child.lua('vim.g.memls_auto_attach = false')
  child.cmd('edit .memory/port.md')
  eq(child.lua_get('#vim.lsp.get_clients()'), 0)
end

T['vim.lsp.enable and overrides of vim.lsp.config hold'] = function()
  local child = H.editor()
  if not child.lua_get('vim.lsp.config ~= nil') then
    return MiniTest.add_note('skipped: vim.lsp.config is of Neovim 0.11')
  end
  child.lua(
    [[vim.lsp.config('memls', { root_markers = { '.memory' }, settings = { probe = 7 } }) vim.lsp.enable('memls')]]
  )
  child.cmd('edit .memory/port.md')
  child.wait(attached)
  eq(child.lua_get('vim.lsp.get_clients({ name = "memls" })[1].config.settings'), { probe = 7 })
end

T['one server serves vim.lsp.enable and the plugin'] = function()
  local child = H.editor()
  if not child.lua_get('vim.lsp.config ~= nil') then
    return MiniTest.add_note('skipped: vim.lsp.config is of Neovim 0.11')
  end
  child.lua([[vim.lsp.enable('memls')]])
  child.cmd('edit .memory/port.md')
  child.wait(attached)
  child.cmd('Memls status')
  child.shows('3 of 3 files')
  eq(child.lua_get('#vim.lsp.get_clients({ name = "memls" })'), 1)
end

T['two projects have a server each'] = function()
  local child = H.editor()
  H.write(child.base .. '/other/.git/HEAD', '')
  H.write(child.base .. '/other/notes.md', 'text\n')
  child.cmd('edit .memory/port.md')
  child.wait(attached)
  child.cmd('edit ' .. child.base .. '/other/notes.md')
  child.wait(attached)
  eq(child.lua_get('#vim.lsp.get_clients()'), 2)
end

T['a program that is not there is named, with the remedy, once'] = function()
  local child = H.editor({ config = { cmd = { '/no/such/memls' } } })
  child.cmd('edit .memory/port.md')
  child.cmd('edit .memory/ferry.md')
  local note = child.note('/no/such/memls')
  has(note.text, 'install memls')
  has(note.text, ':checkhealth memls')
  eq(child.lua_get('#_G.notes'), 1)
end

T['a program that ends at once is told, and the editor lives'] = function()
  local child = H.editor({ config = { cmd = { 'sh', '-c', 'exit 3' } } })
  child.cmd('Memls status')
  child.note('the server ended')
  child.cmd('Memls recall gateway')
  child.shows('failed: the server ended')
end

T['a program that says no LSP is given up'] = function()
  local child = H.editor({ config = { cmd = { 'sh', '-c', 'echo hello; sleep 0.2' } } })
  child.cmd('Memls status')
  child.note('the server ended')
end

T['a server that dies is told with the remedy; restart brings all back'] = function()
  local child = H.editor()
  child.cmd('edit .memory/port.md')
  child.wait(attached)
  child.lua([[require('memls').request('memory/status', {}, function(_, s) _G.pid = s.process.pid end)]])
  child.wait('_G.pid ~= nil')
  child.lua('vim.uv.kill(_G.pid, 9)')
  has(child.note('the server ended').text, ':Memls restart')
  child.cmd('Memls restart')
  child.note('the server runs anew')
  child.wait(attached)
  child.lua([[require('memls').request('memory/status', {}, function(_, s) _G.second = s.process.pid end)]])
  child.wait('_G.second ~= nil and _G.second ~= _G.pid')
end

T['a request that a dying server leaves open is answered with an error'] = function()
  local child = H.editor({ config = { cmd = { vim.v.progpath, '-l', vim.fn.getcwd() .. '/tests/server.lua', 'die' } } })
  child.lua([[require('memls').request('memory/dream', { scope = 'project' }, function(err) _G.err = err end)]])
  child.wait('_G.err ~= nil')
  eq(child.lua_get('_G.err.kind'), 'stopped')
end

T['restart takes a running server down first'] = function()
  local child = H.editor()
  child.cmd('edit .memory/port.md')
  child.wait(attached)
  child.cmd('Memls restart')
  child.note('the server runs anew')
  child.wait(attached)
  eq(child.lua_get('#vim.lsp.get_clients({ name = "memls" })'), 1)
  eq(child.lua_get([[#vim.tbl_filter(function(n) return n.text:find('ended') end, _G.notes)]]), 0)
end

-- Watching by the client freezes editors in large trees, and is off on Linux: the server watches its own roots.
T['NVIM-01: a change outside of the editor is noticed without watching by the client'] = function()
  local child = H.editor()
  vim.fn.mkdir(child.ws .. '/build', 'p')
  for i = 1, 300 do
    vim.uv.fs_close(assert(vim.uv.fs_open(('%s/build/%d.o'):format(child.ws, i), 'w', 420)))
  end
  local began = vim.uv.hrtime()
  child.cmd('edit .memory/port.md')
  eq((vim.uv.hrtime() - began) / 1e6 < 1000, true)
  child.wait(attached)
  H.write(child.memory .. '/tide.md', '---\nname: Tide tables\n---\n\nThe tide tables are in the harbour office.\n')
  child.wait([[vim.iter(_G.fired):any(function(f)
    return f.event == 'MemlsChanged' and vim.tbl_contains(f.data.added, 'project:tide.md') end)]])
  eq(
    child.lua_get([[vim.lsp.get_clients()[1].dynamic_capabilities ~= nil
      and #(vim.lsp.get_clients()[1].dynamic_capabilities.capabilities['workspace/didChangeWatchedFiles'] or {})]]),
    0
  )
end

local subcommands = {
  'search gateway',
  'recall gateway',
  'remember a text',
  'forget gateway',
  'forget',
  'plans',
  'review',
  'extract',
  'dream project',
  'undo',
  'pin',
  'status',
  'log',
}

T['NVIM-03: every sub-command where there are no memories says a sentence'] = function()
  local child = H.editor({ notes = {}, options = { roots = vim.empty_dict() } })
  child.choose(1)
  for _, sub in ipairs(subcommands) do
    child.forget_notes()
    child.fresh()
    child.cmd('Memls ' .. sub)
    if sub ~= 'status' and not vim.startswith(sub, 'recall') then
      child.wait('#_G.notes > 0', 'a message about ' .. sub)
      local text = child.lua_get('_G.notes[1].text')
      H.has_not(text, 'traceback')
      H.has_not(text, 'RPC')
      eq(text:match('^memls: %l') ~= nil or text, true)
    end
  end
  eq(child.v.errmsg, '')
end

T['NVIM-03: every sub-command with a server that cannot run says a sentence, and callbacks get an error'] = function()
  local child = H.editor({ config = { cmd = { '/no/such/memls' } } })
  child.choose(1)
  for _, sub in ipairs(subcommands) do
    child.forget_notes()
    child.fresh()
    child.cmd('Memls ' .. sub)
    if sub ~= 'recall gateway' then
      child.wait('#_G.notes > 0', 'a message about ' .. sub)
      H.has_not(child.lua_get('_G.notes[1].text'), 'traceback')
    end
  end
  child.lua(
    [[require('memls').request('memory/status', {}, function(err, result) _G.got = { err.kind, result == nil } end)]]
  )
  eq(child.lua_get('_G.got'), { 'start', true })
end

-- One file has many spellings: a link, escapes in a URI, another normal form. The server and the editor must mean the same one.
T['NVIM-04: a memory that was opened through a link is the same memory'] = function()
  local child = H.editor({
    notes = { ['Fähre 20%.md'] = '---\nname: Ferry times\ntype: project\n---\n\n- first at six\n- last at nine\n' },
  })
  vim.uv.fs_symlink(child.memory, child.base .. '/link')
  child.cmd('cd ' .. child.base)
  child.lua([[vim.cmd.edit(vim.fn.fnameescape(...))]], { child.base .. '/link/Fähre 20%.md' })
  child.wait('#vim.lsp.get_clients({ bufnr = 0 }) == 1')
  child.lua([[vim.cmd.cd(vim.fn.fnameescape(...))]], { child.ws })
  child.choose(1)
  child.cmd('Memls search ferry')
  child.wait('#(_G.asked or {}) > 0')
  eq(child.lua_get('#_G.asked[1].items'), 1)
  eq(
    child.lua_get([[#vim.tbl_filter(function(b) return vim.api.nvim_buf_get_name(b):find('Fähre', 1, true) ~= nil end,
    vim.api.nvim_list_bufs())]]),
    1
  )
end

T['a cwd that was deleted is told'] = function()
  local child = H.editor({ notes = {} })
  vim.fn.delete(child.ws, 'rf')
  child.cmd('Memls status')
  child.note('there is no current directory any more')
end

T['a root that is deleted while it is open is told by the status'] = function()
  local child = H.editor()
  child.cmd('Memls recall gateway')
  child.shows('Gateway port')
  vim.fn.delete(child.memory, 'rf')
  child.wait(
    [[vim.iter(_G.fired):any(function(f) return f.event == 'MemlsStatus' and f.data.roots[1].state == 'missing' end)]]
  )
  child.lua([[require('memls.surface').close()]])
  child.cmd('Memls status')
  child.shows('missing')
end

return T
