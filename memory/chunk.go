package memory

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// chunkTokens is how much of a conversation a model is shown at once. Extraction
	// gets worse with length, small local models hold 8,000 tokens, and the memories,
	// the instructions and the answer want room, too.
	chunkTokens = 4000
	// contextMessages are shown before a chunk, since an answer may be "yes".
	contextMessages = 2
	// How much of one message is shown, in bytes: people say what counts in few
	// words, programs print much.
	maxSaidUser, maxSaidAssistant, maxSaidTool = 12_000, 3_000, 600
)

// chunk is a stretch of a conversation that a model is shown at once.
type chunk struct {
	context  []Message // messages before it, already gone through
	messages []Message
	first    int // offset of messages[0] in the slice
}

// chunks cuts what is to be gone through.
func (x *extraction) chunks() []*chunk {
	count := x.tools.Tokens
	if count == nil {
		count = func(s string) int { return len(s)/3 + 1 }
	}
	var all []*chunk
	var now *chunk
	used := 0
	for i := range x.todo.messages {
		m := &x.todo.messages[i]
		text, _ := shownText(m)
		n := count(text)
		if now == nil || used+n > chunkTokens && used > 0 {
			now, used = &chunk{first: i}, 0
			now.context = x.before(i)
			all = append(all, now)
		}
		used += n
		now.messages = x.todo.messages[now.first : i+1]
	}
	return all
}

// before are the messages right before one, as far as they are known.
func (x *extraction) before(i int) []Message {
	if i == 0 && x.todo.before != nil {
		return []Message{*x.todo.before}
	}
	return x.todo.messages[max(0, i-contextMessages):i]
}

// all are the messages that evidence may name.
func (c *chunk) all() []Message {
	return append(c.context[:len(c.context):len(c.context)], c.messages...)
}

// shown are the messages as a model sees them: e1, e2, …, without what memls and
// programs put in, and without credentials.
func (c *chunk) shown() []Message {
	all := c.all()
	out := make([]Message, 0, len(all))
	for i := range all {
		text, _ := shownText(&all[i])
		if text == "" {
			continue
		}
		out = append(out, Message{ID: "e" + strconv.Itoa(i+1), Role: all[i].Role, Text: text})
	}
	return out
}

// shownText is what a model sees of a message; whole says that nothing was cut.
func shownText(m *Message) (text string, whole bool) {
	most := 0
	switch m.Role {
	case RoleUser:
		most = maxSaidUser
	case RoleAssistant:
		most = maxSaidAssistant
	case RoleTool:
		most = maxSaidTool
	}
	text = m.said()
	if most == 0 || text == "" {
		return "", true
	}
	text = withoutSecrets(text)
	if len(text) <= most {
		return text, true
	}
	head := strings.ToValidUTF8(text[:most*2/3], "")
	return head + "\n[…]\n" + strings.ToValidUTF8(text[len(text)-most/3:], ""), false
}

// withoutSecrets hides credentials from a model.
func withoutSecrets(text string) string {
	found := FindSecrets(text)
	for i := len(found) - 1; i >= 0; i-- {
		s := found[i]
		text = text[:s.Span.Start] + "[" + s.Rule + "]" + text[s.Span.End:]
	}
	return text
}

// candidate resolves what a patch names; the row says why it cannot be.
func (c *chunk) candidate(i int, p *Patch, known []KnownMemory) (*candidate, *Skipped) {
	cand := &candidate{Patch: *p, label: fmt.Sprintf("patch %d", i+1)}
	all := c.all()
	var ids []string
	for _, id := range p.Evidence {
		n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(id), "e"))
		if err != nil || n < 1 || n > len(all) || !strings.HasPrefix(strings.TrimSpace(id), "e") {
			return nil, cand.drop(DropEvidence, "it names a message that there is not")
		}
		cand.evidence = append(cand.evidence, &all[n-1])
		ids = append(ids, all[n-1].ID)
	}
	if len(ids) == 0 {
		return nil, cand.drop(DropEvidence, "it names no message")
	}
	cand.label += " (" + CleanLine(strings.Join(ids, ", ")) + ")"
	switch p.Action {
	case "create":
	case "update":
		for _, k := range known {
			if k.ID == strings.TrimSpace(p.Ref) {
				cand.doc = k.Doc
			}
		}
		if cand.doc == nil {
			return nil, cand.drop(DropRef, "it changes a memory that it was not shown")
		}
	default:
		return nil, cand.drop(DropMalformed, "it neither creates nor updates")
	}
	cand.clean()
	return cand, nil
}

// weakLeads begin what is to be remembered only where somebody has asked for just
// that: in a conversation they are a manner of speaking.
var weakLeads = phraseRuns(`note that|please note that|keep in mind that|keep in mind|bear in mind that|save that|make a note that
retiens|note que|garde en mémoire que|ten en cuenta que|anota que|apunta que|anote que|tieni presente che|annota che|noteer dat|учти, что|запиши, что|запиши, що|ingat|hatırla|记下|メモして`)

// cued are the things that people asked to be remembered, in so many words.
func (c *chunk) cued() []*candidate {
	var found []*candidate
	for i := range c.messages {
		m := &c.messages[i]
		if m.Role != RoleUser {
			continue
		}
		for _, text := range asked(stated(m.said())) {
			cand := &candidate{
				Patch: Patch{Action: "create", Body: text, Confidence: 1}, explicit: true, evidence: []*Message{m},
				label: "asked to be remembered (" + CleanLine(m.ID) + ")",
			}
			cand.clean()
			found = append(found, cand)
		}
	}
	return found
}

// asked are the parts of a message that somebody asks to be remembered: a
// paragraph from where "remember that" stands at the beginning of a sentence, or
// one that ends in it.
func asked(text string) []string {
	var found []string
	for _, paragraph := range strings.Split(text, "\n\n") {
		paragraph = strings.TrimSpace(paragraph)
		for rest := paragraph; rest != ""; {
			lead := leadPattern().FindString(rest)
			if lead != "" && len(lead) < len(rest) && leadEnds(rest, len(lead)) && !weakLeads.in(words(lead)) {
				if what := strings.TrimSpace(rest[len(lead):]); !infinitive(what) {
					found = append(found, what)
				}
				break
			}
			next := sentenceEnd(rest)
			if next >= len(rest) {
				if tail := tailPattern().FindString(rest); tail != "" && len(tail) < len(rest) {
					found = append(found, strings.TrimSpace(rest[:len(rest)-len(tail)]))
				}
				break
			}
			rest = strings.TrimSpace(rest[next:])
		}
	}
	return found
}

// infinitive tells whether what follows "remember" is something to do, and no
// fact: "remember to run the tests".
func infinitive(what string) bool {
	ws := words(what)
	return len(ws) > 0 && (ws[0] == "to" || ws[0] == "when" || ws[0] == "how")
}

// sentenceEnd is where the first sentence of a text ends.
func sentenceEnd(text string) int {
	for i, r := range text {
		end := i + len(string(r))
		switch {
		case r == '\n', strings.ContainsRune("。！？｡۔।॥", r):
			return end
		case strings.ContainsRune(".!?؟", r) && (end == len(text) || text[end] == ' ' || text[end] == '\n') && !abbreviated(text[:i]):
			return end
		}
	}
	return len(text)
}
