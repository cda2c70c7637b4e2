package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/lp"
)

// A Round is one pass of Algorithm 1.
type Round struct {
	// Value is the objective of the relaxed linear program: a lower bound.
	Value float64
	// Violated is the number of performance guarantee constraints that its solution
	// violates. The next round has all of them.
	Violated int
	// Feasible is the objective of S^NV, which satisfies all of them (erratum 2).
	Feasible float64
}

// COGE runs Algorithm 1 as the paper has it, for comparison. It solves the relaxed
// program, adds every violated constraint PGC(pi, i), and repeats. It ends when none
// is violated, when Value >= (1-epsilon) Feasible, or after the given number of rounds
// (0 means 1000); it returns at least one. i goes from 2 to |T|+1 (erratum 1), and S^NV is that of erratum 2.
//
// [LowerBound] finds the same value as epsilon = 0 much faster. The error wraps
// ErrInstance, or [errors.ErrUnsupported] for TaskCompletion.
func COGE(in Instance, epsilon float64, rounds int) ([]Round, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	if !(epsilon >= 0 && epsilon < 1) {
		return nil, fmt.Errorf("epsilon %v is not in [0, 1)", epsilon)
	}
	if rounds < 0 {
		return nil, fmt.Errorf("negative number of rounds %d", rounds)
	}
	if in.Objective != JobCompletion {
		return nil, fmt.Errorf("%w: COGE is for the completion of jobs", errors.ErrUnsupported)
	}
	list, _ := coge(newJobForm(newFlat(&in)), epsilon, rounds)
	return list, nil
}

// coge is COGE on the job form. It also returns C of the last round: with late start times, one of several solutions
// of the same value.
func coge(jf *lp.JobForm, epsilon float64, rounds int) (list []Round, c []float64) {
	if rounds == 0 {
		rounds = 1000
	}
	g := &generator{jf: jf, m: newMaster(jf.W)}
	c = slices.Clone(jf.C)
	for {
		r := Round{Value: jf.Value(c)}
		for k := range jf.M {
			g.buffer = jf.Scan(int32(k), c, g.buffer)
			r.Violated += g.everyPrefix(int32(k), g.buffer)
		}
		_, r.Feasible = jf.RepairByItem(c)
		list = append(list, r)
		if r.Violated == 0 || r.Value >= float64((1-epsilon)*r.Feasible) || len(list) == rounds {
			return list, c
		}
		if !g.m.solve(g.m.pivots + 20_000 + 100*len(jf.W)) {
			return list, c
		}
		g.m.refresh()
		for j := range c {
			c[j] = jf.C[j] + max(g.m.x[j]/jf.W[j], 0)
		}
	}
}

// everyPrefix adds the inequality of every violated prefix of a list. It returns
// their number.
func (g *generator) everyPrefix(class int32, list []lp.Scanned) int {
	jf := g.jf
	row := make([]float64, len(jf.W))
	n := 0
	work, sum, own := 0.0, 0.0, 0.0
	for _, s := range list {
		it := &jf.Items[s.Item]
		row[s.Job] += it.P
		work += it.P
		sum += float64(it.P * s.M)
		own += float64(it.P * (jf.C[s.Job] - it.H))
		need := float64(work*work) / (2 * jf.M[class])
		if sum < float64(need*(1-1e-9)) {
			n++
			g.m.add(cut{class, 0, work}, slices.Clone(row), need-own)
		}
	}
	return n
}
