package lsp_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
)

// bench is a client that allocates next to nothing, so that what a benchmark
// counts is the server's.
type bench struct {
	*served
	conn  net.Conn
	r     *bufio.Reader
	frame map[string][]byte
}

func startBench(b *testing.B) *bench {
	here, there := net.Pipe()
	c := &bench{served: serve(b, there, lsp.Options{}), conn: here, r: bufio.NewReader(here), frame: map[string][]byte{}}
	b.Cleanup(func() { _ = here.Close() })
	c.round(b, "initialize")
	return c
}

func (c *bench) round(b *testing.B, method string) {
	f := c.frame[method]
	if f == nil {
		f = []byte(lsptest.Framed(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`, method)))
		c.frame[method] = f
	}
	if _, err := c.conn.Write(f); err != nil {
		b.Fatal(err)
	}
	c.read(b)
}

// read reads one frame of the form that the server writes.
func (c *bench) read(b *testing.B) {
	header, err := c.r.ReadSlice('\n')
	if err != nil {
		b.Fatal(err)
	}
	size := 0
	for _, ch := range header[len("Content-Length: "):] {
		if ch >= '0' && ch <= '9' {
			size = size*10 + int(ch-'0')
		}
	}
	if _, err := c.r.Discard(size + len("\r\n")); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkCall(b *testing.B) {
	for _, method := range []string{"test/get", "test/getAsync"} {
		b.Run(method, func(b *testing.B) {
			c := startBench(b)
			b.ReportAllocs()
			for b.Loop() {
				c.round(b, method)
			}
		})
	}
}

func BenchmarkNotify(b *testing.B) {
	c := startBench(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.server.Notify(lsp.NotifyRecallFast, &lsp.RecallResult{Token: "t", Session: "s"}); err != nil {
			b.Fatal(err)
		}
		c.read(b)
	}
}
