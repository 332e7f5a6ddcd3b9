--- Highlight groups, each linked to one that every colour scheme has.
local M = {}

local links = {
  MemlsQuery = 'Title',
  MemlsTitle = 'Function',
  MemlsMeta = 'Comment',
  MemlsFast = 'DiagnosticInfo',
  MemlsRefined = 'DiagnosticOk',
  MemlsWhy = 'Special',
  MemlsStale = 'DiagnosticWarn',
  MemlsProblem = 'DiagnosticWarn',
  MemlsRetracted = 'DiagnosticDeprecated',
  MemlsBody = 'NormalFloat',
  MemlsHelp = 'Comment',
  MemlsVirtualText = 'Comment',
  MemlsAccepted = 'DiagnosticOk',
  MemlsRejected = 'DiagnosticDeprecated',
}

function M.set()
  for name, to in pairs(links) do
    vim.api.nvim_set_hl(0, name, { link = to, default = true })
  end
end

return M
