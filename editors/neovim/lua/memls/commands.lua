--- `:Memls {sub}`: what each sub-command does with its arguments, a range and a bang.
local actions = require('memls.actions')
local client = require('memls.client')
local util = require('memls.util')
local M = {}

---@class memls.CommandArgs
---@field text string what stands behind the sub-command
---@field bang boolean
---@field range? { [1]: integer, [2]: integer } lines, from 1
---@field buf integer

---@param args memls.CommandArgs
---@return string text of the range, else of the command
local function words(args)
  if args.range and args.text == '' then
    local lines = vim.api.nvim_buf_get_lines(args.buf, args.range[1] - 1, args.range[2], false)
    return vim.trim(table.concat(lines, '\n'))
  end
  return args.text
end

--- Asks for a line of text when none was given.
---@param text string
---@param prompt string
---@param use fun(text: string)
local function ask(text, prompt, use)
  if text ~= '' then
    return use(text)
  end
  vim.ui.input({ prompt = prompt }, function(answer)
    if answer and vim.trim(answer) ~= '' then
      use(vim.trim(answer))
    end
  end)
end

---@param name string of a request
---@param params table
---@param use fun(result: any)
local function request(name, params, use)
  client.request('memory/' .. name, params, function(err, result)
    if err then
      return util.complain(err)
    end
    use(result)
  end)
end

--- Finds the memories or entries that a place of a buffer belongs to, as the server names them.
---@param buf integer
---@param range { [1]: integer, [2]: integer }
---@param use fun(targets: { ref: string, version: string }[])
local function targets_at(buf, range, use)
  local last = vim.api.nvim_buf_get_lines(buf, range[2] - 1, range[2], false)[1] or ''
  client.get(buf, function(err, server)
    if err then
      return util.complain(err)
    end
    ---@cast server vim.lsp.Client
    local params = {
      textDocument = { uri = vim.uri_from_bufnr(buf) },
      range = {
        start = { line = range[1] - 1, character = 0 },
        -- Its bytes are no less than its characters in any encoding; what lies behind a line's end means its end.
        ['end'] = { line = range[2] - 1, character = #last },
      },
      context = { diagnostics = {}, only = { 'refactor.forget' } },
    }
    client.call(server, 'request', 'textDocument/codeAction', params, function(failed, found)
      if failed then
        return util.notify(failed.message, vim.log.levels.ERROR)
      end
      local targets = {}
      for _, action in ipairs(found or {}) do
        local command = type(action.command) == 'table' and action.command or action
        if command.command == 'memory.confirmForget' then
          table.insert(targets, command.arguments[1])
        end
      end
      use(targets)
    end, buf)
  end)
end

---@param buf integer
---@param what string
---@return boolean
local function is_saved_file(buf, what)
  if vim.bo[buf].buftype ~= '' or vim.api.nvim_buf_get_name(buf) == '' then
    util.notify(('%s: this buffer is no file; open a memory, or say which in words'):format(what), vim.log.levels.WARN)
    return false
  elseif vim.bo[buf].modified then
    util.notify(('%s: the buffer has unsaved changes; write it first'):format(what), vim.log.levels.WARN)
    return false
  end
  return true
end

---@param operation table
---@return string
local function done(operation)
  local names = {}
  for _, change in ipairs(operation.changes) do
    table.insert(
      names,
      ({ create = 'new ', delete = 'gone ', update = 'changed ' })[change.action] .. util.clean(change.ref)
    )
  end
  local text = #names > 0 and table.concat(names, ', ') or 'nothing had to change'
  if operation.undoUntil then
    text = ('%s. Until %s :Memls undo takes it back'):format(text, util.time(operation.undoUntil))
  end
  for _, warning in ipairs(operation.warnings or {}) do
    text = text .. '\n' .. util.clean(warning)
  end
  return text
end
M.done = done

---@param operation table
---@return string
local function summary(operation)
  local names = {}
  for _, change in ipairs(operation.changes) do
    table.insert(names, util.clean(change.ref))
  end
  return ('%s %s %s'):format(util.time(operation.at), operation.kind, table.concat(names, ', '))
end

---@param operation table
local function undo(operation)
  request('undo', { operation = operation.id }, function(result)
    actions.reload(result)
    util.notify('taken back: ' .. summary(operation))
  end)
end

---@param operation table
local function confirm_undo(operation)
  vim.ui.select({ 'Take it back', 'Leave it' }, { prompt = summary(operation) }, function(_, index)
    if index == 1 then
      undo(operation)
    end
  end)
end

--- A background task with its progress, and the plan that comes of it.
---@param name 'extract'|'dream'
---@param params table
local function background(name, params)
  params.workDoneToken = 'memls-' .. require('memls.recall').token()
  util.notify(name == 'dream' and 'looking through the memories …' or 'looking for what is worth remembering …')
  request(name, params, function(result)
    for _, skipped in ipairs(result.skipped or {}) do
      local reason, detail = util.clean(skipped.reason), util.clean(skipped.detail)
      util.notify(('%s: %s'):format(reason, detail), vim.log.levels.WARN)
    end
    if result.operation then
      actions.reload(result.operation)
      util.notify(done(result.operation))
    end
    if result.plan then
      require('memls.plan').open(result.plan)
    elseif not result.operation then
      util.notify(name .. ': there is nothing to change')
    end
  end)
end

---@param plans table[]
local function choose_plan(plans)
  vim.ui.select(plans, {
    prompt = 'Plans that wait',
    format_item = function(plan)
      return ('%s %s, %s'):format(util.time(plan.createdAt), plan.kind, util.count(#plan.changes, 'change'))
    end,
  }, function(plan)
    if plan then
      require('memls.plan').open(plan)
    end
  end)
end

---@param args memls.CommandArgs
local function review(args)
  request('plans', {}, function(result)
    if #result.plans == 0 then
      return util.notify('no changes wait for you')
    end
    for _, plan in ipairs(result.plans) do
      if plan.id == args.text or (args.text == '' and #result.plans == 1) then
        return require('memls.plan').open(plan)
      end
    end
    if args.text ~= '' then
      util.notify('there is no plan ' .. util.clean(args.text), vim.log.levels.WARN)
    end
    choose_plan(result.plans)
  end)
end

---@class memls.Subcommand
---@field run fun(args: memls.CommandArgs)
---@field about string
---@field words? string[] what it can be completed with
---@field range? boolean

---@type table<string, memls.Subcommand>
M.subcommands = {
  search = {
    about = 'look through the memories; with ! superseded and expired ones, too',
    range = true,
    run = function(args)
      require('memls.pick').open({ query = words(args), inactive = args.bang })
    end,
  },
  recall = {
    about = 'show what a question brings to mind; with ! as a new conversation; without a question the window of the last one',
    range = true,
    run = function(args)
      local query = words(args)
      local surface = require('memls.surface')
      if query == '' then
        return surface.open()
      end
      require('memls').ask(query, { buf = args.buf, fresh = args.bang })
      surface.open()
    end,
  },
  remember = {
    about = 'remember a text, or the lines of the range',
    range = true,
    run = function(args)
      ask(words(args), 'Remember: ', function(text)
        request('remember', { text = text }, function(result)
          if #(result.unchanged or {}) > 0 then
            return util.notify('known already: ' .. util.clean(table.concat(result.unchanged, ', ')))
          end
          actions.reload(result)
          util.notify(done(result))
        end)
      end)
    end,
  },
  forget = {
    about = 'forget what words name, or what the cursor or range is in, after a look at it; with ! without a trace',
    range = true,
    run = function(args)
      if args.text ~= '' then
        return request('forget', { query = args.text }, function(plan)
          require('memls.plan').open(plan, { purge = args.bang })
        end)
      end
      if not is_saved_file(args.buf, 'forget') then
        return
      end
      local line = vim.api.nvim_win_get_cursor(0)[1]
      targets_at(args.buf, args.range or { line, line }, function(targets)
        if #targets == 0 then
          return util.notify(
            'there is no memory here that could be forgotten; say which: :Memls forget {words}',
            vim.log.levels.WARN
          )
        end
        vim.ui.select(targets, {
          prompt = 'Forget',
          format_item = function(target)
            return (target.ref:find('#', 1, true) and 'this entry: ' or 'the whole memory: ') .. util.clean(target.ref)
          end,
        }, function(target)
          if target then
            actions.forget({ target }, { purge = args.bang })
          end
        end)
      end)
    end,
  },
  pin = {
    about = 'pin the memory of this file; with ! let go of it',
    run = function(args)
      if not is_saved_file(args.buf, 'pin') then
        return
      end
      targets_at(args.buf, { 1, 1 }, function(targets)
        local ref
        for _, target in ipairs(targets) do
          ref = target.ref:gsub('#%d+$', '')
        end
        if not ref then
          return util.notify('this file is no memory that is served', vim.log.levels.WARN)
        end
        actions.pin({ ref = ref }, not args.bang)
      end)
    end,
  },
  plans = {
    about = 'review the changes that wait',
    run = review,
  },
  review = {
    about = 'review the changes that wait, or the plan of that id',
    run = review,
  },
  extract = {
    about = 'find what is worth remembering in this buffer or range',
    range = true,
    run = function(args)
      local range = args.range or { 1, vim.api.nvim_buf_line_count(args.buf) }
      local text = table.concat(vim.api.nvim_buf_get_lines(args.buf, range[1] - 1, range[2], false), '\n')
      background(
        'extract',
        { session = require('memls.recall').session(args.buf), transcript = { text = text }, trigger = 'manual' }
      )
    end,
  },
  dream = {
    about = 'tidy the memories of a scope; with ! even if it was done lately',
    words = { 'project', 'user', 'team' },
    run = function(args)
      background('dream', { scope = args.text ~= '' and args.text or 'project', force = args.bang })
    end,
  },
  undo = {
    about = 'take back the last change, or the one of that id; with ! without a question',
    run = function(args)
      request('operations', { limit = args.text == '' and 20 or 1000 }, function(result)
        for _, operation in ipairs(result.operations) do
          if (args.text == '' and operation.undoUntil) or operation.id == args.text then
            if not operation.undoUntil then
              return util.notify('that cannot be undone any more: ' .. summary(operation), vim.log.levels.WARN)
            end
            return (args.bang and undo or confirm_undo)(operation)
          end
        end
        util.notify('there is nothing to undo' .. (args.text ~= '' and ' under ' .. util.clean(args.text) or ''))
      end)
    end,
  },
  log = {
    about = 'what was changed lately, to take back what you choose',
    run = function()
      request('operations', {}, function(result)
        if #result.operations == 0 then
          return util.notify('nothing was changed yet')
        end
        vim.ui.select(result.operations, {
          prompt = 'Changes, the newest first',
          format_item = function(operation)
            return summary(operation) .. (operation.undoUntil and '' or ' (for good)')
          end,
        }, function(operation)
          if operation and operation.undoUntil then
            confirm_undo(operation)
          elseif operation then
            util.notify('that cannot be undone any more')
          end
        end)
      end)
    end,
  },
  status = {
    about = 'the roots, how many memories, how changes are noticed',
    run = function()
      request('status', {}, function(status)
        require('memls.report').open(status)
      end)
    end,
  },
  trust = {
    about = 'say whether the memories in this workspace may be read; with ! forget what was said',
    run = function(args)
      require('memls.ask_trust').run(args)
    end,
  },
  restart = {
    about = 'end the server and start it anew',
    run = function(args)
      client.restart(args.buf, function(err)
        if err then
          return util.complain(err)
        end
        util.notify('the server runs anew')
      end)
    end,
  },
}

---@return string[]
local function names()
  local list = vim.tbl_keys(M.subcommands)
  table.sort(list)
  return list
end

--- Runs the command.
---@param command table as |nvim_create_user_command()| gives it
function M.run(command)
  local name, text = vim.trim(command.args):match('^(%S*)%s*(.*)$')
  local bang = command.bang
  if name:sub(-1) == '!' then -- it is easily written behind the sub-command
    name, bang = name:sub(1, -2), true
  end
  if name == '' then
    name = 'recall'
  end
  local sub = M.subcommands[name]
  if not sub then
    return util.notify(
      ('there is no :Memls %s; there are: %s'):format(util.clean(name), table.concat(names(), ', ')),
      vim.log.levels.ERROR
    )
  end
  if command.range > 0 and not sub.range then
    return util.notify((':Memls %s takes no range'):format(name), vim.log.levels.ERROR)
  end
  sub.run({
    text = text,
    bang = bang,
    range = command.range > 0 and { command.line1, command.line2 } or nil,
    buf = vim.api.nvim_get_current_buf(),
  })
end

---@param lead string
---@param line string the command line up to the cursor or beyond
---@return string[]
function M.complete(lead, line)
  local before = line:match('Memls!?%s+(.*)$') or ''
  local name = before:match('^([%w_]+)!?%s')
  local candidates = names()
  if name then
    candidates = M.subcommands[name] and M.subcommands[name].words or {}
  end
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, candidates)
end

return M
