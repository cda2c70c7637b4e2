package rtmr

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// Attempts that all end at different instants make long vectors, and each booking passes
// over them. Most candidates fit with room to spare. fits finds these with short vectors,
// in which slots become available at the same instants or later: Fill is monotone, so no
// job ends earlier behind such vectors, and a promise that is kept there is kept.

const (
	many    = 1 << 12 // distinct starts of running attempts from which on vectors are coarse at first
	long    = 1 << 6  // promises from which on fits is asked first
	buckets = 1 << 9  // of a coarse vector
	few     = 1 << 4  // runs of a vector in the first test
	grouped = 1 << 6  // groups of starts of a job from which on they go into a grid as such
)

// A grid groups instants from now on into buckets of 2^shift ns.
type grid struct {
	now   int64
	shift int
	last  []int64 // the latest end in each bucket
	n     []int64 // how many slots
}

// begin makes a grid of at most size buckets, for instants from now to last.
func (g *grid) begin(now, last int64, size int) {
	g.now, g.shift = now, bits.Len64(uint64(last-now)/uint64(size))
	used := int((last-now)>>g.shift) + 1
	g.last, g.n = append(g.last[:0], make([]int64, used)...), append(g.n[:0], make([]int64, used)...)
}

// add adds attempts that take that long. If there are many, each group of them ends with its
// last one.
func (g *grid) add(s *starts, eps int64) {
	single := s.runs[s.head:]
	if len(single) > group*grouped {
		first, _ := s.find(sojourn.Time(g.now - eps)) // those before it have outlasted their estimate
		whole := min((first+group-1)/group*group, len(s.runs))
		single = s.runs[first:whole]
		s.regroup()
		g.addSingly(s.groups[(whole+group-1)/group:], eps)
	}
	g.addSingly(single, eps)
}

// addSingly adds attempts that started at these instants, in order.
func (g *grid) addSingly(runs []startRun, eps int64) {
	at, last, n := int64(0), g.now, int64(0) // a bucket, and what comes into it
	for _, r := range runs {
		end := slotvec.Add(int64(r.at), eps)
		if r.n == 0 || end < g.now {
			continue
		}
		if i := (end - g.now) >> g.shift; i != at {
			g.put(at, last, n)
			at, n = i, 0
		}
		last, n = end, n+r.n
	}
	g.put(at, last, n)
}

func (g *grid) put(i, last, n int64) {
	g.last[i] = max(g.last[i], last)
	g.n[i] += n
}

// vector appends the grid as a vector of slots.
func (g *grid) vector(dst slotvec.Vector) slotvec.Vector {
	for i, n := range g.n {
		if n > 0 {
			dst = append(dst, slotvec.Run{T: g.last[i], N: n})
		}
	}
	return dst
}

// coarse sets v to vectors of at most size instants each, and one for free slots, none of
// them before the instants of reality.
func (c *cluster) coarse(jobs []*job, g *grid, v *vectors, now int64, size int) {
	for s := range v {
		last := now
		for _, j := range jobs {
			if at, ok := j.Data.running[s].last(); ok {
				last = max(last, slotvec.Add(int64(at), j.Data.eps[s]))
			}
		}
		g.begin(now, last, size)
		c.ends(jobs, s, g.add)
		v[s] = v[s][:0]
		if c.free[s] > 0 {
			v[s] = append(v[s], slotvec.Run{T: now, N: c.free[s]})
		}
		v[s] = slotvec.Sort(g.vector(v[s]))
	}
}

// fits reports whether the candidate gets its natural place, by vectors of at most twice as many
// runs as limit: if it says yes, that is so.
func (a *admission) fits(limit int) bool {
	a.limit = limit
	return a.atNatural() == nil
}

// fitsEasily reports whether a candidate gets its natural place, if vectors that are quick to pass
// over show it. The jobs that have promises are in p.list.
func (p *promises) fitsEasily(cand entry, now int64) bool {
	crowded := p.order.running() > many
	if crowded {
		p.coarse(p.order.jobs, &p.grid, &p.base, now, buckets)
	} else if len(p.list) > long {
		p.reality(&p.base, now)
	} else {
		return false
	}
	a, _ := p.admission(cand, now)
	return a.fits(few) || crowded && a.fits(buckets)
}
