package mars

import (
	"fmt"
	"slices"
)

// A Round is one pass of Algorithm 1.
type Round struct {
	// Value is the objective of the relaxed linear program: a lower bound.
	Value float64
	// Violated is the number of performance guarantee constraints that its solution
	// violates, all of which the next round has.
	Violated int
	// Feasible is the objective of S^NV, which satisfies all of them (erratum 2).
	Feasible float64
}

// COGE runs Algorithm 1 as the paper has it, for comparison: the relaxed program is
// solved, every violated constraint PGC(pi, i) is added, and so on until none is
// violated or Value >= (1-epsilon) Feasible. i goes from 2 to |T|+1 (erratum 1) and
// S^NV is that of erratum 2. It returns at most so many rounds (0: 1000), and C of the
// last: with late start times, one of several solutions of the same value.
//
// [LowerBound] finds the same value as epsilon = 0 much faster. The error wraps
// ErrInstance, or ErrUnsupported for TaskCompletion.
func COGE(in Instance, epsilon float64, rounds int) ([]Round, []float64, error) {
	if err := in.Check(); err != nil {
		return nil, nil, err
	}
	if !(epsilon >= 0 && epsilon < 1) {
		return nil, nil, fmt.Errorf("epsilon %v is not in [0, 1)", epsilon)
	}
	if rounds < 0 {
		return nil, nil, fmt.Errorf("negative number of rounds %d", rounds)
	}
	if in.Objective != JobCompletion {
		return nil, nil, fmt.Errorf("%w: COGE is for the completion of jobs", ErrUnsupported)
	}
	list, c := coge(newJobForm(newFlat(&in)), epsilon, rounds)
	return list, c, nil
}

// coge is COGE on the job form.
func coge(jf *jobForm, epsilon float64, rounds int) ([]Round, []float64) {
	if rounds == 0 {
		rounds = 1000
	}
	g := &generator{jf: jf, m: newMaster(jf.w)}
	c := slices.Clone(jf.c)
	var list []Round
	for {
		r := Round{Value: jf.value(c)}
		for k := range jf.m {
			g.buffer = jf.scan(int32(k), c, g.buffer)
			r.Violated += g.everyPrefix(int32(k), g.buffer)
		}
		_, r.Feasible = jf.repairByItem(c)
		list = append(list, r)
		if r.Violated == 0 || r.Value >= float64((1-epsilon)*r.Feasible) || len(list) == rounds {
			return list, c
		}
		if !g.m.solve(g.m.pivots + 20_000 + 100*len(jf.w)) {
			return list, c
		}
		g.m.refresh()
		for j := range c {
			c[j] = jf.c[j] + max(g.m.x[j]/jf.w[j], 0)
		}
	}
}

// everyPrefix adds the inequality of every violated prefix of a list. It returns
// their number.
func (g *generator) everyPrefix(class int32, list []scanned) int {
	jf := g.jf
	row := make([]float64, len(jf.w))
	n := 0
	work, sum, own := 0.0, 0.0, 0.0
	for _, s := range list {
		it := &jf.items[s.item]
		row[s.job] += it.p
		work += it.p
		sum += float64(it.p * s.m)
		own += float64(it.p * (jf.c[s.job] - it.h))
		need := float64(work*work) / (2 * jf.m[class])
		if sum < float64(need*(1-1e-9)) {
			n++
			g.m.add(cut{class, 0, work}, slices.Clone(row), need-own)
		}
	}
	return n
}
