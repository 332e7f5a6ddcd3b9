local H = require('helpers')
local eq, has = H.eq, H.has
local T = H.set()

T['vim.ui.select: words, then a list, then the file at its passage'] = function()
  local child = H.editor()
  child.choose(1)
  child.cmd('Memls search gateway')
  child.wait([[vim.fn.expand('%:t') ~= '']])
  eq(child.lua_get('#_G.asked[1].items'), 2)
  eq(child.lua_get('_G.asked[1].prompt'), 'Memories')
  eq(child.lua_get([[vim.tbl_contains({ 'port.md', 'ferry.md' }, vim.fn.expand('%:t'))]]), true)
end

T['vim.ui.select: without words they are asked for, and none means all'] = function()
  local child = H.editor()
  child.choose(99)
  child.lua([[vim.ui.input = function(_, done) done('') end]])
  child.cmd('Memls search')
  child.wait('#_G.asked == 1')
  eq(child.lua_get('#_G.asked[1].items'), 3)
end

T['the list of Neovim itself works, too'] = function()
  local child = H.editor()
  child.cmd('Memls search refund')
  local function asks() -- without asking the editor anything that would wait for the answer
    local now = child.api.nvim_get_mode()
    return now.blocking or now.mode ~= 'n'
  end
  eq(vim.wait(H.patience, asks, 10), true)
  child.api_notify.nvim_input('1<CR>')
  eq(
    vim.wait(H.patience, function()
      return not asks()
    end, 10),
    true
  )
  eq(child.fn.expand('%:t'), 'refund.md')
end

T['what is not found is said'] = function()
  local child = H.editor()
  child.cmd('Memls search xylophone')
  child.note('nothing was found for xylophone')
end

T['superseded memories come with a bang only'] = function()
  local child = H.editor({
    notes = { ['old.md'] = '---\nname: Old gateway\nstatus: superseded\n---\n\nThe gateway listened on 80.\n' },
  })
  child.choose(99)
  child.cmd('Memls search gateway')
  child.note('nothing was found')
  child.cmd('Memls! search gateway')
  child.wait('#(_G.asked or {}) == 1')
  has(child.lua_get('_G.asked[1].items[1]'), 'Old gateway')
end

T['of 10,000 results the best are shown, and how many there are; the editor stays quick'] = function()
  local notes = {}
  for i = 1, 10000 do
    notes[('n/%05d.md'):format(i)] = ('---\nname: Gateway note %d\n---\n\nThe gateway number %d.\n'):format(i, i)
  end
  local child = H.editor({ notes = notes, memory = true })
  child.cmd('Memls status')
  child.wait([[require('memls').status() ~= '' and not require('memls').status():find('reading')]])
  child.fresh()
  child.choose(99)
  child.lua('_G.began = vim.uv.hrtime()')
  child.cmd('Memls search gateway')
  child.wait('#(_G.asked or {}) == 1')
  eq(child.lua_get('#_G.asked[1].items'), 100)
  eq(child.lua_get('_G.asked[1].prompt'), 'Memories: the best 100 of 10000')
end

T['a picker that is wished for and not there is named, and the list is used'] = function()
  local child = H.editor({ config = { picker = 'telescope' } })
  child.choose(1)
  child.cmd('Memls search gateway')
  child.note('the picker telescope is not there')
  child.wait('#(_G.asked or {}) == 1')
end

local function telescope()
  return H.editor({ rtp = { vim.env.MEMLS_TELESCOPE, vim.env.MEMLS_PLENARY }, columns = 120, lines = 30 })
end

T['telescope: the server searches as you type, with the file beside it'] = function()
  local child = telescope()
  child.cmd('Memls search')
  child.shows('Memories')
  child.shows('Refund window')
  child.type_keys('ferry')
  child.shows('1 / 1')
  local screen = child.shows('> Ferry gateway')
  H.has_not(screen, 'Refund window  ')
  child.type_keys('<CR>')
  child.wait([[vim.fn.expand('%:t') == 'ferry.md']])
end

T['telescope: words of the command are the first search; forget and pin'] = function()
  local child = telescope()
  child.choose(1)
  child.cmd('Memls search which port')
  child.shows('The gateway listens on 7433')
  child.api.nvim_input('<M-p>')
  child.note('Gateway port is pinned')
  child.cmd('Memls search which port')
  child.shows('The gateway listens on 7433')
  child.api.nvim_input('<M-f>')
  child.shows('as it would be')
end

T['telescope: a search is given up when more is typed'] = function()
  local child = telescope()
  child.cmd('Memls search')
  child.type_keys('f', 'e', 'r', 'r', 'y')
  child.shows('> Ferry gateway')
  eq(child.lua_get('#vim.tbl_filter(function(n) return n.level == vim.log.levels.ERROR end, _G.notes)'), 0)
end

-- These plugins are in no Debian package: they are stood in for by what their documentation says that they do with a source.
local function fake(name)
  return H.editor({ rtp = { vim.fn.getcwd() .. '/tests/fakes/' .. name } })
end

T['fzf-lua, stood in for: live lines, open, forget, pin'] = function()
  local child = fake('fzf')
  child.cmd('Memls search gateway')
  child.wait([[require('fzf-lua').ended]])
  local lines = child.lua_get([[require('fzf-lua').lines]])
  eq(#lines, 2)
  eq(lines[1]:match('^(.-):%d+:%d+:') ~= nil, true)
  child.lua([[require('fzf-lua').type('refund')]])
  child.wait([[require('fzf-lua').ended and #require('fzf-lua').lines == 1]])
  child.lua([[local f = require('fzf-lua'); f.opts.actions['enter'](f.lines, f.opts)]])
  eq(child.fn.expand('%:t'), 'refund.md')
  child.lua([[local f = require('fzf-lua'); f.opts.actions['alt-p'](f.lines, f.opts)]])
  child.note('Refund window is pinned')
end

T['fzf-lua, stood in for: of what is typed quickly only the last is shown'] = function()
  local child = fake('fzf')
  child.cmd('Memls search')
  child.lua([[for _, q in ipairs({ 'f', 'fe', 'fer', 'ferr', 'ferry' }) do require('fzf-lua').type(q) end]])
  child.wait([[require('fzf-lua').ended]])
  eq(child.lua_get([[#require('fzf-lua').lines]]), 1)
end

T['snacks, stood in for: live items, open by file and place'] = function()
  local child = fake('snacks')
  child.cmd('Memls search gateway')
  child.wait([[require('snacks').ended and #require('snacks').items == 2]])
  child.lua([[require('snacks').type('refund')]])
  child.wait([[require('snacks').ended and #require('snacks').items == 1]])
  eq(child.lua_get([[vim.fs.basename(require('snacks').items[1].file)]]), 'refund.md')
  eq(child.lua_get([[require('snacks').items[1].pos[1] > 1]]), true)
  child.lua([[local s = require('snacks')
    s.opts.actions.memls_pin({ close = function() _G.closed = true end }, s.items[1])]])
  child.note('Refund window is pinned')
  eq(child.lua_get('_G.closed'), true)
end

T['mini.pick, stood in for: live items, open, forget'] = function()
  local child = fake('mini')
  child.choose(1)
  child.cmd('Memls search gateway')
  child.wait([[require('mini.pick').ended and #require('mini.pick').items == 2]])
  child.lua([[require('mini.pick').set_picker_query({ 'r', 'e', 'f', 'u', 'n', 'd' })]])
  child.wait([[require('mini.pick').ended and #require('mini.pick').items == 1]])
  child.lua([[local m = require('mini.pick'); m.opts.source.choose(m.items[1])]])
  eq(child.fn.expand('%:t'), 'refund.md')
  child.lua([[require('mini.pick').opts.mappings.memls_forget.func()]])
  child.shows('as it would be')
end

return T
