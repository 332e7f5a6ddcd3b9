package memory_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

func TestRefRoundTrip(t *testing.T) {
	tests := []struct {
		ref  memory.Ref
		want string
	}{
		{memory.Ref{Scope: "project", Rel: "a.md", Entry: memory.NoEntry}, "project:a.md"},
		{memory.Ref{Scope: "user", RootID: "0a1b2c3d", Rel: "feedback/x y.md", Entry: 3}, "user@0a1b2c3d:feedback/x%20y.md#3"},
		{memory.Ref{Scope: "team", Rel: "größe/メモ.md", Entry: 0}, "team:gr%C3%B6%C3%9Fe/%E3%83%A1%E3%83%A2.md#0"},
		{memory.Ref{Scope: "project", Rel: "100%#1?.md", Entry: memory.NoEntry}, "project:100%25%231%3F.md"},
		{memory.Ref{Scope: "project", Rel: "raw\xff.md", Entry: memory.NoEntry}, "project:raw%FF.md"},
		{memory.Ref{Scope: "project", Rel: "...md", Entry: memory.NoEntry}, "project:...md"},
	}
	for _, tt := range tests {
		if got := tt.ref.String(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.ref, got, tt.want)
		}
		got, err := memory.ParseRef(tt.want)
		if err != nil || got != tt.ref {
			t.Errorf("%q: %+v, %v", tt.want, got, err)
		}
	}
	r, err := memory.ParseRef("user@0a1b2c3d:a.md#12")
	if err != nil || r.File() != "user@0a1b2c3d:a.md" || r.Prefix() != "user@0a1b2c3d" {
		t.Errorf("%+v, %v", r, err)
	}
}

// The shapes by which names have led out of a directory, and all that has more
// than one spelling.
func TestSEC_02_RefsThatLeadElsewhere(t *testing.T) {
	for _, path := range []string{
		"../escape", "/etc/cron.d/x", `..\x`, "..%5Cx", "%2e%2e/x", "%2E%2E/x", "a/./../../b", "a/..", "..", ".", "", "a//b", "a/", "/",
		"C:x", "C:/x", "a%00b", "a\x00b", "%2Fetc", "a%2Fb", "a%5Cb", strings.Repeat("n", 300), strings.Repeat("a/", 3000) + "b",
		"a%", "a%2", "a%zz", "a%c3%b6", "a%41", "a b", "ö", "a#", "a#x", "a#-1", "a#01", "a#1#2", "a#99999999999999999999", "a?b", "~%00",
	} {
		for _, prefix := range []string{"project:", "user@0a1b2c3d:"} {
			if r, err := memory.ParseRef(prefix + path); !errors.Is(err, memory.ErrRef) {
				t.Errorf("%q: %+v, %v", prefix+path, r, err)
			}
		}
	}
	for _, ref := range []string{"", "a.md", ":a.md", "Project:a.md", "other:a.md", "project@:a.md", "project@123:a.md", "project@0A1B2C3D:a.md", "project@0a1b2c3d4:a.md", "file:///etc/passwd"} {
		if r, err := memory.ParseRef(ref); !errors.Is(err, memory.ErrRef) {
			t.Errorf("%q: %+v, %v", ref, r, err)
		}
	}
}

func FuzzRef(f *testing.F) {
	for _, s := range []string{"project:a.md", "user@0a1b2c3d:x%20y.md#3", "team:%2E%2E/x", "project:a%5Cb", "project:%FF", "a/../b", "x\x00y", `a\b`} {
		f.Add(s, "a/b c.md", 1)
	}
	f.Fuzz(func(t *testing.T, s, rel string, entry int) {
		if r, err := memory.ParseRef(s); err == nil {
			if r.String() != s {
				t.Fatalf("%q has a second name %q", s, r.String())
			}
			if err := memory.CheckRel(r.Rel); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
		}
		if memory.CheckRel(rel) != nil || entry > 9_999_999 {
			return
		}
		want := memory.Ref{Scope: memory.ScopeTeam, RootID: "00ff00ff", Rel: rel, Entry: max(entry, memory.NoEntry)}
		got, err := memory.ParseRef(want.String())
		if err != nil || got != want {
			t.Fatalf("%q: %+v, %v", want.String(), got, err)
		}
	})
}
