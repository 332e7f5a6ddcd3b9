--- `:checkhealth memls`.
local client = require('memls.client')
local config = require('memls.config')
local trust = require('memls.trust')
local util = require('memls.util')
local M = {}

local health = vim.health

-- How long the check waits for a program that should answer at once.
local patience = 5000

local function check_neovim()
  local version = vim.version()
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok(('Neovim %d.%d.%d'):format(version.major, version.minor, version.patch))
  else
    health.error('memls needs Neovim 0.10 or newer')
  end
  health.info(
    vim.lsp.config and 'the client is configured with vim.lsp.config' or 'the client is started with vim.lsp.start'
  )
end

local function check_options()
  local _, problems = config.get()
  if #problems == 0 then
    return health.ok('the options are valid')
  end
  for _, problem in ipairs(problems) do
    health.warn(problem, 'see :h memls-config')
  end
end

---@return string? version of the program
local function check_program()
  local cmd = config.get().cmd
  if vim.fn.executable(cmd[1]) ~= 1 then
    health.error(('there is no program %s'):format(cmd[1]), {
      'install it: go install github.com/memls/memls/cmd/memls@latest',
      'or name it: vim.g.memls = { cmd = { "/path/to/memls", "serve", "--stdio" } }',
    })
    return
  end
  local ok, process = pcall(vim.system, { cmd[1], 'version' }, { text = true })
  local result = ok and process:wait(patience)
  if not result or result.code ~= 0 then
    health.error(
      ('%s does not say its version'):format(cmd[1]),
      'is it memls? Run it with the argument "version" in a terminal'
    )
    return
  end
  local version = vim.trim(result.stdout):match('[^\n]*')
  health.ok(('%s: %s'):format(vim.fn.exepath(cmd[1]), util.clean(version)))
  return version
end

---@param root table `RootStatus`
local function check_root(root)
  local where = ('%s %s'):format(root.scope, util.clean(vim.fn.fnamemodify(root.path, ':~')))
  local counts = ('%d files on disk, %d in the catalog'):format(root.onDisk, root.catalogued)
  if root.state == 'ready' then
    health.ok(('%s: %s, changes noticed by %s'):format(where, counts, root.watch.mode))
  elseif root.state == 'untrusted' then
    health.warn(where .. ': not read, since the workspace is not trusted', ':Memls trust')
  elseif root.state == 'missing' and root.profile then
    health.info(where .. ': not there yet; the first memory of its scope makes it')
  elseif root.state == 'loading' then
    health.info(where .. ': being read; ' .. counts)
  else
    health.warn(
      ('%s: %s: %s'):format(where, root.state, util.clean(root.reason or 'no reason given')),
      root.state == 'missing' and 'it is watched for and served when it is there' or 'see :Memls status'
    )
  end
  if root.onDisk ~= root.catalogued then
    health.warn(
      ('%s: %s'):format(
        where,
        util.count(root.onDisk - root.catalogued, 'file is', 'files are') .. ' not in the catalog'
      ),
      ':Memls status names each and says why'
    )
  end
  if root.watch.reason and root.state ~= 'missing' then
    health.warn(where .. ': ' .. util.clean(root.watch.reason), {
      'changes are noticed late',
      'on Linux more watches help: sysctl fs.inotify.max_user_watches, fs.inotify.max_user_instances',
    })
  end
end

local function check_inotify()
  for _, name in ipairs({ 'max_user_watches', 'max_user_instances' }) do
    local file = io.open('/proc/sys/fs/inotify/' .. name)
    if file then
      health.info(('fs.inotify.%s is %s'):format(name, vim.trim(file:read('*a'))))
      file:close()
    end
  end
end

---@param model table `ModelStatus`
local function check_model(model)
  if model.state == 'none' then
    health.info('no model is named: memls sends nothing anywhere (options.model names one)')
  elseif model.state == 'failing' then
    health.warn(
      ('the model %s fails: %s'):format(util.clean(model.name), util.clean(model.detail or 'no detail')),
      'recall goes on without it; check the address, the key and the network'
    )
  else
    health.ok(('the model %s is %s'):format(util.clean(model.name), model.state))
  end
end

---@return table?
local function fetch_status()
  local answered, failed, status
  client.request('memory/status', {}, function(err, result)
    answered, failed, status = true, err, result
  end)
  vim.wait(patience, function()
    return answered
  end, 20)
  if failed or not answered then
    health.error(
      'the server does not answer: ' .. (failed and failed.message or ('nothing within %d s'):format(patience / 1000)),
      ':Memls restart; the log below may say why'
    )
    return
  end
  return status
end

---@param version string
local function check_server(version)
  health.start('memls: server')
  local status = fetch_status()
  if not status then
    return
  end
  local running = status.process.version
  if version:find(running, 1, true) then
    health.ok(('the server runs, process %d'):format(status.process.pid))
  else
    health.warn(('the running server is %s, the program is another one'):format(util.clean(running)), ':Memls restart')
  end
  health.start('memls: memories')
  for _, root in ipairs(status.roots) do
    check_root(root)
  end
  if #status.roots == 0 then
    health.warn('no memories are served here', {
      'memls looks in .memory and where agents keep theirs; see docs/discovery.md',
      'or name the folders: vim.g.memls = { options = { roots = { { scope = "project", path = "/path" } } } }',
    })
  end
  for _, place in ipairs(status.discovered) do
    if place.state == 'untrusted' or place.state == 'refused' or place.state == 'off' then
      health.warn(('%s: %s'):format(util.clean(place.path), util.clean(place.reason or place.state)))
    end
  end
  for _, note in ipairs(status.notes) do
    health.warn(util.clean(note))
  end
  check_inotify()
  check_model(status.model)
end

local function check_trust()
  health.start('memls: trust')
  local root = client.root(vim.api.nvim_get_current_buf())
  local choice = root and trust.get(root)
  if not root then
    health.warn('there is no current directory', ':cd to one')
  elseif choice == 'allow' then
    health.ok(util.clean(root) .. ' is trusted: memories in it are read')
  elseif choice == 'deny' then
    health.info(util.clean(root) .. ' is not trusted: memories in it are not read (:Memls trust)')
  else
    health.info(('nothing was said of %s: memories in it are not read (:Memls trust)'):format(util.clean(root)))
  end
  health.info('choices are kept in ' .. trust.file())
  local log = vim.lsp.log
  health.info('the log of the client: ' .. (log.get_filename and log.get_filename() or vim.lsp.get_log_path()))
end

function M.check()
  health.start('memls')
  check_neovim()
  check_options()
  local version = check_program()
  if version then
    check_server(version)
  end
  check_trust()
end

return M
