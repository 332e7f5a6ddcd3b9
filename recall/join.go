package recall

import "slices"

// quickJoin is up to how many postings segments are joined at once; what is more is
// joined beside the catalog's writer, which must not wait that long.
const quickJoin = 20_000

// joining is a join that is under way.
type joining struct {
	from []view // as they were when it began
	done chan *segment
}

// compact joins segments: of a size class that holds too many of them, and one by
// itself of which more than half is gone. A join of large ones is begun, and takes
// the place of what it joins later, see install.
func (in *Indexer) compact(ix *Index) {
	for _, v := range ix.views {
		if v.alive*2 < len(v.docs) && len(v.docs) > 64 {
			in.join(ix, []view{v})
		}
	}
	for class := 0; ; class++ {
		var same []view
		more := false
		for _, v := range ix.views {
			if in.busy(v) {
				continue
			}
			c := sizeClass(v.alive)
			more = more || c > class
			if c == class {
				same = append(same, v)
			}
		}
		if len(same) > mergeFanout {
			more = in.join(ix, same) || more
		}
		if !more {
			return
		}
	}
}

// busy tells whether a segment is being joined.
func (in *Indexer) busy(v view) bool {
	return in.joining != nil && slices.ContainsFunc(in.joining.from, func(o view) bool { return o.segment == v.segment })
}

// join joins segments of an index, now or beside, and tells whether it has. One join
// at a time is under way; what else is due waits for it.
func (in *Indexer) join(ix *Index, vs []view) bool {
	postings := 0
	for _, v := range vs {
		postings += len(v.doc)
	}
	if postings <= quickJoin {
		ix.replace(vs, joined(vs))
		return true
	}
	if in.joining != nil {
		return false
	}
	j := &joining{from: slices.Clone(vs), done: make(chan *segment, 1)}
	in.joining = j
	go func() {
		// Inv: a view that an index has is never written to again.
		j.done <- mergeSegments(j.from)
		select {
		case in.joined <- struct{}{}:
		default:
		}
	}()
	return false
}

// install puts the result of a join in the place of what was joined. What has gone in
// the meantime goes from it, too.
func (in *Indexer) install(ix *Index) {
	if in.joining == nil {
		return
	}
	j := in.joining
	var s *segment
	select {
	case s = <-j.done:
	default:
		return
	}
	in.joining = nil
	v := view{segment: s, alive: len(s.docs)}
	for _, then := range j.from {
		at := slices.IndexFunc(ix.views, func(o view) bool { return o.segment == then.segment })
		for id, d := range then.docs {
			if then.dead.has(uint32(id)) || at >= 0 && !ix.views[at].dead.has(uint32(id)) {
				continue
			}
			v.dead.add(s.local[d])
			v.alive--
		}
	}
	ix.replace(j.from, v)
}

// replace puts a view in the place of others.
func (ix *Index) replace(old []view, v view) {
	ix.views = slices.DeleteFunc(ix.views, func(o view) bool {
		return slices.ContainsFunc(old, func(x view) bool { return x.segment == o.segment })
	})
	if v.alive > 0 {
		ix.views = append(ix.views, v)
	}
}

func joined(vs []view) view {
	s := mergeSegments(vs)
	return view{segment: s, alive: len(s.docs)}
}

// Joined is told when [Indexer.Update] has something to do without a change: large
// segments have been joined, which makes queries faster. It implements
// [memory.Joiner].
func (in *Indexer) Joined() <-chan struct{} { return in.joined }

// Wait returns when no join is under way.
func (in *Indexer) Wait() {
	if in.joining != nil {
		in.joining.done <- <-in.joining.done
	}
}
