package text

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// suffixes of one group of languages that inflect by endings, longest first.
// min is how many code points of the word must stay.
type suffixes struct {
	min  int
	list []string
}

func endings(min int, words string) suffixes {
	l := strings.Fields(words)
	sort.SliceStable(l, func(i, j int) bool { return len(l[i]) > len(l[j]) })
	return suffixes{min, l}
}

// The endings are the common inflections and the productive derivations that
// keep the topic (deploy, deploys, deployed, deployment). Each table is used by
// itself: two words are of one stem when any table takes both to the same key,
// so that no guess of the language is needed.
var (
	english = endings(3, `ization izations isation isations ation ations ating ated ates ate ator ators ing ings ment ments ed er ers es s e ly ies ied
		able ability ness ion ions ive or ors`)
	german  = endings(4, `ungen ung ens ern en er em es e n s st t te ten tet lich liche lichen keit heit isch ische ischen`)
	romance = endings(4, `cao coes aciones acion acion acoes acao ations ation azione azioni amento amenti amientos amiento ements ement mente ment ando endo iendo
		ados adas ado ada idos idas ido ida ees ee es e er ez ons ent ant antes ante ar ir are ere ire ato ata ati ate amos emos imos an en as es os a e o i s
		cion ciones coes cao tion tions eur eurs euse ion iones`)
	slavic   = endings(3, `ami ach ech ich um em ou u a e i o y ego emu ym ymi ych owi ow om ie`)
	cyrillic = endings(3, `иваться ываться оваться ироваться ирования ированию ирование ировать ируется ируем ирует ованием ования ованию ование овать
		ениями ениях ением ений ения ению ение аниями аниях анием аний ания анию ание остью ости ость
		ами ями ого его ому ему ыми ими ах ях ов ев ей ой ый ий ая яя ое ее ые ие ую юю ым им ом ем ам ям ию ия ии
		ться тся ется ется ится ется ают яют уют юют ает яет ует ят ит ут ют ать ять еть ить уть ал ала али ало ил ила или ила ыл ла ло ли л
		ен ена ено ены ан ана ано аны ный ная ное ные ного ной ному ных ным ными ную а я о е и ы у ю ь й
		ів їв ою ею ові еві ість ості істю ання ення анням енням ати яти іти ити ує ють`)
	greek = endings(3, `ηματα ηματων ηματοσ ηση ησεισ ησεων ησησ ισεισ ιση ισησ ουσ ουν ουμε ετε εται ονται ομαι ων ησ εσ οσ ου οι ασ ισ εισ η α ο ι ε ω ει υσ υ αμε ατε αν
		ματα ματων ματοσ μα ικοσ ικη ικο ικων ικα ικησ ικου`)
	turkic = endings(4, `larından lerinden larında lerinde larının lerinin larına lerine ların lerin ları leri lar ler ından inden undan ünden ında inde unda ünde
		dan den tan ten nın nin nun nün ın in un ün da de ta te yı yi yu yü ı i u ü ya ye a e sı si su sü lık lik luk lük
		ojen öjen jen iden ien oissa öissä oista öistä oihin öihin oilla öillä oilta öiltä oille öille oita öitä issa issä ista istä iin illa illä
		ssa ssä sta stä lla llä lta ltä lle ksi na nä aan een iin n t a ä`)
	devanagari = endings(2, `ियों ियाँ ियां ाओं ाएँ ाएं ुओं ों ें ीं ाँ ां े ा ी ि ो ू ु`)
)

// arabicPrefixes and hebrewPrefixes are the article, conjunctions and
// prepositions that are written together with the word, longest first.
var (
	arabicPrefixes = []string{"وبال", "فبال", "وال", "بال", "فال", "كال", "لل", "ال", "و", "ب", "ل", "ف", "ك"}
	arabicEndings  = endings(3, `اتها اتهم هما كما ات ون ين ان ها هم نا كم يه ه ي ا`)
	hebrewPrefixes = []string{"וה", "שה", "מה", "כש", "לכ", "וב", "ול", "ומ", "ה", "ו", "ב", "ל", "מ", "ש", "כ"}
	hebrewEndings  = endings(3, `ימ ות ית יה ה`)
)

// Stems appends the stem keys of a folded word: what is left of it after the
// endings of each table of its script. Words of one inflection share a key.
// Keys of different tables never meet: each starts with its table's letter.
func Stems(dst []string, term string) []string {
	r, _ := utf8.DecodeRuneInString(term)
	switch scriptOf(r) {
	case scriptLatin:
		if strings.IndexFunc(term, func(r rune) bool { return digit(r) || r == '.' }) >= 0 {
			return dst
		}
		plain := StripAccents(term)
		dst = append(dst, "e"+englishStem(plain), "g"+german.strip(plain), "r"+romance.strip(plain), "s"+slavic.strip(plain))
		t := turkic.strip(term)
		return append(dst, "t"+t, "f"+stemVowel(t))
	case scriptCyrillic:
		return append(dst, "c"+cyrillic.strip(term))
	case scriptGreek:
		return append(dst, "h"+greek.strip(StripAccents(term)))
	case scriptArabic:
		return append(dst, "a"+arabicEndings.strip(term), "a"+arabicEndings.strip(unprefix(term, arabicPrefixes, 3)))
	case scriptHebrew:
		return append(dst, "b"+hebrewEndings.strip(term), "b"+hebrewEndings.strip(unprefix(term, hebrewPrefixes, 3)))
	case scriptDevanagari:
		return append(dst, "d"+devanagari.strip(term))
	}
	return dst
}

// strip takes the longest listed ending off that leaves min code points.
func (s suffixes) strip(w string) string {
	for _, e := range s.list {
		if strings.HasSuffix(w, e) && utf8.RuneCountInString(w[:len(w)-len(e)]) >= s.min {
			return w[:len(w)-len(e)]
		}
	}
	return w
}

// stemVowel takes off the final vowel, which Finnish, Estonian and Hungarian change
// before an ending (lämpötila, lämpötilojen).
func stemVowel(w string) string {
	r, n := utf8.DecodeLastRuneInString(w)
	if strings.ContainsRune("aeiouyäöőűá", r) && utf8.RuneCountInString(w) > 6 {
		return w[:len(w)-n]
	}
	return w
}

func unprefix(w string, ps []string, min int) string {
	for _, p := range ps {
		if strings.HasPrefix(w, p) && utf8.RuneCountInString(w[len(p):]) >= min {
			return w[len(p):]
		}
	}
	return w
}

// englishStem strips an ending and evens out what English does at the joint:
// a doubled consonant (running), a final y turned to i (policies), a silent e.
func englishStem(w string) string {
	s := english.strip(w)
	if len(s) > 3 && s != w {
		if a, b := s[len(s)-1], s[len(s)-2]; a == b && strings.IndexByte("bdgmnprt", a) >= 0 {
			s = s[:len(s)-1]
		}
	}
	if n := len(s); n > 3 && (s[n-1] == 'i' || s[n-1] == 'y') && strings.IndexByte("aeiou", s[n-2]) < 0 {
		s = s[:n-1]
	}
	return s
}
