package lp

// A ratio is what Smith's rule compares.
type ratio struct {
	value float64 // weight over load
	load  float64 // time that all machines need, one class after the other
}

// A smith puts the jobs of a program into the order of Smith's rule.
type smith struct {
	ratios []ratio   // of the jobs with work
	total  float64   // sum of their loads
	order  []Scanned // in M, what is sorted by; Job is the place in ratios
	sorter sorter
}

// read reads the jobs and sorts them: the highest ratio first, then the least load.
func (s *smith) read(pr Program) Course {
	return inTurn(
		func() Course {
			s.ratios, s.order = make([]ratio, 0, pr.Len()), make([]Scanned, 0, pr.Len())
			return span(pr.Len(), 1, func(from, to int) {
				for i := from; i < to; i++ {
					if weight, load := pr.Load(i); load > 0 {
						s.order = append(s.order, Scanned{M: load, Job: int32(len(s.ratios))})
						s.ratios = append(s.ratios, ratio{weight / load, load})
						s.total += load
					}
				}
			})
		},
		func() Course { return s.sorter.sort(s.order) },
		func() Course {
			return span(len(s.order), 4, func(from, to int) {
				for i := from; i < to; i++ {
					s.order[i].M = -s.ratios[s.order[i].Job].value
				}
			})
		},
		func() Course { return s.sorter.sort(s.order) },
	)
}

// firstCurves makes the prices at which the search begins. They are in the order of
// Smith's rule, weight over work, with the given number of levels.
func firstCurves(pr Program, levels int, found func([]*Curve)) Course {
	m, work := pr.Shape()
	s := &smith{}
	curves := make([]*Curve, len(m))
	parts := []func() Course{func() Course {
		if levels == 0 {
			return nil
		}
		return s.read(pr)
	}}
	for k := range m {
		curves[k] = newCurve(m[k], 0)
		parts = append(parts, func() Course {
			if work[k] == 0 || len(s.order) == 0 {
				curves[k].prepare()
				return nil
			}
			return s.fill(curves[k], work[k], levels)
		})
	}
	return inTurn(append(parts, func() Course { found(curves); return nil })...)
}

// fill gives the first levels to the curve of a class with so much work.
func (s *smith) fill(c *Curve, work float64, levels int) Course {
	const tail = 24 // levels above and below those of jobs, a quarter each
	share := work / c.m / s.total
	add := func(t, v float64) {
		t, v = float64(t*share), float64(v*share)/c.m
		if n := len(c.v); n > 0 { // rounding
			t, v = max(t, c.t[n-1]), min(v, c.v[n-1])
		}
		c.t, c.v = append(c.t, t), append(c.v, v)
	}
	top := s.ratios[s.order[0].Job].value
	for i := tail; i > 0; i-- {
		v := top
		for range i {
			v *= 1.25
		}
		add(0, v)
	}
	// The levels are at equal distances of work, interpolated between the jobs.
	run, at, last := 0.0, 0.0, top
	step := s.total / float64(levels)
	return span(len(s.order), 1, func(from, to int) {
		for _, o := range s.order[from:to] {
			r := s.ratios[o.Job]
			for at <= run+r.load {
				add(at, max(last+float64((r.value-last)*float64((at-run)/r.load)), r.value))
				at += step
			}
			run += r.load
			last = r.value
		}
		if to == len(s.order) {
			v := last
			for range tail {
				v /= 1.25
				add(s.total, v)
			}
			add(s.total, 0)
			c.prepare()
		}
	})
}
