package meaning

import (
	"math"
	"slices"
)

// How near the vectors of unrelated texts lie differs from model to model: 0.1 for one,
// 0.75 for another. So no fixed cosine tells what is near: the floor is set that many
// spreads above the middle of what unrelated texts of this very model have.
//
// The middle is the median and the spread the median distance from it, which the few
// pairs that are related after all do not move.
const (
	floorSpreads = 3.0
	// normalSpread makes of a median distance the standard deviation of a normal
	// distribution.
	normalSpread = 1.4826
	// leastSpread keeps the floor off the middle where all texts are equally near.
	leastSpread = 0.005
	// mostFloor keeps it below what only copies reach.
	mostFloor = 0.97
	// relativeShare is how far above the middle a hit must be, against the best one.
	relativeShare = 0.6
)

const (
	// minSampled is how many memories a root must have for its own similarities to
	// say something; below it, and in the beginning, built-in texts do.
	minSampled = 40
	// maxProbes bounds the titles that stand for queries, maxCompared the vectors that
	// each is compared with.
	maxProbes   = 48
	maxCompared = 512
	// quantiles are kept of a sample.
	quantiles = 257
)

// spread is what is known of the similarities of unrelated texts.
type spread struct{ middle, width float64 }

// spreadOf is the spread of samples, together.
func spreadOf(samples ...[]float32) spread {
	all := slices.Concat(samples...)
	if len(all) == 0 {
		return spread{}
	}
	slices.Sort(all)
	middle := float64(all[len(all)/2])
	for i, x := range all {
		all[i] = float32(math.Abs(float64(x) - middle))
	}
	slices.Sort(all)
	return spread{middle, max(leastSpread, normalSpread*float64(all[len(all)/2]))}
}

// floor is the least cosine that counts as near.
func (s spread) floor() float64 { return min(mostFloor, s.middle+floorSpreads*s.width) }

// near are the hits that are not far below the best. Inv: the best is first.
func (s spread) near(hits []Hit) []Hit {
	for i := range hits {
		if hits[i].Cosine-s.middle < relativeShare*(hits[0].Cosine-s.middle) {
			return hits[:i]
		}
	}
	return hits
}

// shrunk are the quantiles of a sample.
func shrunk(sample []float32) []float32 {
	slices.Sort(sample)
	if len(sample) <= quantiles {
		return sample
	}
	out := make([]float32, quantiles)
	for i := range out {
		out[i] = sample[i*(len(sample)-1)/(quantiles-1)]
	}
	return out
}

// referenceQueries and referenceTexts have nothing to do with each other, in several
// languages: what a model makes of them is how near it sees unrelated texts.
var (
	referenceQueries = []string{
		"how long may a guest keep a borrowed book", "which paint is used on the railings", "wann fährt der letzte Bus am Sonntag",
		"who waters the plants in August", "¿a qué hora cierra la piscina en verano?", "why does the retry limit differ for one partner",
		"где хранятся ключи от склада", "what is the naming rule for branches", "冬の営業時間は何時までですか",
		"quel est le délai pour rendre un dossier", "which port does the metrics service use", "谁负责审核数据库变更",
		"how many eggs go into the dough", "when does the certificate expire", "창고 재고는 언제 확인하나요", "what did the customer say about the invoice layout",
	}
	referenceTexts = []string{
		"The choir rehearses in the old town hall; the piano was tuned in spring.",
		"Shards are rebalanced at night, one at a time, so that reads never wait for more than one of them.",
		"Die Wanderung beginnt am Parkplatz hinter der Mühle und dauert vier Stunden.",
		"Our logo must not be placed on a photograph; leave a margin of one letter around it.",
		"El equipo juega los martes en el campo municipal, con luz artificial hasta las diez.",
		"Integration tests create a schema of their own and drop it afterwards, also when they fail.",
		"Урожай яблок в этом году больше, чем в прошлом, но хранить его негде.",
		"Prefer composition to inheritance; a base class with one user is deleted in review.",
		"灯台の光は二十秒ごとに三回点滅する。霧の日には鐘も鳴る。",
		"La chaudière a été remplacée; le contrat d'entretien court jusqu'à la fin de l'année.",
		"The compiler flag for strict null checks is on in every package except the legacy importer.",
		"这条铁路沿着河谷修建，全长六十公里，共有九座隧道。",
		"Bees are fed sugar water when the first frost comes early.",
		"Tokens are rotated by the platform; applications read them from a mounted file at every start.",
		"이 박물관은 월요일마다 문을 닫고 공휴일에는 무료로 입장할 수 있다.",
		"She prefers short answers without headings, and diagrams as text.",
	}
)
