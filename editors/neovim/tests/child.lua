-- The configuration of the editors under test: what a person has who installed the plugin and set nothing but the program.
vim.opt.rtp:prepend(vim.env.MEMLS_PLUGIN)
vim.opt.rtp:append(vim.env.MEMLS_NVIM_LIB)
for _, dir in ipairs(vim.split(vim.env.MEMLS_TEST_RTP or '', ':', { trimempty = true })) do
  vim.opt.rtp:append(dir)
end
vim.o.swapfile = false
vim.o.ruler = false
vim.o.laststatus = 0
vim.o.showcmd = false
vim.o.shortmess = vim.o.shortmess .. 'IF'
vim.o.termguicolors = false
vim.g.memls = vim.json.decode(vim.env.MEMLS_TEST_OPTIONS)

_G.notes = {}
vim.notify = function(text, level)
  table.insert(_G.notes, { text = text, level = level })
end
_G.fired = {}
vim.api.nvim_create_autocmd('User', {
  pattern = 'Memls*',
  callback = function(event)
    table.insert(_G.fired, { event = event.match, data = event.data })
  end,
})
vim.cmd('filetype plugin on')
