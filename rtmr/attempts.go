package rtmr

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A starts has the instants at which the running attempts of a stage started, sorted,
// with a count for each. Attempts start in the order of time, but end in any order. So
// runs with a count of zero stay in the middle until they are half of the list.
type starts struct {
	runs []startRun
	head int // runs before it are empty
	live int // number of runs that are not empty

	// groups has an entry for each group of runs, of which the last may be smaller: the
	// instant of its last run, and the sum of its counts. Some at the end may be missing
	// until regroup makes them.
	groups []startRun
}

// group is the number of runs in a group.
const group = 32

type startRun struct {
	at sojourn.Time
	n  int64
}

// add counts an attempt. It is in order unless it was adopted.
func (s *starts) add(at sojourn.Time) {
	last := len(s.runs) - 1
	switch {
	case s.live > 0 && s.runs[last].at == at:
		s.count(last, 1)
		return
	case s.live > 0 && s.runs[last].at > at:
		i, found := s.find(at)
		if found {
			if s.runs[i].n == 0 {
				s.live++
			}
			s.count(i, 1)
			return
		}
		s.runs = slices.Insert(s.runs, i, startRun{at, 1})
		s.groups = s.groups[:min(i/group, len(s.groups))]
	default:
		if n := len(s.runs); n == cap(s.runs) && 2*s.live <= n {
			s.compact() // afterwards half of it is free, for as many more
		}
		n := len(s.runs)
		s.runs = append(s.runs, startRun{at, 1})
		switch made := len(s.groups); {
		case n == group*made:
			s.groups = append(s.groups, startRun{at, 1})
		case n < group*made:
			g := &s.groups[made-1]
			g.at, g.n = at, g.n+1
		}
	}
	s.live++
}

// count adds to the count of a run.
func (s *starts) count(i int, by int64) {
	s.runs[i].n += by
	if i < group*len(s.groups) {
		s.groups[i/group].n += by
	}
}

// regroup makes the groups that are missing.
func (s *starts) regroup() {
	for runs := range slices.Chunk(s.runs[min(group*len(s.groups), len(s.runs)):], group) {
		g := startRun{at: runs[len(runs)-1].at}
		for _, r := range runs {
			g.n += r.n
		}
		s.groups = append(s.groups, g)
	}
}

// remove removes an attempt that started at the given instant.
func (s *starts) remove(at sojourn.Time) {
	i, _ := s.find(at)
	if s.count(i, -1); s.runs[i].n > 0 {
		return
	}
	s.live--
	for s.head < len(s.runs) && s.runs[s.head].n == 0 {
		s.head++
	}
	for len(s.runs) > s.head && s.runs[len(s.runs)-1].n == 0 {
		s.runs = s.runs[:len(s.runs)-1]
	}
	if n := len(s.runs); n < group*len(s.groups) {
		if s.groups = s.groups[:(n+group-1)/group]; n > 0 {
			s.groups[len(s.groups)-1].at = s.runs[n-1].at
		}
	}
	if len(s.runs)-s.head > 2*s.live+8 {
		s.compact()
	}
}

// find returns the index of the run of an instant, or the index where it belongs.
func (s *starts) find(at sojourn.Time) (int, bool) {
	i, found := slices.BinarySearchFunc(s.runs[s.head:], at, func(r startRun, at sojourn.Time) int {
		switch {
		case r.at < at:
			return -1
		case r.at > at:
			return 1
		}
		return 0
	})
	return s.head + i, found
}

// compact drops empty runs.
func (s *starts) compact() {
	out := s.runs[:0]
	for _, r := range s.runs[s.head:] {
		if r.n > 0 {
			out = append(out, r)
		}
	}
	s.runs, s.head, s.groups = out, 0, s.groups[:0]
}

// last returns the latest start; false if nothing runs.
func (s *starts) last() (sojourn.Time, bool) {
	if s.live == 0 {
		return 0, false
	}
	return s.runs[len(s.runs)-1].at, true
}

// from returns the earliest start at or after an instant.
func (s *starts) from(at sojourn.Time) (sojourn.Time, bool) {
	if s.live == 0 {
		return 0, false
	}
	i, _ := s.find(at)
	for ; i < len(s.runs); i++ {
		if s.runs[i].n > 0 {
			return s.runs[i].at, true
		}
	}
	return 0, false
}
