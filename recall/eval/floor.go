package eval

// FloorName is the name of the random ranker in reports.
const FloorName = "random"

// floor answers what a ranker that shuffles the pool would score on a case in expectation, in closed form: no seeds, no noise.
//
// The pool is the active documents of the case's scope, since a real ranker filters the others before it ranks; a floor over
// all documents would be lower and so flatter everybody. It returns as many documents as it is asked for and is never silent.
func floor(pool []Doc, c *Case) Score {
	relevant := make(map[string]bool, len(c.Relevant))
	for _, id := range c.Relevant {
		relevant[id] = true
	}
	n, r, topActive := 0, 0, false
	for i := range pool {
		if !pool[i].Active() {
			continue
		}
		n++
		if relevant[pool[i].ID] {
			r++
			topActive = topActive || pool[i].ID == c.Top
		}
	}
	if n == 0 {
		return Score{Silent: 1}
	}
	if !c.Answerable() {
		return Score{}
	}
	// Every place holds a relevant document with the same probability.
	hit := float64(r) / float64(n)
	found := hit / float64(len(c.Relevant)) // what one place adds to recall
	s := Score{
		Recall2: found * float64(min(fastCut, n)),
		Recall5: found * float64(min(deliveryCut, n)),
		RR:      expectedReciprocalRank(n, r),
	}
	switch {
	case c.Top == "":
		s.Top1 = hit
	case topActive:
		s.Top1 = 1 / float64(n)
	}
	for i := range min(deliveryCut, n) {
		s.NDCG5 += hit * discount(i)
	}
	s.NDCG5 /= idealGain(len(c.Relevant))
	return s
}

// expectedReciprocalRank is the mean of 1/rank of the first of r relevant documents in a shuffled pool of n, 0 beyond Depth.
func expectedReciprocalRank(n, r int) float64 {
	sum, missed := 0.0, 1.0 // missed: the probability that no place so far was relevant
	for place := range min(Depth, n) {
		left := float64(n - place)
		sum += missed * float64(r) / left / float64(place+1)
		missed *= (left - float64(r)) / left
	}
	return sum
}
