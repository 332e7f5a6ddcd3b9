local H = require('helpers')
local eq, has, has_not = H.eq, H.has, H.has_not
local T = H.set()

T['sub-commands complete'] = function()
  local child = H.editor()
  eq(child.fn.getcompletion('Memls re', 'cmdline'), { 'recall', 'remember', 'restart', 'review' })
  eq(child.fn.getcompletion('Memls dream ', 'cmdline'), { 'project', 'user', 'team' })
  eq(child.fn.getcompletion('Memls search x', 'cmdline'), {})
  child.cmd('Memls nonsense')
  has(child.note('there is no :Memls nonsense').text, 'recall')
  child.cmd('1Memls status')
  child.note('takes no range')
end

T['plugs are there and nothing is mapped by itself'] = function()
  local child = H.editor()
  for _, name in ipairs({ 'search', 'recall', 'forget', 'plans', 'undo', 'status' }) do
    eq(child.fn.maparg('<Plug>(memls-' .. name .. ')', 'n') ~= '', true)
  end
  eq(
    child.lua_get([[#vim.tbl_filter(function(m)
      return (m.rhs or ''):find('Memls') and not m.lhs:find('<Plug>', 1, true) end, vim.api.nvim_get_keymap('n'))]]),
    0
  )
  child.lua([[vim.keymap.set('n', 'gm', '<Plug>(memls-recall)')]])
  child.type_keys('gm')
  child.shows('No memories have surfaced yet.')
end

T['an older Neovim is told what it takes, and gets no command'] = function()
  local child = H.editor()
  child.lua([[vim.g.loaded_memls = nil
    vim.api.nvim_del_user_command('Memls')
    local has = vim.fn.has
    vim.fn.has = function(feature) return feature:match('^nvim%-0') and 0 or has(feature) end
    vim.cmd.source(vim.env.MEMLS_PLUGIN .. '/plugin/memls.lua')]])
  child.note('memls needs Neovim 0.10 or newer')
  eq(child.fn.exists(':Memls'), 0)
end

T['options: what is wrong is named, and the default stays in force'] = function()
  local child = H.editor()
  child.lua(
    [[require('memls').setup({ colour = 1, picker = 'nose', window = { kind = 'side' }, virtual_text = 'yes' })]]
  )
  child.note('there is no option colour')
  child.note('picker must be one of')
  child.note('virtual_text must be a boolean')
  eq(child.lua_get([[require('memls.config').get().picker]]), 'auto')
  eq(child.lua_get([[require('memls.config').get().window.kind]]), 'side')
  eq(child.lua_get([[require('memls.config').get().window.width]]), 0.45)
end

T['a workspace that nothing was said of is mentioned once, and read when it is trusted'] = function()
  local child = H.editor({ trusted = false })
  child.cmd('edit .memory/port.md')
  has(child.note(':Memls trust').text, 'are not read')
  child.cmd('edit .memory/ferry.md')
  child.choose(1)
  child.cmd('Memls trust')
  child.note('are read')
  child.cmd('Memls recall which port does the gateway use')
  child.shows('The gateway listens on 7433.')
  eq(#vim.tbl_filter(function(n)
    return n.text:find('are not read', 1, true) ~= nil
  end, child.lua_get('_G.notes')), 1)
  local file = child.home .. '/.local/state/nvim/memls/trust'
  has(H.read(file), 'allow file://')
  eq(bit.band(vim.uv.fs_stat(file).mode, 511), 384)
end

T['no is remembered, and can be taken back'] = function()
  local child = H.editor({ trusted = false })
  child.choose(2)
  child.cmd('Memls trust')
  child.note('are not read')
  child.forget_notes()
  child.cmd('Memls restart')
  child.note('the server runs anew')
  child.cmd('Memls status')
  child.shows('untrusted')
  eq(#child.lua_get('_G.notes'), 1)
  child.cmd('Memls! trust')
  child.note('until you say so')
end

-- A repository that was only just cloned can hold what it likes.
T['nothing in the workspace grants trust'] = function()
  local child = H.editor({ trusted = false })
  H.write(child.ws .. '/.nvim.lua', [[vim.g.memls = { options = { trusted = true } }]])
  H.write(child.ws .. '/.memory/trust', 'allow ' .. vim.uri_from_fname(child.ws))
  child.cmd('Memls recall which port does the gateway use')
  child.shows('not recalled')
end

T['checkhealth: all is well'] = function()
  local child = H.editor({ lines = 60 })
  child.cmd('checkhealth memls')
  local text = table.concat(child.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  has(text, 'the options are valid')
  has(text, '3 files on disk, 3 in the catalog')
  has(text, 'changes noticed by fsnotify')
  has(text, 'no model is named')
  has(text, 'is trusted')
  has(text, 'fs.inotify.max_user_watches')
  has(text, 'the log of the client')
  has_not(text, 'ERROR')
  has_not(text, 'WARNING')
end

T['checkhealth: what is wrong has advice'] = function()
  local child = H.editor({ config = { cmd = { '/no/such/memls' }, picker = 'nose' }, trusted = false })
  child.cmd('checkhealth memls')
  local text = table.concat(child.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  has(text, 'there is no program /no/such/memls')
  has(text, 'go install')
  has(text, 'picker must be one of')
  has(text, ':Memls trust')
end

T['checkhealth: skipped files, an untrusted workspace and a model that fails'] = function()
  local child = H.editor({
    trusted = false,
    options = { model = { baseURL = 'http://127.0.0.1:9/v1', name = 'nobody' } },
  })
  child.cmd('checkhealth memls')
  local text = table.concat(child.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  has(text, 'not read, since the workspace is not trusted')
  has(text, 'the model nobody is configured')
end

T['checkhealth: a program that is not memls'] = function()
  local child = H.editor({ config = { cmd = { '/bin/false' } } })
  child.cmd('checkhealth memls')
  has(table.concat(child.api.nvim_buf_get_lines(0, 0, -1, false), '\n'), 'does not say its version')
end

T['help: every tag is there once and every link leads somewhere'] = function()
  local child = H.editor()
  local doc = vim.fn.getcwd() .. '/doc'
  local copy = child.base .. '/help/doc'
  vim.fn.mkdir(copy, 'p')
  H.write(copy .. '/memls.txt', assert(H.read(doc .. '/memls.txt')))
  child.cmd('helptags ' .. vim.fn.fnameescape(copy))
  child.lua([[vim.opt.rtp:append(...)]], { child.base .. '/help' })
  child.cmd('help memls')
  local text = H.read(copy .. '/memls.txt')
  for line in text:gmatch('[^\n]*') do
    eq(vim.fn.strdisplaywidth(line) <= 80 or line, true)
  end
  for link in text:gmatch('|([^|%s]+)|') do
    local ok = child.lua_get([[pcall(vim.cmd.help, ...)]], { link })
    eq(ok or link, true)
  end
  for option in text:gsub('>lua\n.-\n<', ''):gmatch("%s'(%l+)'[%s.,]") do
    eq(child.fn.exists('&' .. option) == 1 or option == 'winborder' or option, true)
  end
  -- Every sub-command, function, highlight group and mapping is described.
  local tags = H.read(copy .. '/tags')
  for _, name in ipairs(child.lua_get([[vim.tbl_keys(require('memls.commands').subcommands)]])) do
    has(tags, ':Memls-' .. name .. '\t')
  end
  for _, name in ipairs(child.lua_get([[vim.tbl_keys(require('memls'))]])) do
    if name ~= 'ask' then
      has(tags, 'memls.' .. name .. '()\t')
    end
  end
  child.lua([[require('memls.highlights').set()]])
  for _, name in ipairs(child.fn.getcompletion('Memls', 'highlight')) do
    has(text, name)
  end
end

-- The examples of the help are Lua that compiles.
T['help: the examples compile'] = function()
  local text = assert(H.read('doc/memls.txt'))
  local n = 0
  for example in text:gmatch('>lua\n(.-)\n<') do
    n = n + 1
    eq({ loadstring(example) ~= nil, select(2, loadstring(example)) }, { true })
  end
  eq(n >= 8, true)
end

--- Starts an editor that does something and leaves; how long that takes.
local function leave(o, script)
  local child = H.editor(o)
  child.lua(script)
  local began = vim.uv.hrtime()
  child.lua_notify([[vim.cmd('qall!')]])
  local pid = child.job.id
  local code = vim.fn.jobwait({ pid }, 10000)[1]
  return (vim.uv.hrtime() - began) / 1e6, code, child
end

T['leaving in the middle of a dream does not wait, and leaves no server behind'] = function()
  local server = { vim.v.progpath, '-l', vim.fn.getcwd() .. '/tests/server.lua', 'hang' }
  local ms, code = leave(
    { config = { cmd = server } },
    [[
    vim.cmd('Memls dream')
    vim.wait(5000, function() return vim.iter(vim.lsp.get_clients()):any(function(c) return next(c.requests) ~= nil end) end, 5)]]
  )
  eq(code, 0)
  eq(ms < 2000 or ms, true)
end

T['leaving with the real server ends it'] = function()
  local child = H.editor()
  child.lua([[require('memls').request('memory/status', {}, function(_, s) _G.pid = s.process.pid end)]])
  child.wait('_G.pid ~= nil')
  local pid = child.lua_get('_G.pid')
  child.lua_notify([[vim.cmd('qall!')]])
  eq(vim.fn.jobwait({ child.job.id }, 10000)[1], 0)
  eq(
    vim.wait(10000, function()
      return vim.uv.kill(pid, 0) ~= 0
    end, 10),
    true
  )
end

T['leaving while a silent server starts does not wait'] = function()
  local server = { vim.v.progpath, '-l', vim.fn.getcwd() .. '/tests/server.lua', 'silent' }
  local ms, code = leave({ config = { cmd = server } }, [[vim.cmd('Memls status')]])
  eq(code, 0)
  eq(ms < 2000 or ms, true)
end

T['a memls that lacks a request is told to be older'] = function()
  local server = { vim.v.progpath, '-l', vim.fn.getcwd() .. '/tests/server.lua', 'old' }
  local child = H.editor({ config = { cmd = server } })
  child.cmd('Memls undo')
  has(child.note('this memls has no memory/operations').text, 'update it')
end

T['starting costs less than a millisecond, and loads no module'] = function()
  local best = math.huge
  for _ = 1, 5 do
    local child = H.editor({ args = { '--startuptime', vim.fn.tempname() .. '-start' } })
    local log = child.lua_get([[(function()
      for i, a in ipairs(vim.v.argv) do if a == '--startuptime' then return vim.v.argv[i + 1] end end end)()]])
    eq(child.lua_get([[package.loaded['memls.client'] == nil]]), true)
    for line in H.read(log):gmatch('[^\n]+') do
      local own = line:match('^%S+%s+%S+%s+(%S+): sourcing .*plugin/memls.lua')
      best = own and math.min(best, tonumber(own)) or best
    end
    child.stop()
  end
  eq(best < 1 or best, true)
end

return T
