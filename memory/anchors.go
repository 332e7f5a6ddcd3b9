package memory

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AnchorKind is what an anchor names.
type AnchorKind string

// The kinds of anchors.
const (
	AnchorPath       AnchorKind = "path"       // a file or folder, perhaps with a line
	AnchorIdentifier AnchorKind = "identifier" // a name in a program
)

// Anchor is a place of a workspace that a memory names. That it looks like one is
// all that is known: see [Workspace].
type Anchor struct {
	Kind AnchorKind
	Span Span // in Document.Text, without marks of Markdown
	// Name is the path, slash-separated and without its line, or the identifier:
	// of a qualified one its last part.
	Name string
	Line int // 0 when none is named
}

// Bounds of anchors.
const (
	maxAnchors     = 200
	maxAnchorBytes = 260
	minIdentifier  = 4
)

// Anchors are the anchors of a body in order, at most 200 of them: the paths that
// stand in code font, those that Markdown links lead to, what is written as
// path:line anywhere, and the identifiers in code font that stand directly beside
// one of these. Text in code blocks is an example and names nothing.
//
// What is likely something else is left out: globs and placeholders, commands,
// addresses, names of products, variables of the environment.
//
// They are found once for a document: the list is not to be changed.
func Anchors(d *Document) []Anchor { return d.found.anchors(d) }

func findAnchors(d *Document) []Anchor {
	if !strings.ContainsAny(d.BodyText(), "`[:") {
		return nil
	}
	b := scanBlocks(d, true)
	in := inlineScanner{text: b.text, wantCodes: true}
	for i, run := range b.runs {
		b.runs[i] = in.define(run)
	}
	for _, run := range b.runs {
		in.scan(run)
	}
	var out []Anchor
	var identifiers []Anchor
	for _, span := range in.codes {
		if len(out)+len(identifiers) == maxAnchors {
			break
		}
		switch a, ok := readAnchor(b.text, span, d); {
		case !ok:
		case a.Kind == AnchorIdentifier:
			identifiers = append(identifiers, a)
		default:
			out = append(out, a)
		}
	}
	for _, l := range in.out {
		if a, ok := linkAnchor(l); ok {
			out = append(out, a)
		}
	}
	out = append(out, bareAnchors(b.text, b.runs, in)...)
	slices.SortFunc(out, func(a, b Anchor) int { return a.Span.Start - b.Span.Start })
	out = append(out, placedAnchors(b.text, identifiers, out)...)
	slices.SortFunc(out, func(a, b Anchor) int { return a.Span.Start - b.Span.Start })
	return out[:min(len(out), maxAnchors)]
}

// maxPlacing bounds what may stand between an identifier and the path of the file
// that it is said to be in: "in", "of the", a bracket.
const maxPlacing = 16

// placed are the identifiers that stand directly beside a path, as in "refresh in
// src/auth.go": those of libraries, of systems and of examples do not. A sentence
// that says what is not, or is no longer, names what need not be there.
func placedAnchors(text string, identifiers, paths []Anchor) (out []Anchor) {
	for _, id := range identifiers {
		i, _ := slices.BinarySearchFunc(paths, id.Span.Start, func(p Anchor, at int) int { return p.Span.Start - at })
		beside := i < len(paths) && joined(text[id.Span.End:paths[i].Span.Start]) ||
			i > 0 && paths[i-1].Span.End <= id.Span.Start && joined(text[paths[i-1].Span.End:id.Span.Start])
		if beside && !denying.MatchString(codeSpan.ReplaceAllString(clauseAround(text, id.Span), "")) {
			out = append(out, id)
		}
	}
	return out
}

// joined tells whether what stands between two code spans ties them together.
func joined(between string) bool {
	words, ok := strings.CutPrefix(between, "`")
	if len(between) > maxPlacing || !ok && !strings.HasPrefix(between, " ") {
		return false
	}
	words = strings.TrimRight(words, "`[ ")
	return !strings.ContainsAny(words, "`.,;!?|\r\n。，；、")
}

// clauseAround is what a line says around a place, between the marks that end a
// sentence.
func clauseAround(text string, at Span) string {
	from := max(0, at.Start-maxClause)
	start, end := from, min(len(text), at.End+maxClause)
	for _, part := range sentencesEnd.FindAllStringIndex(text[from:at.Start], -1) {
		start = from + part[1]
	}
	if part := sentencesEnd.FindStringIndex(text[at.End:end]); part != nil {
		end = at.End + part[0]
	}
	return text[start:end]
}

// maxClause bounds how far the words of a sentence are looked at on each side.
const maxClause = 200

var codeSpan = regexp.MustCompile("`[^`]*`?")

var sentencesEnd = regexp.MustCompile(`[\r\n;!?。；！？]|\. `)

// denying are words of a sentence that says what is not, or was.
var denying = regexp.MustCompile(`(?i)\b(?:not?|never|without|don'?t|doesn'?t|isn'?t|aren'?t|avoid\w*|instead|remov\w*|delet\w*|drop(?:s|ped)?|replac\w*|renam\w*|moved|former\w*|used to|was|were|deprecated|obsolete|gone|old)\b`)

// LeadsToMemory tells whether an anchor of d names another memory of its root.
func LeadsToMemory(s *Snapshot, d *Document, a Anchor) bool {
	if a.Kind != AnchorPath {
		return false
	}
	_, ok := Resolve(s, d, a.Name)
	return ok
}

// readAnchor reads what stands in a code span.
func readAnchor(text string, span Span, d *Document) (Anchor, bool) {
	s := text[span.Start:span.End]
	lead := len(s) - len(strings.TrimLeft(s, " "))
	s = strings.Trim(s, " ")
	span = Span{span.Start + lead, span.Start + lead + len(s)}
	if s == "" || len(s) > maxAnchorBytes {
		return Anchor{}, false
	}
	if name, line, ok := readPath(s); ok {
		return Anchor{Kind: AnchorPath, Span: span, Name: name, Line: line}, true
	}
	// What a person prefers and where things are elsewhere is rarely said in the
	// words of this workspace's programs.
	if d.Type == TypeUser || d.Type == TypeReference {
		return Anchor{}, false
	}
	if name, ok := readIdentifier(s); ok {
		return Anchor{Kind: AnchorIdentifier, Span: span, Name: name}, true
	}
	return Anchor{}, false
}

// linkAnchor reads the target of a Markdown link that leads to no memory.
func linkAnchor(l Link) (Anchor, bool) {
	if l.Kind != LinkMarkdown || strings.EqualFold(path.Ext(l.Target), ".md") {
		return Anchor{}, false
	}
	name, line, ok := readPath(l.Target)
	if !ok || !strings.Contains(name, "/") {
		return Anchor{}, false
	}
	if n, ok := strings.CutPrefix(l.Heading, "L"); ok && line == 0 {
		line = atLine(n)
	}
	return Anchor{Kind: AnchorPath, Span: l.TargetSpan, Name: name, Line: line}, true
}

// bareAnchors are what is written as path:line outside of code and links.
func bareAnchors(text string, runs []Span, in inlineScanner) (out []Anchor) {
	taken := slices.Clone(in.codes)
	for _, l := range in.out {
		taken = append(taken, l.Span)
	}
	slices.SortFunc(taken, func(a, b Span) int { return a.Start - b.Start })
	for _, run := range runs {
		for at := run.Start; at < run.End && len(out) < maxAnchors; {
			n := strings.IndexByte(text[at:run.End], ':')
			if n < 0 {
				break
			}
			span := bareSpan(text, run, at+n)
			at = max(at+n+1, span.End)
			if span.Len() == 0 {
				continue
			}
			i, _ := slices.BinarySearchFunc(taken, span.Start, func(t Span, at int) int { return t.End - at })
			if i < len(taken) && taken[i].Start < span.End {
				continue
			}
			if name, line, ok := readPath(text[span.Start:span.End]); ok {
				out = append(out, Anchor{Kind: AnchorPath, Span: span, Name: name, Line: line})
			}
		}
	}
	return out
}

// bareSpan is the path:line around a colon, or nothing: a path has a slash inside
// and is no end of something longer.
func bareSpan(text string, run Span, colon int) Span {
	end := colon + 1
	for end < run.End && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	start := colon
	for start > run.Start && colon-start < maxAnchorBytes {
		r, size := utf8.DecodeLastRuneInString(text[run.Start:start])
		if r != '/' && !pathRune(r) || strings.ContainsRune("()[]", r) {
			if strings.ContainsRune(`:\~$`, r) {
				return Span{}
			}
			break
		}
		start -= size
	}
	name := text[start:colon]
	if end == colon+1 || !strings.Contains(strings.Trim(name, "/"), "/") || strings.HasPrefix(name, "/") {
		return Span{}
	}
	return Span{start, end}
}

var (
	pathLine  = regexp.MustCompile(`^(.+?)(?::(\d{1,7})(?:[:-]\d{1,7})*|#L(\d{1,7})(?:-L?\d{1,7})?)$`)
	productJS = regexp.MustCompile(`^[A-Z][A-Za-z]*\.(?:js|io|ts|net|NET)$`)
)

// pathRune tells whether a character stands in names of files that people write
// without quotes.
func pathRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9' || r > 0 && strings.IndexByte("_.@+()[]-", byte(r)) >= 0
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)
}

// extension is the extension of a name that has one and a stem.
func extension(name string) string {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || len(name)-i < 2 || len(name)-i > 9 {
		return ""
	}
	for j, c := range []byte(name[i+1:]) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (j == 0 || c < '0' || c > '9') {
			return ""
		}
	}
	return name[i:]
}

// readPath reads a path, relative to a workspace or absolute, and its line.
func readPath(s string) (name string, line int, ok bool) {
	if strings.ContainsAny(s, ":#") {
		if m := pathLine.FindStringSubmatch(s); m != nil {
			s, line = m[1], atLine(m[2]+m[3])
		}
	}
	s = strings.TrimPrefix(s, "./")
	dir := strings.HasSuffix(s, "/")
	s = strings.TrimSuffix(s, "/")
	absolute := strings.HasPrefix(s, "/")
	segments := strings.Split(strings.TrimPrefix(s, "/"), "/")
	for _, seg := range segments {
		if seg == "." || seg == ".." || seg == "" || seg[0] == '-' || strings.ContainsFunc(seg, func(r rune) bool { return !pathRune(r) }) {
			return "", 0, false
		}
	}
	last := segments[len(segments)-1]
	ext := extension(last)
	switch {
	case strings.HasPrefix(s, "@"), strings.Contains(s, "..."):
		return "", 0, false
	case len(segments) == 1 && !absolute:
		// A lone name is a file only when it can be nothing else.
		if dir || !fileExtensions[strings.ToLower(ext)] || productJS.MatchString(last) {
			return "", 0, false
		}
	case strings.Contains(segments[0], ".") && !strings.HasPrefix(segments[0], ".") && !absolute:
		return "", 0, false // a host: github.com/user/repository
	case strings.ContainsAny(s, "()") && ext == "":
		return "", 0, false // a call
	}
	return s, line, true
}

func atLine(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// fileExtensions are those by which a name without a folder is taken for a file.
var fileExtensions = nameSet(`.go .rs .py .rb .ts .tsx .js .jsx .mjs .cjs .java .kt .kts .scala .c .h .cc .cpp .hpp
		.cs .fs .swift .m .mm .php .pl .lua .ex .exs .erl .hs .ml .clj .dart .zig .nim .jl .r .sh .bash .zsh .ps1 .sql
		.proto .graphql .vue .svelte .css .scss .less .html .tf .gradle .cmake .yaml .yml .toml .json .xml .ini .cfg`)

// configExtensions are those of files that programs of every language have beside
// them.
var configExtensions = nameSet(`.sql .proto .graphql .css .scss .less .html .tf .gradle .cmake .yaml .yml .toml .json .xml .ini .cfg .sh .ps1`)

var (
	qualified = regexp.MustCompile(`^[\p{L}_$][\p{L}\p{N}_$]*(?:(?:\.|::|->|#)[\p{L}_$][\p{L}\p{N}_$]*)*$`)
	callTail  = regexp.MustCompile(`\([^()]*\)$`)
	lastName  = regexp.MustCompile(`[\p{L}\p{N}_$]+$`)
)

// readIdentifier reads an identifier, a qualified one or a call. A plain word is
// none, since it may be any word, unless it is called.
func readIdentifier(s string) (name string, ok bool) {
	plain, called := s, strings.HasSuffix(s, ")")
	if called {
		plain = callTail.ReplaceAllString(s, "")
	}
	if strings.ContainsAny(plain, " \t/=") || !qualified.MatchString(plain) {
		return "", false
	}
	name = lastName.FindString(plain)
	if utf8.RuneCountInString(name) < minIdentifier || productNames[strings.ToLower(name)] {
		return "", false
	}
	if !called && !composed(name) || foreignWord(name) {
		return "", false
	}
	return name, true
}

// composed tells whether a name is written as programs write names of several
// words: with an underscore inside, or with capitals inside.
func composed(name string) bool {
	if strings.Contains(strings.Trim(name, "_"), "_") {
		return true
	}
	lower, inner := false, false
	for i, r := range name {
		switch {
		case unicode.IsLower(r):
			lower = true
		case unicode.IsUpper(r) && i > 0:
			inner = true
		}
	}
	return lower && inner
}

// foreignWord tells whether a name is most likely none of this workspace's programs:
// what has capitals only is as often a variable of the environment, a flag of a
// system or a keyword, and digits in a name of several words make one of a machine,
// a cipher or a collation.
func foreignWord(name string) bool {
	if name == strings.ToUpper(name) || locale.MatchString(name) {
		return true
	}
	return strings.Contains(strings.Trim(name, "_"), "_") && strings.ContainsAny(name, "0123456789")
}

var locale = regexp.MustCompile(`^[a-z]{2,3}_[A-Z]{2}$`)

// productNames are names of products that are written as identifiers are.
var productNames = nameSet(`github gitlab javascript typescript postgresql mysql sqlite mongodb nodejs macos ios ipados
		graphql oauth oauth2 openapi openssl youtube linkedin whatsapp webassembly websocket websockets openai chatgpt devops
		jetbrains intellij pycharm vscode neovim kubernetes dynamodb cloudfront elasticsearch opensearch clickhouse rabbitmq
		terraform bigquery powershell wordpress paypal dropbox onedrive sharepoint latex bibtex todowrite webfetch websearch
	camelcase pascalcase snake_case kebab_case screaming_snake_case askuserquestion exitplanmode notebookedit multiedit todoread`)
