package memory

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Patch is what a model proposes to remember, as it says it: nothing in it is
// believed before [judge] has looked at it.
type Patch struct {
	Action      string   `json:"action"` // create, update
	Ref         string   `json:"ref"`    // id of a known memory, of an update
	Scope       string   `json:"scope"`
	Type        string   `json:"type"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Keywords    []string `json:"keywords"`
	Body        string   `json:"body"`
	Why         string   `json:"why"`
	HowToApply  string   `json:"howToApply"`
	Evidence    []string `json:"evidence"` // ids of messages
	Confidence  float64  `json:"confidence"`
}

// Bounds of one patch, and of those of one stretch of a conversation. A fact that
// needs more is several, or a document.
const (
	maxPatchBody     = 4000 // bytes
	maxPatchKeywords = 8
	maxPatches       = 32
	// Below minConfidence a patch is dropped, below sureConfidence a person looks at
	// it whatever the policy.
	minConfidence  = 0.3
	sureConfidence = 0.5
	// minGrounded is the part of a patch's words that its evidence must hold; below
	// sureGrounded a person looks at it, too: it is another wording, or a guess.
	minGrounded  = 0.3
	sureGrounded = 0.7
)

// candidate is a patch on its way into the memory.
type candidate struct {
	Patch
	label    string // for people: "patch 2 (m4, m5)"
	evidence []*Message
	doc      *Document // of an update
	explicit bool      // a person said "remember"
	guessed  bool      // its evidence says it in other words, if it does
}

// drop is why a candidate goes no further.
func (c *candidate) drop(reason SkipReason, format string, args ...any) *Skipped {
	return &Skipped{Reason: reason, Detail: c.label + ": " + fmt.Sprintf(format, args...)}
}

// text is everything of a candidate that would be written.
func (c *candidate) text() string {
	return strings.Join(append([]string{c.Name, c.Description, c.Body, c.Why, c.HowToApply}, c.Keywords...), "\n")
}

// clean makes a patch fit to be looked at: bounded, and without what nobody sees.
func (c *candidate) clean() {
	if strings.ContainsAny(c.Name, "\n\r\x00\\") || strings.Contains(c.Name, "..") || strings.HasPrefix(c.Name, "/") || addressed(c.Name) {
		c.Name = "" // it follows from the statement
	}
	c.Name = clipWords(CleanLine(c.Name), maxNameRunes)
	c.Description = clipWords(CleanLine(c.Description), 2*maxNameRunes)
	c.Body = strings.TrimSpace(cleanText(c.Body))
	c.Why, c.HowToApply = CleanLine(c.Why), CleanLine(c.HowToApply)
	c.Type = knownType(CleanLine(c.Type))
	var kept []string
	for _, k := range c.Keywords[:min(len(c.Keywords), maxPatchKeywords)] {
		if k = CleanLine(k); k != "" && utf8.RuneCountInString(k) <= 64 {
			kept = append(kept, k)
		}
	}
	c.Keywords = kept
}

// judge says why a candidate is dropped, nil when it is not. content tells words
// that say something from those that only join them.
func (c *candidate) judge(content func(string) bool) *Skipped {
	if s := c.judgeForm(); s != nil {
		return s
	}
	if rules := SecretRules(FindSecrets(c.text())); len(rules) > 0 {
		return c.drop(DropSecret, "it holds a credential (%s)", strings.Join(rules, ", "))
	}
	if c.explicit {
		return nil
	}
	return c.judgeGrounds(content)
}

// judgeForm judges what a candidate is by itself.
func (c *candidate) judgeForm() *Skipped {
	switch {
	case len(words(c.Body)) == 0 || c.Body == "" || isNoEntries(c.Body):
		return c.drop(DropEmpty, "it says nothing")
	case len(c.Body) > maxPatchBody || len(c.Why) > maxPatchBody || len(c.HowToApply) > maxPatchBody:
		return c.drop(DropMalformed, "it is longer than %d bytes", maxPatchBody)
	case asks(c.Body):
		return c.drop(DropQuestion, "it asks a question")
	case taskLocal(c.Body):
		return c.drop(DropTaskLocal, "it holds for the task or the day only")
	case addressed(c.text()):
		return c.drop(DropInstruction, "it is addressed to a program, or looks like its input")
	}
	return nil
}

// judgeGrounds judges a candidate by what was said.
func (c *candidate) judgeGrounds(content func(string) bool) *Skipped {
	var own, all strings.Builder
	confirmed := false
	for _, m := range c.evidence {
		said := m.said()
		all.WriteString(said + "\n")
		if m.Role != RoleUser {
			continue
		}
		said = stated(said)
		if rejects(said) {
			return c.drop(DropUnconfirmed, "the person says no to it")
		}
		if said != "" && !asks(said) {
			own.WriteString(said + "\n")
		}
		confirmed = confirmed || confirms(said)
	}
	if own.Len() == 0 {
		return c.drop(DropUnconfirmed, "no person states or confirms it in the messages that it names")
	}
	ground := own.String()
	if confirmed {
		ground = all.String()
	}
	tongue := ground
	if c.doc != nil {
		ground += c.doc.Title + "\n" + c.doc.BodyText()
	}
	foreign := func(s string) bool {
		return !sameTongue(s, tongue) && (c.doc == nil || !sameTongue(s, c.doc.BodyText()))
	}
	if foreign(c.Body) {
		return c.drop(DropLanguage, "it is written in another language than what was said")
	}
	part := grounded(c.Body, ground, content)
	if part < minGrounded {
		return c.drop(DropNotStated, "its evidence holds %.0f%% of its words", 100*part)
	}
	c.guessed = part < sureGrounded
	if kind := invented(c.Body, ground); kind != "" {
		return c.drop(DropNotStated, "it holds %s that its evidence has not", kind)
	}
	// What only goes along is left out by itself: a name and a description follow
	// from the statement, too.
	for _, part := range []*string{&c.Name, &c.Description, &c.Why, &c.HowToApply} {
		if foreign(*part) || invented(*part, ground) != "" {
			*part = ""
		}
	}
	if c.Confidence < minConfidence {
		return c.drop(DropUnsure, "the model is not sure of it")
	}
	return nil
}

// asks tells whether all that a text says is a question.
func asks(text string) bool {
	text = strings.TrimRight(text, whitespace+"\"'»”’)*_`")
	last, size := utf8.DecodeLastRuneInString(text)
	if !strings.ContainsRune("?？؟;⸮", last) || last == ';' && !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Greek, r) }) {
		return false
	}
	return !strings.ContainsAny(strings.TrimRight(text[:len(text)-size], " "), ".!。！\n।۔")
}

// localCues say that something holds for a moment only.
var localCues = phraseRuns(`for now|right now|just now|today only|only today|just for today|for today|this session|in this conversation|for this task|current task|this time only|just this once|temporarily|at the moment|currently working on|in progress|next step is|todo
vorerst|im moment|gerade eben|nur heute|für heute|in dieser sitzung|für diese aufgabe|nur dieses mal|vorübergehend
pour l'instant|pour le moment|juste aujourd'hui|dans cette session|pour cette tâche|temporairement
por ahora|por el momento|solo hoy|sólo hoy|en esta sesión|para esta tarea|temporalmente
por enquanto|por agora|só hoje|nesta sessão|para esta tarefa|temporariamente
per ora|per adesso|solo oggi|in questa sessione|temporaneamente
voorlopig|alleen vandaag|deze sessie|tijdelijk
tills vidare|just nu|bara idag|foreløbig|kun i dag
na razie|tylko dzisiaj|w tej sesji|tymczasowo|prozatím|jen dnes|dočasně
şimdilik|sadece bugün|bu oturumda|geçici olarak|toistaiseksi|vain tänään|egyelőre|csak ma
пока что|сейчас временно|только сегодня|на сегодня|в этой сессии|для этой задачи|временно|поки що|лише сьогодні|тимчасово
προς το παρόν|μόνο σήμερα|προσωρινά
في الوقت الحالي|اليوم فقط|مؤقتا|لهذه المهمة|לעת עתה|רק היום|באופן זמני
अभी के लिए|सिर्फ आज|फिलहाल|tạm thời|chỉ hôm nay|untuk saat ini|hanya hari ini|sementara ini|ตอนนี้เท่านั้น|ชั่วคราว|เฉพาะวันนี้
暂时|目前先|仅今天|今天先|这次先|本次会话|本次任务|暫時|今だけ|とりあえず|今日だけ|今回だけ|一時的に|지금은|일단은|오늘만|이번만|임시로`)

func taskLocal(text string) bool { return localCues.in(words(text)) }

// confirmations begin what agrees to something that was said before, rejections
// what does not.
var (
	confirmations = phraseRuns(`yes|yep|yeah|correct|exactly|right|agreed|sounds good|perfect|ok|okay|sure|that's right|confirmed|go with that|do that
ja|genau|richtig|stimmt|einverstanden|passt|oui|exact|d'accord|c'est ça|parfait|sí|exacto|correcto|de acuerdo|vale|perfecto|sim|certo|exato|combinado|sì|esatto|giusto|va bene
klopt|akkoord|precies|japp|precis|stämmer|enig|tak|dokładnie|zgoda|ano|přesně|souhlasím|evet|doğru|aynen|tamam|kyllä|juuri niin|igen|pontosan
да|верно|именно|согласен|согласна|так|точно|згоден|ναι|σωστά|ακριβώς|συμφωνώ|نعم|صحيح|بالضبط|موافق|כן|נכון|בדיוק|हाँ|हां|सही|ठीक है
vâng|đúng|đúng rồi|đồng ý|ya|benar|betul|setuju|ใช่|ถูกต้อง|ตกลง|是的|对|好的|没错|同意|確認|可以|就这样|はい|そうです|その通り|了解|네|맞아요|맞습니다|좋아요|그래`)
	rejections = phraseRuns(`no|nope|wrong|incorrect|not really|that's wrong|don't save|don't remember|do not remember|forget it|never mind
nein|falsch|stimmt nicht|non|faux|pas du tout|incorrecto|falso|não|errado|sbagliato|nee|fout|klopt niet|nej|fel|nei|nie prawda|ne|špatně|hayır|yanlış|ei|väärin
нет|неверно|неправильно|ні|неправда|όχι|λάθος|لا|خطأ|לא נכון|नहीं|गलत|không phải|sai|tidak|bukan|salah|ไม่ใช่|ผิด|不是|不对|错了|違います|いいえ|違う|아니요|아니|틀렸`)
)

// maxReply is how many words a clause has that only agrees.
const maxReply = 6

// confirms tells whether a message begins by agreeing.
func confirms(said string) bool {
	for ws := range clauses(said) {
		return len(ws) <= maxReply && confirmations.begin(ws)
	}
	return false
}

// rejects tells whether a message is a plain no, in each of its clauses: one that
// goes on puts right what was said, and that is a statement.
func rejects(said string) bool {
	some := false
	for ws := range clauses(said) {
		if !rejections.are(ws) {
			return false
		}
		some = true
	}
	return some
}

// clauses are the words between the signs of a text.
func clauses(text string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for c := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(",.;:!?\n，。；：！？、।۔،—–", r) }) {
			if ws := words(c); len(ws) > 0 && !yield(ws) {
				return
			}
		}
	}
}

// runs are phrases as their words.
type runs [][]string

func phraseRuns(list string) runs {
	var all runs
	for p := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == '|' || r == '\n' }) {
		if ws := words(p); len(ws) > 0 {
			all = append(all, ws)
		}
	}
	return all
}

func (r runs) in(ws []string) bool {
	return slices.ContainsFunc(r, func(run []string) bool { return indexRun(ws, run) >= 0 })
}

// are tells whether words are one of the phrases, or begin with one of several words.
func (r runs) are(ws []string) bool {
	return slices.ContainsFunc(r, func(run []string) bool {
		return len(run) <= len(ws) && slices.Equal(ws[:len(run)], run) && (len(run) == len(ws) || len(run) > 1)
	})
}

func (r runs) begin(ws []string) bool {
	return slices.ContainsFunc(r, func(run []string) bool { return len(run) <= len(ws) && slices.Equal(ws[:len(run)], run) })
}

// forPrograms is what nobody tells a colleague: words and marks by which texts try
// to steer a model, call tools, or have something sent somewhere.
var forPrograms = regexp.MustCompile(`(?is)` + strings.Join([]string{
	`(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+|my\s+|these\s+|those\s+)?(?:previous|prior|above|earlier|preceding|system|other)\b`,
	`(?:ignoriere?|vergiss)\s+(?:alle\s+)?(?:vorherigen|bisherigen|obigen)`, `ignore[rz]?\s+(?:toutes\s+|todas\s+)?(?:les|las|as|le)\s+(?:instruc|anteri|précéd)`,
	`(?:игнорируй|забудь)\s+(?:все\s+)?(?:предыдущие|прошлые)`, `忽略.{0,6}(?:之前|以上|先前|前面|所有).{0,4}(?:指令|指示|说明)`, `(?:以前|上記|前)の(?:すべての)?指示を無視`,
	`system\s*prompt`, `developer\s+(?:mode|message)`, `you\s+are\s+now\s+(?:a|an|in|the)\b`, `\bjailbreak`, `new\s+instructions?\s*:`,
	`</?\s*(?:system|assistant|user|tool_call|tool_result|function_call|function_calls|invoke|antml|memls|known|conversation|patch|patches|memory)\b[^>]*>`,
	`<\|[a-z_]+\|>`, `\[/?INST\]`, "```", `~~~`, `"(?:tool_calls?|function_call|patches|operations)"\s*:`,
	`!\[[^\]]*\]\(`, `\bjavascript:`, `\bdata:[a-z]+/`, `\bfile://`, `(?:curl|wget|iwr|invoke-webrequest)\s+\S*(?:-|http)`, `\|\s*(?:ba)?sh\b`, `\brm\s+-rf\b`, `\beval\s*\(`, `base64\s+-d`,
	`https?://[^\s)]*(?:\{|\$\(|%7B)`,
}, "|"))

// addressed tells whether a text is meant for a program rather than for a person
// who reads notes. What is named here is dropped even where a person said it: such
// a note is typed by hand, or remembered by "remember".
func addressed(text string) bool {
	return forPrograms.MatchString(text) || strings.ContainsFunc(text, func(r rune) bool { return r >= 0xE0000 && r <= 0xE007F })
}

// grounded is the part of a text's words that a ground holds, from 0 to 1. Words
// are taken for the same when they share their beginning: inflections differ at
// the end. Without a word that says something it is 1.
func grounded(text, ground string, content func(string) bool) float64 {
	have := words(ground)
	known, stems := make(map[string]bool, len(have)), map[string]bool{}
	for _, w := range have {
		known[w], stems[stem(w)] = true, true
	}
	met, all := 0, 0
	for _, w := range words(text) {
		r, _ := utf8.DecodeRuneInString(w)
		if !wordRune(r) || content != nil && !content(w) || narrator[w] {
			continue
		}
		all++
		if known[w] || stems[stem(w)] {
			met++
		}
	}
	if all == 0 {
		return 1
	}
	return float64(met) / float64(all)
}

// stem is the beginning of a word that its inflections share.
func stem(w string) string {
	const shared = 5
	i := 0
	for n := 0; n < shared; n++ {
		if i >= len(w) {
			return w
		}
		_, size := utf8.DecodeRuneInString(w[i:])
		i += size
	}
	return w[:i]
}

// narrator are words by which notes speak of the person.
var narrator = wordSet(`user users person prefers prefer wants likes uses said asked benutzer nutzer utilisateur usuario usuário utente gebruiker användare użytkownik uživatel kullanıcı пользователь користувач 用户 用 户 ユーザー`)

var (
	numeral    = regexp.MustCompile(`\d+(?:[.,:/-]\d+)*`)
	identifier = regexp.MustCompile(`[A-Za-z0-9]+(?:[_./:@#][A-Za-z0-9]+)+|[a-z]+[A-Z][A-Za-z0-9]*|[A-Z]{2,}[A-Za-z0-9]*|\b[A-Z][a-z]+[A-Z][A-Za-z0-9]*`)
	properName = regexp.MustCompile(`[\p{L}\p{N}_)»”"',;]\s+(\p{Lu}\p{Ll}[\p{L}\p{M}'’-]+)`)
	isoDate    = regexp.MustCompile(`\b\d{4}-\d{2}(?:-\d{2})?(?:[T ]\d{2}:\d{2}\S*)?\b|\b(?:19|20)\d{2}\b`)
)

// invented names the kind of a thing in a text that its ground does not hold: a
// number, an identifier or address, a name. Dates may follow from what was said
// ("next Friday"). Empty when there is none.
func invented(text, ground string) string {
	text = isoDate.ReplaceAllString(text, " ")
	folded := foldWords(ground)
	for _, id := range identifier.FindAllString(text, -1) {
		if !strings.Contains(folded, foldWords(strings.Trim(id, "./:"))) {
			return "an identifier"
		}
	}
	have := map[string]bool{}
	for _, n := range numeral.FindAllString(folded, -1) {
		have[n] = true
	}
	for _, n := range numeral.FindAllString(foldWords(text), -1) {
		if !have[n] && !strings.Contains(folded, n) {
			return "a number"
		}
	}
	if language(text) == "de" || language(ground) == "de" {
		return "" // every noun has a capital
	}
	for _, m := range properName.FindAllStringSubmatch(text, -1) {
		name := foldWords(m[1])
		if !strings.Contains(folded, stem(name)) && !narrator[name] && !dateWord[name] {
			return "a name"
		}
	}
	return ""
}

// dateWord are words of dates that follow from what was said.
var dateWord = wordSet(`january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday
	jan feb mar apr jun jul aug sep oct nov dec mon tue wed thu fri sat sun why how apply`)
