package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A quantile equals that of the values written out as often as they are drawn.
func TestQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		values := make([]float64, 1+r.IntN(30))
		for i := range values {
			if values[i] = float64(r.IntN(10)); r.IntN(5) == 0 {
				values[i] = math.NaN()
			}
		}
		percent := 1 + r.IntN(99)
		o := NewOrder(values, percent)
		Resamples(len(values), 1+r.IntN(5), 3, r.Uint64(), func(_ int, rs *Resample) {
			w := make([]int32, len(values))
			rs.Weights(w)
			var drawn []float64
			for i, v := range values {
				for range w[i] {
					if !math.IsNaN(v) {
						drawn = append(drawn, v)
					}
				}
			}
			slices.SortFunc(drawn, cmp.Compare)
			want := math.NaN()
			for k, v := range drawn { // the least value that at least this percentage does not exceed
				if 100*(k+1) >= percent*len(drawn) {
					want = v
					break
				}
			}
			if got := o.Of(rs); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("percentile %d of %v is %v, want %v", percent, drawn, got, want)
			}
		})
	}
}
