package memory

import (
	"strings"
	"sync"
	"unicode"
)

// functionWords are words that tell languages of one script apart: frequent in
// one, rare in the others.
var functionWords = map[string]string{
	"en": "the is are was and of to in that it for with on this we you not be have our always never when should use uses from my i",
	"de": "der die das ist sind und nicht ein eine einen wir ich immer mit für auf den dem von zu wird werden nie bei im am sich auch unsere mein",
	"fr": "le la les est sont et des une nous je pas toujours jamais avec pour sur dans du au que qui notre mon cette ce il doit être",
	"es": "el la los las es son y una nosotros yo siempre nunca con para en del que por nuestro mi está este se debe hay no",
	"pt": "o os as é são e uma nós eu sempre nunca com para em do da que por nosso meu está este não deve no na",
	"it": "il lo gli è sono e una noi io sempre mai con per di del della che nostro mio questo non deve nel alla",
	"nl": "de het een is zijn en niet wij ik altijd nooit met voor op van dat ons mijn wordt deze bij we",
	"sv": "och är inte en ett vi jag alltid aldrig med för på av som det den vår min ska till att",
	"da": "og er ikke en et vi jeg altid aldrig med for på af som det den vores min skal til at",
	"pl": "i jest są nie w na z do się że my ja zawsze nigdy dla nasz mój który to przez po od",
	"cs": "a je jsou není v na z do se že my já vždy nikdy pro náš můj který to po od při",
	"tr": "ve bir bu için ile değil biz ben her zaman asla bizim benim olarak da de çok var yok",
	"fi": "ja on ovat ei se me minä aina koskaan kanssa että tämä meidän minun kun mutta joka",
	"hu": "és egy nem az a mi én mindig soha hogy van vagy a mi ez ha csak meg kell",
	"id": "dan yang di ke dari ini itu tidak kami kita saya selalu jangan untuk dengan adalah pada akan",
	"vi": "và là của không chúng tôi luôn cho với các một này được có trong",
	"ru": "и в не на что это мы я всегда никогда для с по из наш мой как у от все при",
	"uk": "і в не на що це ми я завжди ніколи для з по із наш мій як у від усі при та є",
	"bg": "и в не на че това ние аз винаги никога за с по от нашият мой как у се е са да",
}

// languageWords are functionWords as they are looked up.
var languageWords = sync.OnceValue(func() map[string][]string {
	byWord := map[string][]string{}
	for lang, list := range functionWords {
		for w := range strings.FieldsSeq(list) {
			byWord[w] = append(byWord[w], lang)
		}
	}
	return byWord
})

// language is the language of a text by its function words; empty where they do
// not tell.
func language(text string) string {
	counts := map[string]float64{}
	for _, w := range words(text) {
		langs := languageWords()[w]
		for _, l := range langs {
			counts[l] += 1 / float64(len(langs))
		}
	}
	best, second, lang := 0.0, 0.0, ""
	for l, n := range counts {
		switch {
		case n > best || n == best && l < lang:
			best, second, lang = n, best, l
		case n > second:
			second = n
		}
	}
	if best < 1.5 || best < 1.5*second {
		return ""
	}
	return lang
}

// scripts counts the letters of a text by script. Kana, Han, Hangul and the like
// are told apart; a Japanese text has two.
func scripts(text string) (counts map[string]int, all int) {
	counts = map[string]int{}
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		all++
		counts[scriptOf(r)]++
	}
	return counts, all
}

func scriptOf(r rune) string {
	if r < 0x250 {
		return "Latin"
	}
	for _, s := range []struct {
		name  string
		table *unicode.RangeTable
	}{
		{"Han", unicode.Han}, {"Hiragana", unicode.Hiragana}, {"Hiragana", unicode.Katakana}, {"Hangul", unicode.Hangul},
		{"Cyrillic", unicode.Cyrillic}, {"Arabic", unicode.Arabic}, {"Hebrew", unicode.Hebrew}, {"Greek", unicode.Greek},
		{"Devanagari", unicode.Devanagari}, {"Thai", unicode.Thai}, {"Latin", unicode.Latin}, {"Bengali", unicode.Bengali}, {"Tamil", unicode.Tamil},
	} {
		if unicode.Is(s.table, r) {
			return s.name
		}
	}
	return "other"
}

// sameTongue tells whether a text is written as its evidence is: in no script
// that the evidence has not, in that of most of its letters where that is not
// Latin, and in its language where function words tell both.
func sameTongue(text, evidence string) bool {
	own, all := scripts(text)
	theirs, total := scripts(evidence)
	if all == 0 || total == 0 {
		return true
	}
	for s, n := range own {
		// A single letter, as in a unit or a formula, is no language.
		if n > 2 && theirs[s] == 0 {
			return false
		}
	}
	for s, n := range theirs {
		// Identifiers and names are Latin in any language.
		if s != "Latin" && 2*n > total-theirs["Latin"] && 4*n >= total && 5*own[s] < all {
			return false
		}
	}
	a, b := language(text), language(evidence)
	return a == "" || b == "" || a == b
}
