package eval

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// QwenCodeName is the name of the frozen upstream scorer in reports.
const QwenCodeName = "qwen-code"

// Constants of the recall that qwen-code 0.24.4 ships. They are frozen: this ranker is a yardstick, not something to improve.
const (
	qwenTitle       = 4    // for each query token contained in the title
	qwenDescription = 3    // … in the description
	qwenBody        = 1    // … in the window of the body
	qwenBodyWindow  = 1200 // UTF-16 code units of the trimmed body, before normalisation
	qwenMaxBonus    = 2    // most that words hinting at the document's type may add
	qwenMinWord     = 3    // code points of the shortest token that is not CJK
	qwenTokenEnd    = 32   // distinct tokens kept at either end of a query
)

// qwenTypeWords are the query tokens that hint at a document of that type.
var qwenTypeWords = map[string][]string{
	"user":      {"user", "preference", "preferences", "background", "role", "terse"},
	"feedback":  {"feedback", "rule", "rules", "avoid", "style", "summary"},
	"project":   {"project", "goal", "goals", "incident", "deadline", "release"},
	"reference": {"reference", "dashboard", "ticket", "docs", "doc", "link"},
}

// qwenDoc is a document as the scorer sees it: normalised fields.
type qwenDoc struct {
	id, kind                 string
	title, description, body string
	mtime                    int64 // ms
}

type qwenCode struct{ docs []qwenDoc }

// NewQwenCode builds the frozen re-implementation of the deterministic scorer of qwen-code 0.24.4: substrings of weighted
// fields, no word boundaries, no rarity, no length normalisation. It knows no keywords, status or expiry, as the original does
// not. UpdatedAt takes the place of the file's modification time.
func NewQwenCode(docs []Doc) Ranker {
	q := &qwenCode{docs: make([]qwenDoc, len(docs))}
	for i := range docs {
		d := &docs[i]
		q.docs[i] = qwenDoc{
			id: d.ID, kind: d.Type,
			title:       qwenNormalise(d.Title),
			description: qwenNormalise(d.Description),
			body:        qwenNormalise(cutUTF16(trimJS(d.Body), qwenBodyWindow)),
			mtime:       d.UpdatedAt.UnixMilli(),
		}
	}
	return q
}

// Rank orders by score, then by the newer modification time, then by the order of the pool.
func (q *qwenCode) Rank(query string, k int) []string {
	tokens := qwenTokens(query)
	type hit struct {
		doc   *qwenDoc
		score int
	}
	var hits []hit
	for i := range q.docs {
		if score := q.docs[i].score(tokens); score > 0 {
			hits = append(hits, hit{&q.docs[i], score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.doc.mtime, a.doc.mtime))
	})
	ids := make([]string, min(max(k, 0), len(hits)))
	for i := range ids {
		ids[i] = hits[i].doc.id
	}
	return ids
}

func (d *qwenDoc) score(tokens []string) int {
	lexical, bonus := 0, 0
	for _, token := range tokens {
		if strings.Contains(d.title, token) {
			lexical += qwenTitle
		}
		if strings.Contains(d.description, token) {
			lexical += qwenDescription
		}
		if strings.Contains(d.body, token) {
			lexical += qwenBody
		}
		if slices.Contains(qwenTypeWords[d.kind], token) {
			bonus++
		}
	}
	if lexical == 0 {
		return 0
	}
	return lexical + min(bonus, qwenMaxBonus)
}

// qwenNormalise is NFKC followed by full lower-casing, final sigma and dotted I included (strings.ToLower knows neither).
func qwenNormalise(s string) string {
	return cases.Lower(language.Und).String(norm.NFKC.String(s))
}

// qwenTokens splits a query. A run of CJK characters gives its pairs of neighbours (a lone one gives nothing); any other run
// of letters, marks and digits that begins with a letter or digit gives one token if it is long enough.
func qwenTokens(query string) []string {
	runes := []rune(qwenNormalise(query))
	var list endList
	for i := 0; i < len(runes); {
		start := i
		switch {
		case qwenCJK(runes[i]):
			for i < len(runes) && qwenCJK(runes[i]) {
				i++
			}
			for j := start; j+1 < i; j++ {
				list.add(string(runes[j : j+2]))
			}
		case unicode.In(runes[i], unicode.L, unicode.N):
			for i < len(runes) && !qwenCJK(runes[i]) && unicode.In(runes[i], unicode.L, unicode.M, unicode.N) {
				i++
			}
			if i-start >= qwenMinWord {
				list.add(string(runes[start:i]))
			}
		default:
			i++
		}
	}
	return append(list.head, list.tail...)
}

// endList keeps the distinct tokens of both ends of a query: the first 32, and of the others the 32 that were seen last.
type endList struct{ head, tail []string }

func (l *endList) add(token string) {
	if slices.Contains(l.head, token) {
		return
	}
	if i := slices.Index(l.tail, token); i >= 0 {
		l.tail = append(slices.Delete(l.tail, i, i+1), token)
		return
	}
	if len(l.head) < qwenTokenEnd {
		l.head = append(l.head, token)
		return
	}
	l.tail = append(l.tail, token)
	if len(l.tail) > qwenTokenEnd {
		l.tail = slices.Delete(l.tail, 0, 1)
	}
}

// qwenCJK is the original's character class: the scripts Han, Hiragana and Hangul, and everything whose *script extensions*
// hold Katakana. The last part draws punctuation such as 、 and 。 into CJK runs, a quirk that this copy keeps.
func qwenCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, katakanaExtensions)
}

// katakanaExtensions lists the code points whose script extensions hold Katakana although their script is none of the four
// above; package unicode has no such table.
var katakanaExtensions = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0305, Hi: 0x0305, Stride: 1},
	{Lo: 0x0323, Hi: 0x0323, Stride: 1},
	{Lo: 0x3001, Hi: 0x3003, Stride: 1},
	{Lo: 0x3008, Hi: 0x3011, Stride: 1},
	{Lo: 0x3013, Hi: 0x301F, Stride: 1},
	{Lo: 0x3030, Hi: 0x3035, Stride: 1},
	{Lo: 0x3037, Hi: 0x3037, Stride: 1},
	{Lo: 0x303C, Hi: 0x303D, Stride: 1},
	{Lo: 0x3099, Hi: 0x309C, Stride: 1},
	{Lo: 0x30A0, Hi: 0x30A0, Stride: 1},
	{Lo: 0x30FB, Hi: 0x30FC, Stride: 1},
	{Lo: 0xFE45, Hi: 0xFE46, Stride: 1},
	{Lo: 0xFF61, Hi: 0xFF65, Stride: 1},
	{Lo: 0xFF70, Hi: 0xFF70, Stride: 1},
	{Lo: 0xFF9E, Hi: 0xFF9F, Stride: 1},
}}

// trimJS cuts the blanks that JavaScript's trim cuts: strings.TrimSpace would keep a byte order mark and cut U+0085.
func trimJS(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		switch r {
		case '\t', '\n', '\v', '\f', '\r', '\u2028', '\u2029', '\ufeff':
			return true
		}
		return unicode.Is(unicode.Zs, r)
	})
}

// cutUTF16 keeps the first n UTF-16 code units. A pair that the cut would split is dropped: the half that JavaScript keeps is
// part of no token.
func cutUTF16(s string, n int) string {
	for i, r := range s {
		if r > 0xFFFF {
			n--
		}
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
