package lp

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The first prices of the search are valid prices: times never decrease and values never
// increase, however the loads of jobs round.
func TestFirstPricesAreInOrder(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		jf := NewJobForm([]float64{1, float64(1 + rng.IntN(7))})
		for range 1 + rng.IntN(6) {
			var items []Item
			for k := range int32(1 + rng.IntN(2)) {
				items = append(items, Item{P: math.Ldexp(rng.Float64()+1e-3, rng.IntN(60)-30), Class: k})
			}
			jf.Add(1+float64(rng.Uint32()), 1, 0, items)
		}
		var curves []*Curve
		firstCurves(jf, 24+rng.IntN(200), func(found []*Curve) { curves = found }).Finish()
		for _, c := range curves {
			if !slices.IsSorted(c.t) || !slices.IsSortedFunc(c.v, func(a, b float64) int { return cmp.Compare(b, a) }) {
				t.Fatalf("seed %d: times %v, values %v", seed, c.t, c.v)
			}
		}
	}
}
