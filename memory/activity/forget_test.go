package activity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/memory/activity"
)

// What was purged is named nowhere in the log; all else stays, and whoever
// follows the log goes on where they were.
func TestForgottenNamesLeaveTheLog(t *testing.T) {
	s := activity.Open(t.TempDir())
	add := func(refs ...string) {
		t.Helper()
		if err := s.Append(t.Context(), root, activity.Record{At: time.Now(), Host: "h", Phase: "fast", Refs: refs}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Forget(t.Context(), root, []string{"project:x.md"}); err != nil {
		t.Fatalf("without a log: %v", err)
	}
	// Enough that the log turns over once.
	for i := 0; i < 2*activity.LogBytes/120; i++ {
		add("project:dugong.md", "project:kept.md")
	}
	tail, err := s.Tail(root)
	if err != nil {
		t.Fatal(err)
	}
	add("project:dugong.md#2", "project:dugong.md.md")
	if err := s.Forget(t.Context(), root, []string{"project:dugong.md"}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(s.Dir(root), "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.ReplaceAll(string(raw), "dugong.md.md", ""); strings.Contains(text, "dugong") {
			t.Errorf("%s still names it", file)
		}
	}
	records, err := tail.Next()
	if err != nil || len(records) != 1 || len(records[0].Refs) != 1 || records[0].Refs[0] != "project:dugong.md.md" {
		t.Errorf("followed: %+v, %v", records, err)
	}
	if err := s.Forget(t.Context(), "../x", nil); err == nil {
		t.Error("a root id that is a path is taken")
	}
}
