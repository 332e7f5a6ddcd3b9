---@brief
---
--- https://github.com/memls/memls
---
--- Memories of coding agents: recall, search, and the memory files themselves. `:h memls-lsp` says what the fields are for.
return require('memls.client').base()
