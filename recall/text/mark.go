package text

import "unicode"

// isMark reports a combining mark: it belongs to the letter before it.
func isMark(r rune) bool { return r >= 0x300 && unicode.Is(unicode.M, r) }
