module github.com/memls/memls/docs/hosts/pane

go 1.26.0

require go.lsp.dev/jsonrpc2 v1.0.1

require github.com/go-json-experiment/json v0.0.0-20260601182631-00ed12fed2a6 // indirect
