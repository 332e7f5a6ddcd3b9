package recall

// sketchSize is how many minima a sketch keeps. With 12, two texts that share
// three quarters of their words agree in 9 on average.
const sketchSize = 12

// nearDuplicate is how many equal minima make two memories versions of one fact.
const nearDuplicate = 8

// sketch is the minwise sketch of a document's words, by which near-duplicates
// are told without comparing texts.
type sketch [sketchSize]uint32

// emptySketch is that of no word.
func emptySketch() sketch {
	var s sketch
	for i := range s {
		s[i] = ^uint32(0)
	}
	return s
}

// add puts in the hash of a word. Adding one twice changes nothing.
func (s *sketch) add(h uint64) {
	for i := range s {
		h = mix(h + 0x9E3779B97F4A7C15)
		s[i] = min(s[i], uint32(h>>32))
	}
}

func alike(a, b *sketch) bool {
	n := 0
	for i := range a {
		if a[i] == b[i] && a[i] != ^uint32(0) {
			n++
		}
	}
	return n >= nearDuplicate
}

// fnv64 is FNV-1a, the same in every process.
func fnv64(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return h
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
