package watcher

import "strings"

// Verdict is the decision about a name.
type Verdict int

const (
	// Ignore: silently not ours.
	Ignore Verdict = iota
	// Keep: ours, as far as the name goes.
	Keep
)

// JudgeName decides by the last element of a path alone. Hidden names (.git,
// .a.md.swp, .#lock) are ignored for files and directories; the temporary and
// backup names of editors only for files, since a directory may well be called
// "4913".
func JudgeName(name string, dir bool) Verdict {
	if hidden(name) || (!dir && temporary(name)) {
		return Ignore
	}
	return Keep
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// hiddenPath says whether any element of a slash-separated path is hidden.
func hiddenPath(rel string) bool {
	return hidden(rel) || strings.Contains(rel, "/.")
}

// temporary knows a.md~ (backups), 4913 (vim's probe for write permission),
// a.swp and a.swo (vim), #a.md# (Emacs), and a.md.tmp, a.tmp.1234, a.md.tmp-x
// (programs that write aside and rename). A letter after ".tmp" makes another
// word: email.tmpl.md is somebody's document.
func temporary(name string) bool {
	switch {
	case strings.HasSuffix(name, "~"), name == "4913":
		return true
	case len(name) > 2 && name[0] == '#' && name[len(name)-1] == '#':
		return true
	case len(name) > 4 && strings.HasPrefix(name[len(name)-4:], ".sw"):
		return true
	}
	for rest := name; ; {
		_, after, found := strings.Cut(rest, ".tmp")
		if !found {
			return false
		}
		if after == "" || !isLetter(after[0]) {
			return true
		}
		rest = after
	}
}

// isLetter counts every byte of a multi-byte character as a letter.
func isLetter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
