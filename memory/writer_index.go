package memory

// takeIndex applies what reading the index of a root came to.
func (w *writer) takeIndex(src *source, res result) {
	s := &src.state
	e := &s.indexFile
	e.retry = 0
	switch res.outcome {
	case outcomeRead, outcomeHalf, outcomeSame:
		s.index, s.hasIndex = res.index, true
	case outcomeGone, outcomeFailed:
		if res.attempt < maxAttempts {
			w.retry(src, res.rel, e, res.attempt+1, retryAfter)
			return
		}
		if res.outcome == outcomeGone {
			s.dropIndex()
			return
		}
		s.index = nil
	case outcomeRefused:
		s.index = nil
	}
	e.failed = res.outcome == outcomeFailed
	if s.fail(res.rel, res.reason) && res.reason != "" {
		w.c.opt.Log.Warn("index not read", "root", src.real, "path", res.rel, "reason", res.reason)
	}
}

// dropIndex forgets the index.
func (s *sourceState) dropIndex() {
	s.index, s.hasIndex, s.indexFile = nil, false, entry{}
	s.fail(IndexName, "")
}
