local H = require('helpers')
local eq, has, has_not = H.eq, H.has, H.has_not
local T = H.set()

local function chat(o)
  o = o or {}
  o.rtp = { vim.fn.getcwd() .. '/tests/fakes/chat' }
  return H.editor(o)
end

local function phases(child)
  return vim.tbl_map(function(event)
    return event.phase
  end, child.lua_get('_G.events'))
end

T['recall: fast, refined, done, each once and in this order'] = function()
  local child = H.editor()
  child.lua([[_G.events = {}
    require('memls').recall('which port does the gateway use', { session = 'c1' }, function(err, event)
      assert(not err, err and err.message)
      table.insert(_G.events, event)
    end)]])
  child.wait('#_G.events == 3')
  eq(phases(child), { 'fast', 'refined', 'done' })
  local events = child.lua_get('_G.events')
  eq(events[1].documents[1].ref, 'project:port.md')
  has(events[1].prompt, 'The gateway listens on 7433.')
  eq(events[3].outcome, 'settled')
end

T['recall: options are sent'] = function()
  local child = H.editor()
  child.lua([[_G.events = {}
    require('memls').recall('gateway', { session = 'c1', exclude = { 'project:port.md' }, limit = 1 }, function(err, event)
      table.insert(_G.events, event or err)
    end)]])
  child.wait('#_G.events == 3')
  eq(child.lua_get('_G.events[1].documents[1].ref'), 'project:ferry.md')
  child.lua([[require('memls').recall('gateway', { limit = 9 }, function(err) _G.err = err end)]])
  child.wait('_G.err ~= nil')
  eq(child.lua_get('_G.err.kind'), 'params')
end

T['recall: a new question of the conversation cancels the pending one; reset lets memories come again'] = function()
  local model = H.model('Gateway port')
  local child = H.editor({ options = model.options })
  child.lua(
    [[_G.first, _G.second = {}, {}
    local memls = require('memls')
    memls.recall('which port does the gateway use', { session = 'c1' }, function(_, event) table.insert(_G.first, event) end)]]
  )
  child.wait('#_G.first == 1')
  child.lua(
    [[require('memls').recall('who refunds a ticket', { session = 'c1' }, function(_, e) table.insert(_G.second, e) end)]]
  )
  child.wait('#_G.first == 3')
  eq(child.lua_get('_G.first[2].status'), 'cancelled')
  eq(child.lua_get('_G.first[3].reason'), 'new_query')
  model.go()
  child.wait('#_G.second == 3')
  child.lua([[_G.third = {}
    require('memls').reset('c1', { reason = 'reset' }, function()
      require('memls').recall('which port does the gateway use', { session = 'c1' }, function(_, e) table.insert(_G.third, e) end)
    end)]])
  child.wait('#_G.third == 3')
  eq(child.lua_get('_G.third[1].documents[1].ref'), 'project:port.md')
end

T['recall: cancel ends it with an error, once'] = function()
  local model = H.model('Gateway port')
  local child = H.editor({ options = model.options })
  child.lua([[_G.events, _G.errors = {}, {}
    _G.handle = require('memls').recall('which port does the gateway use', { session = 'c1' }, function(err, event)
      table.insert(err and _G.errors or _G.events, err or event)
    end)]])
  child.wait('#_G.events == 1')
  child.lua('_G.handle.cancel()')
  child.wait('#_G.errors == 1')
  eq(child.lua_get('_G.errors[1].kind'), 'cancelled')
end

T['a callback that fails harms nobody else, and is told'] = function()
  local child = H.editor()
  child.lua([[require('memls').recall('gateway', { session = 'c1' }, function() error('mine') end)
    require('memls').recall('gateway', { session = 'c2' }, function(_, event) _G.last = event.phase end)]])
  child.wait([[_G.last == 'done']])
  has(child.note('failed').text, 'mine')
end

T['wrong arguments are refused where they are made'] = function()
  local child = H.editor()
  MiniTest.expect.error(function()
    child.lua([[require('memls').recall(nil, {}, function() end)]])
  end, 'query')
  MiniTest.expect.error(function()
    child.lua([[require('memls').turn({ query = 'x' })]])
  end, 'session')
end

-- As in :h memls-chat-pane.
T['a pane: what is pushed is shown and placed'] = function()
  local child = chat({ config = { virtual_text = true } })
  child.lua([[
    local pane = require('chat').open({ { say = 'It is 7433.' } })
    _G.pane = pane
    pane.on_before_submit = function(c)
      if c.ready then
        c.ready = nil
        return true
      end
      local words = c:words()
      require('memls').recall(words, { session = 'pane-' .. c.buf, buf = c.buf }, function(err, event)
        if err or event.phase == 'done' then
          c.ready = true
          c:submit()
        elseif event.prompt ~= '' then
          c:add_context(event.prompt)
        end
      end)
      return false
    end
    vim.api.nvim_buf_set_lines(pane.buf, 0, -1, false, { 'which port does the gateway use' })
    pane:submit()]])
  child.wait('#_G.pane.history == 3')
  local request = child.lua_get('_G.pane.requests[1]')
  has(request[1].text, 'The gateway listens on 7433.')
  eq(request[2].text, 'which port does the gateway use')
  child.shows('1 memory')
end

local agent = [[
  local agent = require('chat').open(...)
  _G.agent = agent
  agent.on_before_submit = function(c)
    if c.ready then
      c.ready = nil
      return true
    end
    c.turn = require('memls').turn({ session = 'agent-' .. c.buf, query = c:words(), buf = c.buf })
    c.turn:consume('initial', function(err, result)
      if result then
        c:add_context(result.prompt)
      end
      c.failed = err and err.message
      c.ready = true
      c:submit()
    end)
    return false
  end
  agent.on_before_tools = function(c, go)
    c.turn:tool_used('list_files', 'ok')
    c.turn:consume('tool_result', function(_, result)
      if result then
        c:add_context(result.prompt)
      end
      go()
    end)
  end
  agent.on_done = function(c, outcome)
    local messages = {}
    for _, m in ipairs(c.history) do
      if not m.context then
        table.insert(messages, { role = m.role, text = m.text })
      end
    end
    c.turn:finish(outcome, messages, function(err, result)
      _G.finished = err or result
    end)
  end
  vim.api.nvim_buf_set_lines(agent.buf, 0, -1, false, { 'which port does the gateway use' })
  agent:submit()]]

-- As in :h memls-chat-agent.
T['an agent: the first request holds the memory, and the turn is finished'] = function()
  local child = chat()
  child.lua(agent, { { { call = 'list_files' }, { say = 'It is 7433.' } } })
  child.wait('_G.finished ~= nil')
  has(child.lua_get('_G.agent.requests[1][1].text'), 'The gateway listens on 7433.')
  eq(child.lua_get('_G.finished.recall.outcome'), 'settled')
  eq(child.lua_get('_G.agent.failed'), vim.NIL)
  child.cmd('Memls recall')
  has(child.surfaced(), 'Gateway port')
end

T['an agent: while the model chooses the first request has the fast result, the next one the rest'] = function()
  local model = H.model('Gateway port', 'Refund window')
  local child = chat({ options = model.options })
  child.lua('_G.go = false')
  child.lua(agent, { { { call = 'list_files' }, { call = 'list_files' }, { say = 'It is 7433.' } } })
  child.lua([[local before = _G.agent.on_before_tools
    _G.agent.on_before_tools = function(c, go)
      local function wait()
        if not _G.go then
          return vim.defer_fn(wait, 5)
        end
        before(c, go)
      end
      wait()
    end]])
  child.wait('#_G.agent.requests >= 1')
  has(child.lua_get('_G.agent.requests[1][1].text'), 'The gateway listens on 7433.')
  model.go()
  child.wait('_G.agent.turn.request.answered', 'the selection')
  child.lua('_G.go = true')
  child.wait('_G.finished ~= nil')
  local all = vim.inspect(child.lua_get('_G.agent.requests[3]'))
  has(all, 'Refund window')
end

T['an agent without a server goes on without memories'] = function()
  local child = chat({ config = { cmd = { '/no/such/memls' } } })
  child.lua(agent, { { { say = 'I do not know.' } } })
  child.wait('_G.finished ~= nil')
  has(child.lua_get('_G.agent.failed'), '/no/such/memls')
  eq(#child.lua_get('_G.agent.requests[1]'), 1)
  eq(child.lua_get('_G.finished.kind'), 'start')
end

T['in a coroutine consume waits without a callback, and blocks nothing'] = function()
  local child = H.editor()
  child.lua([[coroutine.wrap(function()
      local turn = require('memls').turn({ session = 'co', query = 'which port does the gateway use' })
      local result, err = turn:consume('initial')
      _G.got = { result and result.prompt, err }
      turn:finish('cancelled')
    end)()
    _G.after = true]])
  eq(child.lua_get('_G.after'), true)
  child.wait('_G.got ~= nil')
  has(child.lua_get('_G.got[1]'), 'The gateway listens on 7433.')
end

T['a turn that is no question recalls nothing'] = function()
  local child = H.editor()
  child.lua([[local turn = require('memls').turn({ session = 's', query = 'go on', turn = 'continue' })
    turn:consume('initial', function(err, result) _G.got = { err and err.message or 'none', result == nil } end)]])
  child.wait('_G.got ~= nil')
  eq(child.lua_get('_G.got[2]'), true)
end

T['omnifunc completes titles behind [[ and at words, and says what they are about'] = function()
  local child = chat()
  child.lua([[require('chat').open({})
    vim.bo.omnifunc = "v:lua.require'memls'.omnifunc"
    vim.o.completeopt = 'menuone']])
  child.type_keys('i', 'ask about [[fer', '<C-x><C-o>')
  child.wait('vim.fn.pumvisible() == 1')
  child.type_keys('<C-y>', '<Esc>')
  eq(child.api.nvim_get_current_line(), 'ask about [[Ferry gateway]]')
  child.type_keys('o', 'refund', '<C-x><C-o>')
  child.wait('vim.fn.pumvisible() == 1')
  child.type_keys('<C-y>', '<Esc>')
  eq(child.api.nvim_get_current_line(), '[[Refund window]]')
end

T['blink.cmp: the source answers items that replace what was typed'] = function()
  local child = chat()
  child.lua([[require('chat').open({})
    local source = require('memls.blink').new()
    _G.enabled = source:enabled()
    source:get_completions({ line = 'ask [[fer', cursor = { 1, 9 } }, function(r) _G.response = r end)]])
  child.wait('_G.response ~= nil')
  eq(child.lua_get('_G.enabled'), true)
  local item = child.lua_get('_G.response.items[1]')
  eq(item.label, 'Ferry gateway')
  eq(item.textEdit.newText, '[[Ferry gateway]]')
  eq(item.textEdit.range, { start = { line = 0, character = 4 }, ['end'] = { line = 0, character = 9 } })
  has(item.documentation.value, 'the gateway of the ferry')
end

T['nvim-cmp, stood in for: the source is registered and answers'] = function()
  local child = chat()
  child.lua(
    [[require('chat').open({})
    package.loaded.cmp = { register_source = function(name, source) _G.source = source; _G.name = name end }
    require('memls.cmp').register()
    _G.source:complete({ context = { cursor_before_line = 'refu', cursor = { row = 1 } } }, function(r) _G.response = r end)]]
  )
  child.wait('_G.response ~= nil')
  eq(child.lua_get('_G.name'), 'memls')
  eq(child.lua_get('_G.response.items[1].textEdit.newText'), '[[Refund window]]')
end

T['the key of a model is asked for and handed over, and appears nowhere'] = function()
  local model = H.model('Gateway port')
  model.go()
  model.options.model.apiKeyEnv = 'MEMLS_TEST_NO_SUCH_KEY'
  local child = H.editor({ options = model.options })
  child.lua([[require('memls').setup({ secret = function(name) _G.asked_for = name; return 'open sesame' end })]])
  child.cmd('Memls recall which port does the gateway use')
  child.wait([[_G.asked_for == 'MEMLS_TEST_NO_SUCH_KEY']])
  child.shows('chosen by the model')
  has_not(vim.inspect(child.lua_get('_G.notes')), 'sesame')
end

return T
