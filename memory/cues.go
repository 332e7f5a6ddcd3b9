package memory

import (
	"regexp"
	"slices"
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

// in is where a cue stands in a text; -1 where it does not. Hangul writes
// particles onto the last word.
func (c *cue) in(ws []string) int {
	last := c.words[len(c.words)-1]
	if r, _ := utf8.DecodeRuneInString(last); !unicode.Is(unicode.Hangul, r) {
		return indexRun(ws, c.words)
	}
	for i := 0; i+len(c.words) <= len(ws); i++ {
		if end := i + len(c.words) - 1; slices.Equal(ws[i:end], c.words[:len(c.words)-1]) && strings.HasPrefix(ws[end], last) {
			return i
		}
	}
	return -1
}

// cueWords say the type of a memory, or whose it is. They are explicit: a text
// without one is about the user.
var cueWords = []struct {
	typ    string
	scope  Scope
	phrase string
}{
	{scope: ScopeTeam, phrase: `for the team|for our team|for the whole team|for my team|team rule|team convention|team convention is|
		team-wide|everyone on the team|everyone in the team|everybody on the team|the team agreed|our team agreed|as a team we|in our team|in the team we|
		für das team|für unser team|für das ganze team|für alle im team|im team gilt|in unserem team|teamweit|teamregel|pour l'équipe|pour notre équipe|
		pour toute l'équipe|dans notre équipe|règle d'équipe|para el equipo|para todo el equipo|para nuestro equipo|en nuestro equipo|en el equipo usamos|
		regla del equipo|para a equipe|para toda a equipe|para o time|para a equipa|na nossa equipe|em nossa equipe|no nosso time|regra da equipe|per il team|
		per il nostro team|per la squadra|nel nostro team|regola del team|voor het team|voor ons team|voor het hele team|in ons team|för teamet|för hela teamet|
		i vårt team|for teamet|for hele teamet|i teamet vårt|i vores team|dla zespołu|dla całego zespołu|w naszym zespole|pro tým|pro celý tým|v našem týmu|
		takım için|ekip için|ekibimiz için|takımımızda|ekibimizde|tiimille|koko tiimille|tiimissämme|a csapatnak|a csapat számára|a csapatunkban|для команды|
		для всей команды|для нашей команды|в нашей команде|для команди|для всієї команди|у нашій команді|за екипа|за целия екип|в нашия екип|για την ομάδα|
		για όλη την ομάδα|στην ομάδα μας|للفريق|لفريقنا|في فريقنا|لكل الفريق|לצוות|לכל הצוות|בצוות שלנו|टीम के लिए|पूरी टीम के लिए|हमारी टीम में|cho cả nhóm|
		cho nhóm|cho cả đội|trong nhóm của chúng ta|untuk tim|untuk seluruh tim|di tim kami|สำหรับทีม|สำหรับทั้งทีม|ในทีมของเรา|团队规定|团队约定|给团队|对团队|全团队|整个团队|我们团队|
		在团队中|团队里|團隊規定|團隊約定|給團隊|對團隊|整個團隊|我們團隊|チームのルール|チームの決まり|チームでは|チーム全員|チーム全体|チーム向け|うちのチーム|私たちのチーム|팀 규칙|팀에서는|팀 전체|우리 팀|팀을 위해|팀원 모두`},
	{scope: ScopeProject, phrase: `in this project|for this project|in this repo|in this repository|for this repo|for this repository|in this codebase|for this codebase|in our project|
		in the project|for the project|this project uses|this repo uses|in this workspace|project-wide|in diesem projekt|für dieses projekt|in diesem repo|
		im projekt|für das projekt|in unserem projekt|dieses projekt nutzt|dieses projekt verwendet|dans ce projet|pour ce projet|dans ce dépôt|pour ce dépôt|
		dans notre projet|ce projet utilise|en este proyecto|para este proyecto|en este repositorio|en nuestro proyecto|este proyecto usa|neste projeto|
		para este projeto|neste repositório|no nosso projeto|este projeto usa|in questo progetto|per questo progetto|in questo repository|nel nostro progetto|
		questo progetto usa|in dit project|voor dit project|in deze repo|in ons project|i det här projektet|för det här projektet|i detta projekt|
		i dette prosjektet|i dette projekt|for dette prosjektet|for dette projekt|w tym projekcie|dla tego projektu|w tym repozytorium|v tomto projektu|
		pro tento projekt|bu projede|bu proje için|bu depoda|tässä projektissa|tälle projektille|ebben a projektben|ehhez a projekthez|в этом проекте|
		для этого проекта|в этом репозитории|у цьому проєкті|для цього проєкту|у цьому проекті|в този проект|за този проект|σε αυτό το έργο|για αυτό το έργο|
		في هذا المشروع|لهذا المشروع|בפרויקט הזה|לפרויקט הזה|בפרויקט זה|इस प्रोजेक्ट में|इस प्रोजेक्ट के लिए|इस परियोजना में|trong dự án này|cho dự án này|
		di proyek ini|untuk proyek ini|dalam proyek ini|ในโปรเจกต์นี้|สำหรับโปรเจกต์นี้|ในโครงการนี้|这个项目|本项目|该项目|在项目中|这个仓库|這個專案|本專案|這個項目|このプロジェクト|本プロジェクト|
		このリポジトリ|이 프로젝트|이 저장소|우리 프로젝트`},
	{scope: ScopeUser, phrase: `for me|for me personally|for myself|in all my projects|in every project of mine|in all projects|across all projects|across my projects|
		everywhere i work|für mich|in allen meinen projekten|in allen projekten|pour moi|dans tous mes projets|para mí|en todos mis proyectos|para mim|
		em todos os meus projetos|per me|in tutti i miei progetti|voor mij|in al mijn projecten|för mig|i alla mina projekt|for meg|for mig|
		i alle mine projekter|i alle prosjektene mine|dla mnie|we wszystkich moich projektach|pro mě|ve všech mých projektech|benim için|tüm projelerimde|
		minulle|kaikissa projekteissani|nekem|minden projektemben|для меня|во всех моих проектах|для мене|у всіх моїх проєктах|за мен|във всичките ми проекти|
		για μένα|σε όλα τα έργα μου|بالنسبة لي|في كل مشاريعي|בשבילי|בכל הפרויקטים שלי|मेरे लिए|मेरे सभी प्रोजेक्ट में|cho tôi|trong mọi dự án của tôi|
		untuk saya|di semua proyek saya|สำหรับฉัน|ในทุกโปรเจกต์ของฉัน|对我来说|我的所有项目|我所有的项目|對我來說|我所有的專案|私の場合|すべてのプロジェクトで|全プロジェクトで|저에게는|모든 프로젝트에서`},
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

// onlyLead tells whether a text asks to remember and says nothing to remember.
func onlyLead(text string) bool {
	return leadPattern().FindString(text) == text || tailPattern().FindString(text) == text
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
// or by the first cue in it, of several at one place the longest. Empty where it
// says nothing.
func inferred(text string) (typ string, scope Scope) {
	if address.MatchString(text) {
		typ = TypeReference
	}
	ws := words(text)
	typAt, scopeAt, length := len(ws)+1, len(ws)+1, 0
	for _, c := range cues() {
		i := c.in(ws)
		switch {
		case i < 0:
		case c.scope != "" && (i < scopeAt || i == scopeAt && len(c.words) > length):
			scope, scopeAt, length = c.scope, i, len(c.words)
		case c.typ != "" && typ != TypeReference && i < typAt:
			typ, typAt = c.typ, i
		}
	}
	return typ, scope
}
