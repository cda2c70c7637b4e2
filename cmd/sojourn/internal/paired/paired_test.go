package paired

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// drawn returns the values of policies that ran the same jobs: those of the first, times a factor and an error of each job.
func drawn(n int, spread float64, factors ...float64) [][]float64 {
	r := rand.New(rand.NewPCG(7, 7))
	list := make([][]float64, len(factors))
	for range n {
		job := math.Exp(r.NormFloat64())
		for p, f := range factors {
			list[p] = append(list[p], job*f*math.Exp(spread*r.NormFloat64()))
		}
	}
	return list
}

// A policy whose jobs take a fixed share longer is worse by just that, without doubt: differences are paired, however much
// jobs differ. One whose jobs differ by chance alone is tied.
func TestPaired(t *testing.T) {
	n := Compare(drawn(400, 0, 1, 1.1, 3), 0, 20, 1)
	for i, factor := range []float64{1, 1.1, 3} {
		a := n.Against(i, 0)
		if got := math.Exp(a.Mean); math.Abs(got/factor-1) > 1e-9 || a.Half > 1e-9 {
			t.Errorf("policy %d: %v times as much, half of the interval %v, want %v and 0", i, got, a.Half, factor)
		}
	}
	if n.Best() != 0 || n.Ties() != nil || n.Blocks != 20 {
		t.Errorf("best %d, tied %v, %d blocks", n.Best(), n.Ties(), n.Blocks)
	}
	n = Compare(drawn(400, 0.3, 3, 1.001, 1, 1.002), 50, 20, 1)
	ties := n.Ties()
	slices.Sort(ties)
	if best := n.Best(); best == 0 || len(ties) != 2 || slices.Contains(ties, 0) || slices.Contains(ties, best) {
		t.Errorf("best %d, tied %v, want the last three", best, ties)
	}
	for i := range n.Values {
		for k := range n.Values {
			if a, b := n.Against(i, k), n.Against(k, i); math.Abs(a.Mean+b.Mean) > 1e-12 || math.Abs(a.Half-b.Half) > 1e-12 {
				t.Errorf("%d against %d is %v, the other way round %v", i, k, a, b)
			}
		}
	}
}

// Without intervals nothing is tied; without a number nothing is best.
func TestUnknown(t *testing.T) {
	n := Compare([][]float64{{1, 2}, {2, 2}}, 0, Block([][]float64{{1, 2}, {2, 2}}, 90), 1)
	if n.Block != 0 || n.Best() != 0 || n.Ties() != nil || !math.IsNaN(n.Against(1, 0).Half) {
		t.Errorf("two jobs: %+v, against %v", n, n.Against(1, 0))
	}
	if n := Compare([][]float64{{0, 0}, {2, 2}}, 0, 0, 1); n.Best() != -1 || n.Ties() != nil {
		t.Errorf("jobs that take no time: best %d", n.Best())
	}
}
