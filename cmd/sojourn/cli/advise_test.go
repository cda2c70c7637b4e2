package cli

import (
	"testing"
)

// The numbers of advise are those of compare at the same load.
func TestAdviseIsCompare(t *testing.T) {
	file := firstOfSample(t, 40)
	type values struct {
		Policy string
		Values []float64
	}
	type dist struct{ Mean, Median, P99 float64 }
	for objective, of := range map[string]func(sojourn, slowdown dist) float64{
		"mean":     func(sojourn, _ dist) float64 { return sojourn.Mean },
		"median":   func(sojourn, _ dist) float64 { return sojourn.Median },
		"p99":      func(sojourn, _ dist) float64 { return sojourn.P99 },
		"slowdown": func(_, slowdown dist) float64 { return slowdown.Mean },
	} {
		var advised struct{ Policies []values }
		args := []string{"-w", file, "-c", "10x1+1", "--estimates", "exact", "--seed", "3", "--straggler-probability", "0.1", "--straggler-factor", "3", "--json", "-q", "-p", "fifo,fair,srpt"}
		runJSON(t, &advised, append([]string{"advise", "--objective", objective, "--loads", "recorded,0.8"}, args...)...)
		for l, load := range [][]string{nil, {"--load", "0.8"}} {
			var compared struct {
				Policies []struct {
					Policy            string
					Sojourn, Slowdown dist
				}
			}
			runJSON(t, &compared, append(append([]string{"compare"}, load...), args...)...)
			for _, p := range compared.Policies {
				want, found := of(p.Sojourn, p.Slowdown), false
				for _, got := range advised.Policies {
					if got.Policy != p.Policy {
						continue
					}
					found = true
					if off := got.Values[l]/want - 1; off > 1e-12 || off < -1e-12 {
						t.Errorf("%s of %s at load %v: advise has %v, compare %v", objective, p.Policy, load, got.Values[l], want)
					}
				}
				if !found {
					t.Errorf("%s: no %s in %v", objective, p.Policy, advised.Policies)
				}
			}
		}
	}
}
