# make          builds bin/memls
# make test     everything that proves correctness; what continuous integration runs (.ci/run)
# make clients neovim vscode   tests of the clients in real editors, which they install; not part of make test yet
# make vsix     builds the extension for VS Code, a package for each platform, into editors/vscode/dist/vsix
# make lint     staticcheck and golangci-lint at pinned versions, kept outside the tree
# make bench    benchmarks, figures to read, no verdicts
# make soak     the long forms: MEMLS_SOAK=1 and minutes of fuzzing
# make cover    test coverage by function, and cover.out for `go tool cover -html`
# make fmt      formats the Go files

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The same pins are used by every machine; raise them here and nowhere else.
export STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
export GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
export TARGETS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
export FUZZTIME ?= 5s
export GO

.PHONY: build test gofmt cross lint unit hosts clients neovim vscode vsix fuzz bench soak cover fmt tools clean help

build:
	$(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ ./cmd/memls

test:
	@.ci/test

# The steps of `make test`, in its order.

gofmt:
	@.ci/gofmt

cross:
	@.ci/cross

lint:
	@.ci/lint

unit:
	@.ci/unit

hosts:
	@.ci/hosts

clients:
	@.ci/clients

neovim:
	@.ci/neovim

vscode:
	@.ci/vscode

fuzz:
	@.ci/fuzz

vsix:
	VERSION=$(VERSION) editors/vscode/package

bench:
	$(GO) test -run '^$$' -bench . -benchmem -timeout 2h ./...

soak:
	MEMLS_SOAK=1 .ci/unit -timeout 6h -count 1
	FUZZTIME=5m .ci/fuzz

cover:
	$(GO) test -coverpkg=./... -coverprofile=cover.out ./...
	$(GO) tool cover -func=cover.out

fmt:
	find . -name '*.go' -not -path '*/node_modules/*' -not -path '*/testdata/*' -exec gofmt -w {} +

tools:
	@.ci/tool staticcheck "$$STATICCHECK"
	@.ci/tool golangci-lint "$$GOLANGCI"

clean:
	rm -rf bin dist cover.out editors/vscode/dist

help:
	@sed -n 's/^# make/make/p' Makefile
