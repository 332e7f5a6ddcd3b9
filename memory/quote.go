package memory

import "strings"

// QuoteValue is a value of a header in double quotes, so that a YAML parser reads
// what the line reader makes of the value as it is written.
func QuoteValue(value string) string { return quoteScalar(unquote(strings.TrimSpace(value))) }

// QuoteItems is a list in brackets, on one line, with quotes around the items that
// need them; ok is false when the value is no such list.
func QuoteItems(value string) (list string, ok bool) {
	items, ok := flowList(strings.TrimSpace(value))
	if !ok || len(items) == 0 || len(items) > maxListItems {
		return "", false
	}
	for i, item := range items {
		items[i] = encodeScalar(item, true, true)
	}
	return "[" + strings.Join(items, ", ") + "]", true
}
