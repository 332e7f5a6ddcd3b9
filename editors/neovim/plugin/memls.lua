-- Runs at every start of Neovim: nothing here loads a module.
if vim.g.loaded_memls then
  return
end
vim.g.loaded_memls = true
if vim.fn.has('nvim-0.10') == 0 then
  vim.notify('memls needs Neovim 0.10 or newer; this one is older, so its commands are not there', vim.log.levels.WARN)
  return
end

local function command(args)
  require('memls.commands').run(args)
end

vim.api.nvim_create_user_command('Memls', command, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Memories of coding agents: :Memls {sub}, see :h memls-commands',
  complete = function(lead, line)
    return require('memls.commands').complete(lead, line)
  end,
})

for name, sub in pairs({
  search = 'search',
  recall = 'recall',
  surfaced = 'recall',
  forget = 'forget',
  plans = 'plans',
  undo = 'undo',
  status = 'status',
}) do
  vim.keymap.set('n', '<Plug>(memls-' .. name .. ')', '<Cmd>Memls ' .. sub .. '<CR>', { desc = 'memls: ' .. name })
end
for _, name in ipairs({ 'recall', 'remember', 'forget', 'extract' }) do
  vim.keymap.set('x', '<Plug>(memls-' .. name .. ')', ':Memls ' .. name .. '<CR>', { desc = 'memls: ' .. name })
end

-- Attaching waits until there is a file that could be a memory, so that an editor without one starts nothing.
vim.api.nvim_create_autocmd('FileType', {
  group = vim.api.nvim_create_augroup('memls', {}),
  desc = 'memls: attach to files that may be memories',
  callback = function(event)
    local pattern = vim.g.memls_filetypes or { 'markdown' }
    if vim.g.memls_auto_attach ~= false and vim.tbl_contains(pattern, event.match) then
      require('memls.client').attach(event.buf)
    end
  end,
})
