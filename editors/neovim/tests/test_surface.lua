local H = require('helpers')
local eq, has, has_not = H.eq, H.has, H.has_not
local T = H.set()

T['the fast result stands while the model chooses, then what it refused is withdrawn and what it adds is there'] = function()
  local model = H.model('Refund window', 'Ferry gateway')
  local child = H.editor({ options = model.options })
  child.cmd('Memls recall! does the gateway refund a window')
  local fast = child.shows('a model is choosing')
  has(fast, 'does the gateway refund a window')
  has(fast, 'fast · project')
  has(fast, '│ ')
  model.go()
  local refined = child.shows('chosen by the model')
  local fired = vim.tbl_filter(function(f)
    return f.event == 'MemlsRecall'
  end, child.lua_get('_G.fired'))
  eq(
    vim.tbl_map(function(f)
      return f.data.phase
    end, fired),
    { 'fast', 'refined', 'done' }
  )
  has(refined, 'Refund window')
  has(refined, 'Ferry gateway')
  if fired[2].data.retract and #fired[2].data.retract > 0 then
    has(refined, 'withdrawn by the model')
  end
end

T['a memory that the model refuses is shown as withdrawn, and is no part of the block'] = function()
  local model = H.model('Ferry gateway')
  local child = H.editor({ options = model.options })
  child.cmd('Memls recall which port does the gateway use')
  has(child.shows('a model is choosing'), 'Gateway port')
  model.go()
  local screen = child.shows('withdrawn by the model')
  has(screen, 'Gateway port')
  has_not(screen, 'The gateway listens on 7433.')
end

T['without a model it settles at once, with why'] = function()
  local child = H.editor()
  child.cmd('Memls recall which port does the gateway use')
  local screen = child.shows('by the index in')
  has(screen, 'Gateway port')
  has(screen, 'why title: Gateway')
  has(screen, 'today')
end

T['what the conversation has is named and not shown again, until it begins anew'] = function()
  local child = H.editor()
  child.cmd('Memls recall which port does the gateway use')
  child.shows('by the index in')
  child.cmd('Memls recall which port does the gateway use')
  child.shows('already in this conversation: ')
  local screen = child.surfaced()
  has(screen, 'project:port.md')
  has(screen, 'nothing that this conversation does not have already')
  child.cmd('Memls! recall which port does the gateway use')
  has(child.shows('by the index in'), 'The gateway listens on 7433.')
end

T['silence is said'] = function()
  local child = H.editor()
  child.cmd('Memls recall what is the capital of Peru')
  child.shows('nothing is about this')
end

T['no roots: the reason is shown'] = function()
  local child = H.editor({ trusted = false })
  child.cmd('Memls recall which port does the gateway use')
  child.shows('not recalled')
end

T['the window closes with q and Esc, and is found again with its last question'] = function()
  local child = H.editor()
  child.cmd('Memls recall gateway port')
  child.shows('Gateway port')
  for _, key in ipairs({ 'q', '<Esc>' }) do
    child.type_keys(key)
    child.wait('#vim.api.nvim_list_wins() == 1')
    has_not(child.screen(), 'Gateway port')
    child.cmd('Memls recall')
    child.shows('Gateway port')
  end
  child.type_keys('g?')
  child.shows('yank the block')
end

T['a range is the question'] = function()
  local child = H.editor()
  child.api.nvim_buf_set_lines(0, 0, -1, false, { 'unrelated', 'which port', 'does the gateway use?' })
  child.cmd('2,3Memls recall')
  has(child.shows('by the index in'), 'which port does the gateway use?')
end

T['the window lies at the side when that is wished'] = function()
  local child = H.editor({ config = { window = { kind = 'side', width = 50 } } })
  child.cmd('Memls recall gateway port')
  child.shows('The gateway listens on 7433.')
  eq(child.lua_get('vim.api.nvim_win_get_config(0).relative'), '')
  eq(child.api.nvim_win_get_width(0), 50)
end

T['winborder decides about the border where there is such an option'] = function()
  local child = H.editor()
  if child.fn.exists('+winborder') == 0 then
    child.cmd('Memls recall')
    has(child.screen(), '╭')
    return
  end
  child.o.winborder = 'double'
  child.cmd('Memls recall')
  has(child.screen(), '╔')
end

T['what can be done: open, split, pin, feedback, yank'] = function()
  local child = H.editor()
  child.cmd('Memls recall which port does the gateway use')
  child.shows('by the index in')
  child.type_keys('p')
  child.note('Gateway port is pinned')
  child.shows('pinned')
  has(H.read(child.memory .. '/port.md'), 'pinned: true')
  child.type_keys('p')
  child.note('is pinned no longer')
  child.type_keys('+')
  child.note('1 useful, 0 wrong, 0 outdated')
  child.type_keys('o')
  child.note('1 useful, 0 wrong, 1 outdated')
  child.type_keys('y')
  local prompt = child.fn.getreg('"')
  has(prompt, '<memls-memory nonce=')
  has(prompt, 'The gateway listens on 7433.')
  child.type_keys('<CR>')
  eq(child.fn.expand('%:t'), 'port.md')
  eq(child.api.nvim_win_get_cursor(0)[1] > 1, true)
  eq(child.lua_get('#vim.api.nvim_list_wins()'), 1)
  child.cmd('Memls recall')
  child.type_keys('s')
  eq(child.lua_get('#vim.api.nvim_list_wins()'), 2)
end

T['forgetting from the window shows the diff, and marks what is gone'] = function()
  local child = H.editor()
  child.choose(1)
  child.cmd('Memls recall which port does the gateway use')
  child.shows('by the index in')
  child.type_keys('x')
  child.shows('as it would be')
  child.type_keys('a')
  child.note('gone project:port.md')
  eq(H.read(child.memory .. '/port.md'), nil)
  child.cmd('Memls recall')
  has(child.shows('forgotten'), 'Gateway port')
end

-- Text of a memory must not steer the screen, nor hide anything from the person who judges it.
T['control characters, wide characters and hidden text are shown and do no harm'] = function()
  local child = H.editor({
    notes = {
      ['odd.md'] = H.note(
        'Gate \27[31mred\7 座位保留多久呢座位保留多久呢座位保留多久呢座位保留多久呢座位保留多久呢 end',
        'gateway',
        'project',
        'gateway \u{202e}drawkcab \u{200b}zero \u{e0041}tag \27]0;title\7 e\u{301} 🏝️ end\tof line\r'
      ),
    },
  })
  child.cmd('Memls recall gateway')
  local screen = child.shows('by the index in')
  has_not(screen, '\27')
  screen = child.surfaced()
  has(screen, '<U+202E>drawkcab')
  has(screen, '<U+200B>zero')
  has(screen, '<U+E0041>tag')
  has(screen, '座位保留')
  has_not(screen, '\27')
  local lines = child.api.nvim_buf_get_lines(0, 0, -1, false)
  for _, line in ipairs(lines) do
    eq(line:find('[%z\1-\31\127]'), nil)
  end
end

T['what another agent was given is shown as it happens'] = function()
  local child = H.editor({ options = { activity = true } })
  child.cmd('Memls recall something else entirely')
  child.shows('nothing is about this')
  local other = MiniTest.new_child_neovim()
  table.insert(H.children, setmetatable({ base = child.base }, { __index = other }))
  local here = vim.fn.getcwd()
  vim.fn.chdir(child.ws)
  other.start({ '--clean', '-u', here .. '/tests/child.lua' })
  vim.fn.chdir(here)
  other.lua([[require('memls').recall('which port does the gateway use', { session = 's' }, function() end)]])
  local screen = child.shows('given to ')
  has(screen, 'Neovim')
  has(child.shows('Gateway port'), 'The gateway listens on 7433.')
  eq(child.lua_get([[vim.iter(_G.fired):any(function(f) return f.event == 'MemlsActivity' end)]]), true)
end

T['older questions can be looked at'] = function()
  local child = H.editor()
  child.cmd('Memls recall which port does the gateway use')
  child.shows('by the index in')
  child.cmd('Memls recall who refunds a ticket')
  child.shows('Asteria refunds')
  child.type_keys('<')
  has(child.shows('Gateway port'), 'which port does the gateway use')
  child.type_keys('>')
  child.shows('Asteria refunds')
end

T['virtual text says at a question how many memories it brought'] = function()
  local child = H.editor({ config = { virtual_text = true } })
  child.api.nvim_buf_set_lines(0, 0, -1, false, { 'which port does the gateway use' })
  child.lua([[require('memls').recall(vim.api.nvim_get_current_line(), { buf = 0 }, function() end)]])
  child.shows('which port does the gateway use   1 memory')
end

T['the status is empty without a server, then short, and cheap'] = function()
  local child = H.editor()
  eq(child.lua_get([[require('memls').status()]]), '')
  child.o.laststatus = 2
  child.o.statusline = [[%{v:lua.require'memls'.status()}]]
  child.cmd('Memls recall which port does the gateway use')
  child.wait([[require('memls').status() == 'memls 1']])
  child.shows('memls 1')
  local ns = child.lua_get([[(function()
    local status, began = require('memls').status, vim.uv.hrtime()
    for _ = 1, 10000 do status() end
    return (vim.uv.hrtime() - began) / 10000
  end)()]])
  eq(ns < 20000, true)
end

T['lualine shows it'] = function()
  local child = H.editor({ rtp = { vim.env.MEMLS_LUALINE } })
  child.lua(
    [[require('lualine').setup({
    options = { icons_enabled = false },
    sections = { lualine_a = {}, lualine_b = {}, lualine_c = { 'memls' }, lualine_x = {}, lualine_y = {}, lualine_z = {} } })]]
  )
  child.o.laststatus = 2
  child.cmd('Memls recall which port does the gateway use')
  child.wait([[require('memls').status() == 'memls 1']])
  child.type_keys('q')
  child.lua([[require('lualine').refresh()]])
  child.shows('memls 1')
end

return T
