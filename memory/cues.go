package memory

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// leads are how people begin what is to be remembered, by the first words of it.
// What follows one is the memory. In languages that write spaces a lead ends
// where a word ends.
const leads = `
please remember that|please remember|remember that|remember this|remember|please note that|note that|note to self|make a note that|keep in mind that|keep in mind|bear in mind that|don't forget that|do not forget that|don't forget|save that|memorize that|memorise that
merk dir bitte, dass|merk dir, dass|merke dir, dass|merk dir|merke dir|denk daran, dass|vergiss nicht, dass|notiere, dass|notiere dir, dass|bitte merken
souviens-toi que|souviens-toi|rappelle-toi que|retiens que|retiens|note que|n'oublie pas que|garde en mémoire que
recuerda que|recuerda|acuérdate de que|ten en cuenta que|anota que|apunta que|no olvides que
lembre-se de que|lembre-se que|lembre que|lembra-te que|lembra que|lembre-se|anote que|não esqueça que|não se esqueça de que
ricordati che|ricorda che|ricordati|ricorda|tieni presente che|annota che|non dimenticare che
onthoud dat|onthoud|vergeet niet dat|noteer dat
kom ihåg att|kom ihåg|glöm inte att|husk at|husk på at|glem ikke at
pamiętaj, że|zapamiętaj, że|zapamiętaj|zanotuj, że|nie zapomnij, że
pamatuj si, že|zapamatuj si, že|zapamatuj si|nezapomeň, že|poznamenej si, že
şunu hatırla|şunu unutma|unutma ki|unutma|hatırla
muista että|muista, että|muista|pane mieleen että|älä unohda että
ne feledd, hogy|jegyezd meg, hogy|emlékezz rá, hogy
запомни, что|запомните, что|запомни|помни, что|не забудь, что|учти, что|запиши, что
запам'ятай, що|запам’ятай, що|запам'ятай|пам'ятай, що|не забудь, що|запиши, що
запомни, че|помни, че
θυμήσου ότι|να θυμάσαι ότι|θυμήσου|μην ξεχνάς ότι|σημείωσε ότι
تذكر أن|تذكّر أن|تذكر|لا تنس أن|سجل أن
זכור ש|תזכור ש|תזכרי ש|אל תשכח ש
याद रखो कि|याद रखें कि|याद रखना कि|याद रखो|याद रखें
hãy nhớ rằng|nhớ rằng|hãy ghi nhớ rằng|ghi nhớ rằng|đừng quên rằng
ingat bahwa|ingatlah bahwa|ingat|catat bahwa|jangan lupa bahwa
จำไว้ว่า|จำไว้|อย่าลืมว่า|บันทึกว่า
请记住|請記住|请记得|記住|记住|记得|記得|别忘了|別忘了|请记下|记下|牢记
覚えておいてください|覚えておいて|覚えて|忘れないで|メモして
기억해줘|기억해 줘|기억해|잊지 마|메모해줘|메모해`

// tails are how people end it, in languages that put the verb last.
const tails = `
ということを覚えておいてください|ということを覚えておいて|ことを覚えておいてください|ことを覚えておいて|と覚えておいてください|と覚えておいて|を覚えておいてください|を覚えておいて|を覚えて|と覚えて|を忘れないでください|を忘れないで|をメモして
라는 것을 기억해줘|라는 것을 기억해|다고 기억해줘|다고 기억해|을 기억해줘|를 기억해줘|을 기억해|를 기억해
को याद रखो|को याद रखें
bunu unutma|unutma bunu|bunu hatırla`

// cue is a phrase that says of itself what kind of memory a text is.
type cue struct {
	words []string
	typ   string
	scope Scope
}

// cueWords say the type of a memory, or whose it is. They are explicit: a text
// without one is about the user.
var cueWords = []struct {
	typ    string
	scope  Scope
	phrase string
}{
	{scope: ScopeTeam, phrase: `for the team|for our team|team rule|team convention|everyone on the team|für das team|im team gilt|pour l'équipe|para el equipo|para a equipe|per il team|voor het team|för teamet|dla zespołu|pro tým|takım için|tiimille|для команды|для команди|για την ομάδα|للفريق|टीम के लिए|cho cả nhóm|untuk tim|สำหรับทีม|团队|團隊|チーム|팀 규칙|팀에서는`},
	{scope: ScopeProject, phrase: `in this project|for this project|in this repo|in this repository|for this repo|in this codebase|this project uses|in diesem projekt|für dieses projekt|in diesem repo|dans ce projet|pour ce projet|dans ce dépôt|en este proyecto|para este proyecto|neste projeto|para este projeto|in questo progetto|per questo progetto|in dit project|i det här projektet|i dette prosjektet|w tym projekcie|v tomto projektu|bu projede|tässä projektissa|в этом проекте|для этого проекта|у цьому проєкті|в този проект|σε αυτό το έργο|في هذا المشروع|בפרויקט הזה|इस प्रोजेक्ट में|trong dự án này|di proyek ini|ในโปรเจกต์นี้|这个项目|本项目|在项目中|這個專案|このプロジェクト|이 프로젝트`},
	{typ: TypeReference, phrase: `dashboard|runbook|ticket|wiki page|documented at|docs are at|documentation is at|link to|dokumentiert unter|documenté dans|documentado en|документация|документація|τεκμηρίωση|文档在|文件在|ドキュメント|문서는`},
	{typ: TypeFeedback, phrase: `always|never|don't|do not|please|avoid|stop doing|make sure to|immer|niemals|nie|bitte|vermeide|toujours|jamais|ne fais pas|évite|s'il te plaît|siempre|nunca|no hagas|evita|por favor|sempre|não faça|evite|mai|per favore|altijd|nooit|alsjeblieft|alltid|aldrig|aldri|zawsze|nigdy|proszę|vždy|nikdy|prosím|her zaman|asla|lütfen|aina|älä koskaan|mindig|soha|всегда|никогда|пожалуйста|избегай|завжди|ніколи|будь ласка|винаги|πάντα|ποτέ|μην|παρακαλώ|دائما|لا تستخدم|من فضلك|תמיד|לעולם לא|בבקשה|हमेशा|कभी नहीं|कृपया|luôn luôn|không bao giờ|selalu|jangan|ห้าม|เสมอ|总是|總是|永远|永遠|从不|不要|请勿|必须|常に|必ず|決して|しないで|항상|절대|하지 마`},
	{typ: TypeProject, phrase: `deadline|release|milestone|sprint|incident|roadmap|freeze|our goal|we decided|stichtag|frist|meilenstein|échéance|livraison|jalon|fecha límite|lanzamiento|prazo|scadenza|rilascio|termin wydania|termín|son tarih|määräaika|дедлайн|релиз|реліз|инцидент|προθεσμία|الموعد النهائي|समय सीमा|hạn chót|tenggat|กำหนดส่ง|截止|发布|里程碑|締め切り|リリース|마감|출시|릴리스`},
}

// cues are cueWords as they are compared.
var cues = sync.OnceValue(func() []cue {
	var all []cue
	for _, c := range cueWords {
		for phrase := range strings.SplitSeq(c.phrase, "|") {
			all = append(all, cue{words(phrase), c.typ, c.scope})
		}
	}
	return all
})

var (
	leadPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:` + phrases(leads) + `)[\s,:;：，、。！!—–-]*`)
	})
	tailPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)[\s,，、]*(?:` + phrases(tails) + `)[\s。！!.]*$`)
	})
)

// phrases is a pattern of alternatives, in their order, with any white space
// between their words.
func phrases(list string) string {
	var alternatives []string
	for line := range strings.SplitSeq(list, "\n") {
		for p := range strings.SplitSeq(line, "|") {
			if p != "" {
				alternatives = append(alternatives, strings.ReplaceAll(regexp.QuoteMeta(p), " ", `\s+`))
			}
		}
	}
	return strings.Join(alternatives, "|")
}

// withoutLead is what is to be remembered, without the words that ask for it.
func withoutLead(text string) string {
	if lead := leadPattern().FindString(text); lead != "" && len(lead) < len(text) && leadEnds(text, len(lead)) {
		return text[len(lead):]
	}
	if tail := tailPattern().FindString(text); len(tail) < len(text) {
		return text[:len(text)-len(tail)]
	}
	return text
}

// leadEnds tells whether a lead that ends at a place is not the beginning of a
// longer word. Hebrew and the scripts without spaces write it together.
func leadEnds(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	next, _ := utf8.DecodeRuneInString(text[at:])
	if !wordRune(before) || !wordRune(next) || unsegmented(before) {
		return true
	}
	return unicode.In(before, unicode.Hebrew, unicode.Hangul)
}

var address = regexp.MustCompile(`(?i)\b(?:https?|ssh|git|file)://\S`)

// inferred are the type and the scope that a text says of itself: by an address,
// or by the first cue in it. Empty where it says nothing.
func inferred(text string) (typ string, scope Scope) {
	if address.MatchString(text) {
		typ = TypeReference
	}
	ws := words(text)
	first := len(ws) + 1
	for _, c := range cues() {
		i := indexRun(ws, c.words)
		switch {
		case i < 0:
		case c.scope != "" && scope == "":
			scope = c.scope
		case c.typ != "" && typ != TypeReference && i < first:
			typ, first = c.typ, i
		}
	}
	return typ, scope
}
