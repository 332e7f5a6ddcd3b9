package lsp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
)

// Frames whose bodies make no sense: each is answered where it can be, with
// its id where one can be read, and the next frame is served.
func TestBrokenBodiesAreAnsweredAndTheConnectionLives(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		id         string // of the answer; "" when there must be none
		code       int
	}{
		{"empty body", ``, `null`, -32700},
		{"blank body", ` `, `null`, -32700},
		{"prose", `hello`, `null`, -32700},
		{"cut off", `{"jsonrpc":"2.0","id":7001,"method":"test/get"`, `7001`, -32700},
		{"id after the fault", `{"jsonrpc":"2.0","method":tset,"id":7002}`, `null`, -32700},
		{"id before the fault", `{"id":"s-1","jsonrpc":"2.0","method":tset}`, `"s-1"`, -32700},
		{"fault inside params", `{"jsonrpc":"2.0","id":7003,"method":"test/get","params":{"a":1,,}}`, `7003`, -32700},
		{"two values", `{"jsonrpc":"2.0","id":7004,"method":"test/get"}{}`, `7004`, -32700},
		{"NUL bytes", "\x00\x00\x00\x00", `null`, -32700},
		{"NUL in a string", "{\"jsonrpc\":\"2.0\",\"id\":7005,\"method\":\"test/\x00get\"}", `7005`, -32700},
		{"NUL behind", "{\"jsonrpc\":\"2.0\",\"id\":7006,\"method\":\"test/get\"}\x00", `7006`, -32700},
		{"too deep", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), `null`, -32700},
		{"deep params", `{"id":7007,"jsonrpc":"2.0","method":"test/get","params":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, `7007`, -32700},
		{"an array", `[{"jsonrpc":"2.0","id":7008,"method":"test/get"}]`, `null`, -32600},
		{"an empty array", `[]`, `null`, -32600},
		{"a number", `1`, `null`, -32600},
		{"a string", `"x"`, `null`, -32600},
		{"null", `null`, `null`, -32600},
		{"not JSON-RPC", `{"foo":1}`, `null`, -32600},
		{"no version", `{"id":7009,"method":"test/get"}`, `7009`, -32600},
		{"wrong version", `{"jsonrpc":"1.0","id":7010,"method":"test/get"}`, `7010`, -32600},
		{"version as a number", `{"jsonrpc":2.0,"id":7011,"method":"test/get"}`, `7011`, -32600},
		{"method is a number", `{"jsonrpc":"2.0","id":7012,"method":5}`, `7012`, -32600},
		{"id is a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"test/get"}`, `null`, -32600},
		{"id is an object", `{"jsonrpc":"2.0","id":{},"method":"test/get"}`, `null`, -32600},
		{"id is a boolean", `{"jsonrpc":"2.0","id":true,"method":"test/get"}`, `null`, -32600},
		{"id is too large", `{"jsonrpc":"2.0","id":99999999999999999999,"method":"test/get"}`, `null`, -32600},
		{"request and answer", `{"jsonrpc":"2.0","id":7013,"method":"test/get","result":1}`, `7013`, -32600},
		{"answer with both", `{"jsonrpc":"2.0","id":7014,"result":1,"error":{}}`, ``, 0},
		{"answer with a bad error", `{"jsonrpc":"2.0","id":7015,"error":5}`, ``, 0},
		{"answer nobody waits for", `{"jsonrpc":"2.0","id":7016,"result":1}`, ``, 0},
		{"error nobody waits for", `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`, ``, 0},
		{"answer with id null", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`, ``, 0},
		{"malformed answer", `{"jsonrpc":"2.0","id":7017,"result":{,}}`, ``, 0},
		{"a request with id null is a notification", `{"jsonrpc":"2.0","id":null,"method":"test/get"}`, ``, 0},
		{"params is a string", `{"jsonrpc":"2.0","id":7018,"method":"test/get","params":"x"}`, `7018`, -32602},
		{"lone surrogate in the method", `{"jsonrpc":"2.0","id":7019,"method":"test/\ud800"}`, `7019`, -32601},
		{"invalid UTF-8 in the method", "{\"jsonrpc\":\"2.0\",\"id\":7020,\"method\":\"test/\xff\"}", `7020`, -32601},
		{"cancel with id null", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":null}}`, ``, 0},
		{"cancel with a fraction", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1.5}}`, ``, 0},
		{"cancel without params", `{"jsonrpc":"2.0","method":"$/cancelRequest"}`, ``, 0},
		{"cancel with a string", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":"x"}`, ``, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, lsp.Options{})
			from := len(s.client.Log())
			if err := s.client.Frame(tc.body); err != nil {
				t.Fatal(err)
			}
			if tc.id != "" {
				m, err := s.client.Await(t.Context(), from, lsptest.Message.IsAnswer)
				if err != nil {
					t.Fatal(err)
				}
				if string(m.ID) != tc.id || m.Error == nil || m.Error.Code != tc.code {
					t.Errorf("answer id %s %v, want id %s code %d", m.ID, m.Error, tc.id, tc.code)
				}
				from++
			}
			s.alive(t)
			if log := s.client.Log()[from:]; len(log) != 1 {
				t.Errorf("unexpected messages: %+v", log)
			}
		})
	}
}

// Header blocks after which no frame can be found: the connection is closed,
// with what is open answered, and the reason is returned.
func TestBrokenHeadersCloseTheConnection(t *testing.T) {
	for _, tc := range []struct{ name, bytes, problem string }{
		{"no length", "Content-Type: x\r\n\r\n{}", "no Content-Length"},
		{"no colon", "hello\r\n\r\n", "no colon"},
		{"not a number", "Content-Length: ten\r\n\r\n", "Content-Length"},
		{"negative", "Content-Length: -1\r\n\r\n", "Content-Length"},
		{"beyond 64 bits", "Content-Length: 99999999999999999999999\r\n\r\n", "Content-Length"},
		{"an exabyte", "Content-Length: 1000000000000000000\r\n\r\n{}", "announced"},
		{"two lengths", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "Content-Length"},
		{"endless line", strings.Repeat("x", 100_000), "longer than"},
		{"endless block", strings.Repeat("X-Y: z\r\n", 10_000), "longer than"},
		{"NUL bytes", strings.Repeat("\x00", 64) + "\r\n\r\n", "no colon"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, lsp.Options{})
			open := s.begin(t, "test/sleep", nil)
			<-s.entered
			// The write may be cut short: the server closes as soon as it knows.
			_ = s.client.Raw([]byte(tc.bytes))
			code, err := s.wait(t)
			if code != 1 || err == nil || !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("exit code %d, error %v, want one with %q", code, err, tc.problem)
			}
			if m := answer(t, open); m.Error == nil || m.Error.Code != -32800 {
				t.Errorf("the open request got %+v", m)
			}
		})
	}
}

func TestHeaderVariantsAreRead(t *testing.T) {
	s := start(t, lsp.Options{})
	body := `{"jsonrpc":"2.0","id":%d,"method":"test/get"}`
	for i, header := range []string{
		"Content-Length: %d\n\n",
		"content-length:%d\r\n\r\n",
		"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
		"X-Unknown: 1\r\nCONTENT-LENGTH:   %d  \r\n\r\n",
		"\r\nContent-Length: %d\r\n\r\n",
		"Content-Length: %d\r\nContent-Length: %[1]d\r\n\r\n",
	} {
		id := 8000 + i
		frame := fmt.Sprintf(body, id)
		if err := s.client.Raw(fmt.Appendf(nil, header+"%s", len(frame), frame)); err != nil {
			t.Fatal(err)
		}
		m, err := s.client.Await(t.Context(), 0, func(m lsptest.Message) bool { return string(m.ID) == fmt.Sprint(id) })
		if err != nil || m.Error != nil {
			t.Errorf("header %q: %+v %v", header, m, err)
		}
	}
}

// A frame over the bound is answered and skipped.
func TestOversizedFrameIsSkipped(t *testing.T) {
	const size = 64<<20 + 1
	for _, tc := range []struct{ start, id string }{
		{`{"jsonrpc":"2.0","id":9001,"method":"test/length","params":{"text":"`, `9001`},
		{`{"jsonrpc":"2.0","method":"test/length","params":{"text":"`, `null`},
	} {
		s := start(t, lsp.Options{})
		from := len(s.client.Log())
		if err := s.client.Raw(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", size, tc.start)); err != nil {
			t.Fatal(err)
		}
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for left := size - len(tc.start); left > 0; left -= len(piece) {
			if err := s.client.Raw(piece[:min(left, len(piece))]); err != nil {
				t.Fatal(err)
			}
		}
		m, err := s.client.Await(t.Context(), from, lsptest.Message.IsAnswer)
		if err != nil || string(m.ID) != tc.id || m.Error == nil || m.Error.Code != -32600 {
			t.Errorf("answer %+v, %v; want id %s", m, err, tc.id)
		}
		s.alive(t)
	}
}

func TestLargeQueryIsServed(t *testing.T) {
	s := start(t, lsp.Options{})
	var got number
	s.call(t, "test/length", text{strings.Repeat("q", 32<<20)}, &got)
	if got.N != 32<<20 {
		t.Errorf("length %d", got.N)
	}
	s.alive(t)
}

func TestOddStringsAreServed(t *testing.T) {
	s := start(t, lsp.Options{})
	for sent, want := range map[string]string{
		`"\ud800"`:                            "\ufffd",
		`"a\udc00b"`:                          "a\ufffdb",
		`"\u0000"`:                            "\x00",
		"\"\xff\"":                            "\ufffd",
		`"😀\ud83d\ude00"`:                     "😀😀",
		`"` + strings.Repeat(" ", 2000) + `"`: strings.Repeat(" ", 2000),
	} {
		var got text
		if err := s.client.Frame(`{"jsonrpc":"2.0","id":"` + fmt.Sprintf("%x", sent) + `","method":"test/echo","params":{"text":` + sent + `}}`); err != nil {
			t.Fatal(err)
		}
		m, err := s.client.Await(t.Context(), 0, func(m lsptest.Message) bool { return string(m.ID) == fmt.Sprintf(`"%x"`, sent) })
		if err != nil || m.Error != nil {
			t.Fatalf("%q: %+v %v", sent, m, err)
		}
		if err := json.Unmarshal(m.Result, &got); err != nil || got.Text != want {
			t.Errorf("%q came back as %q, %v", sent, got.Text, err)
		}
	}
}

// Whatever comes, the server neither panics nor hangs.
func FuzzWire(f *testing.F) {
	f.Add([]byte(lsptest.Framed(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)))
	f.Add([]byte(lsptest.Framed(`[]`) + lsptest.Framed(`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`)))
	f.Add([]byte("Content-Length: 5\r\n\r\n{\"a\":"))
	f.Add([]byte("Content-Length: 99999999\r\n\r\n{}"))
	f.Fuzz(func(t *testing.T, input []byte) {
		s := serve(t, &halves{in: bytes.NewReader(input)}, lsp.Options{})
		<-s.done
	})
}

// halves reads from a reader and drops what is written.
type halves struct{ in *bytes.Reader }

func (h *halves) Read(b []byte) (int, error)  { return h.in.Read(b) }
func (h *halves) Write(b []byte) (int, error) { return len(b), nil }
func (h *halves) Close() error                { return nil }
