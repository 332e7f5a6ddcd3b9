package memory

// Heading is a heading of a body, marked or underlined.
type Heading struct {
	Span  Span // its lines, with the underline and without the last line end
	Level int  // 1 to 6
	Text  string
	// Section is the heading with what stands under it: up to the next heading of
	// its level or a higher one, without blank edges.
	Section Span
}

// Outline is the structure of a body.
type Outline struct {
	Headings []Heading
	Entries  []Entry // as [Entries] has them
	Fences   []Span  // code blocks with their fences, without the last line end
}

// OutlineOf reads the structure of a body, at a cost that is linear in it.
func OutlineOf(d *Document) Outline {
	b := scanBlocks(d, false)
	o := Outline{Headings: b.headings, Entries: b.entries, Fences: b.fences}
	var open []int // the headings whose sections go on, by rising level
	end := func(level, at int) {
		for len(open) > 0 && o.Headings[open[len(open)-1]].Level >= level {
			h := &o.Headings[open[len(open)-1]]
			h.Section = Span{h.Span.Start, max(h.Span.End, trimBlank(d.Text, Span{h.Span.Start, at}).End)}
			open = open[:len(open)-1]
		}
	}
	for i := range o.Headings {
		end(o.Headings[i].Level, o.Headings[i].Span.Start)
		open = append(open, i)
	}
	end(1, d.Body.End)
	return o
}
