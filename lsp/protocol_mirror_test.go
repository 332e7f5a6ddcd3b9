package lsp_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The extension for VS Code has the messages as TypeScript, in one file, by the names of docs/protocol.md. This test holds that
// file to the document: each interface has fields of the table of its name, of the same types, and each message is one. What the
// protocol adds and the extension does not use may be missing there: additions change nothing for a client.

var (
	mirrorInterface = regexp.MustCompile(`(?ms)^export interface (\w+) \{\n(.*?)\n\}`)
	mirrorField     = regexp.MustCompile(`(?m)^  (?:"([\w/]+)"|(\w+))(\?)?: (.+);$`)
	mirrorUnion     = regexp.MustCompile(`(?ms)^export type (\w+) =\s+(.+?);$`)
)

// mirrorTables are the interfaces that list messages, and what the document calls those.
var mirrorTables = map[string]string{"Requests": "request", "Sent": "notification", "Received": "notification from the server", "Asked": "request from the server"}

func TestProtocolMirrorOfTheExtension(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "editors", "vscode", "src", "protocol.ts"))
	if err != nil {
		t.Fatal(err)
	}
	doc := readProtocolDoc(t)
	unions := map[string]bool{}
	for _, m := range mirrorUnion.FindAllStringSubmatch(string(raw), -1) {
		unions[m[1]] = true
	}
	seen := 0
	for _, m := range mirrorInterface.FindAllStringSubmatch(string(raw), -1) {
		name, fields := m[1], mirrorField.FindAllStringSubmatch(m[2], -1)
		switch kind, list := mirrorTables[name]; {
		case list:
			checkMirroredMessages(t, doc, name, kind, fields)
		case doc.tables[name] != nil:
			seen++
			checkMirroredFields(t, name, doc.tables[name], fields, unions)
		default:
			t.Errorf("protocol.ts has %s, of which docs/protocol.md has no table", name)
		}
	}
	if seen < 50 {
		t.Errorf("only %d types were compared", seen)
	}
}

func checkMirroredMessages(t *testing.T, doc *protocolDoc, list, kind string, fields [][]string) {
	t.Helper()
	if len(fields) == 0 {
		t.Errorf("%s of protocol.ts lists nothing", list)
	}
	for _, f := range fields {
		if got, known := doc.messages[f[1]]; !known || !strings.HasPrefix(got, kind) {
			t.Errorf("%s of protocol.ts has %s, which docs/protocol.md calls %q", list, f[1], got)
		}
	}
}

func checkMirroredFields(t *testing.T, name string, want []docField, fields [][]string, unions map[string]bool) {
	t.Helper()
	have := map[string][]string{}
	for _, f := range fields {
		have[f[2]] = f
	}
	for _, w := range want {
		f, ok := have[w.name]
		delete(have, w.name)
		if !ok {
			continue
		}
		if certain := f[3] == ""; certain != w.certain {
			t.Errorf("%s.%s of editors/vscode/src/protocol.ts: certain to be there %v, in docs/protocol.md %v", name, w.name, certain, w.certain)
		}
		if got, wanted := mirroredType(f[4], unions), documentedType(w.typ); got != wanted {
			t.Errorf("%s.%s of editors/vscode/src/protocol.ts is %s, in docs/protocol.md %s", name, w.name, got, wanted)
		}
	}
	for extra := range have {
		t.Errorf("%s of editors/vscode/src/protocol.ts has %s, which docs/protocol.md does not have", name, extra)
	}
}

// mirroredType reduces a type of TypeScript to what the document can say: an enumeration is a string.
func mirroredType(ts string, unions map[string]bool) string {
	base, list := strings.CutSuffix(ts, "[]")
	base = strings.Trim(base, "()")
	if strings.HasPrefix(base, `"`) || strings.Contains(base, "| \"") || unions[base] && base != "Time" {
		base = "string"
	}
	if list {
		return base + "[]"
	}
	return base
}

func documentedType(typ string) string {
	base, list := strings.CutSuffix(strings.ReplaceAll(typ, "`", ""), "[]")
	if ts, ok := map[string]string{"integer": "number", "time": "Time", "object of string": "Record<string, string>"}[base]; ok {
		base = ts
	}
	if list {
		return base + "[]"
	}
	return base
}
