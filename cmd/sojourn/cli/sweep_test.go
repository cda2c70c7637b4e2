package cli

import (
	"testing"
)

// With --vary estimates, each row is what compare says with these estimates.
func TestSweepVariesEstimates(t *testing.T) {
	type row struct {
		Policy, Value string
		Sojourn       struct{ Mean struct{ Mean float64 } }
	}
	var swept struct {
		Vary, Estimates string
		Policies        []row
	}
	gen := []string{"--gen", "hfsp-dev:jobs=60,load=0.9", "-p", "srpt,hfsp", "--json", "-q"}
	runJSON(t, &swept, append([]string{"sweep", "--vary", "estimates=none,exact,factor:10,lognormal:1"}, gen...)...)
	if swept.Vary != "estimates" || swept.Estimates != "" || len(swept.Policies) != 8 {
		t.Fatalf("vary %q, estimates %q, %d rows; want 8 rows that vary in estimates", swept.Vary, swept.Estimates, len(swept.Policies))
	}
	means := map[float64]bool{}
	for i, told := range []string{"none", "exact", "factor:10", "lognormal:1"} {
		var compared struct {
			Policies []struct {
				Policy  string
				Sojourn struct{ Mean float64 }
			}
		}
		runJSON(t, &compared, append([]string{"compare", "--estimates", told}, gen...)...)
		for k, want := range compared.Policies {
			got := swept.Policies[2*i+k]
			if got.Policy != want.Policy || got.Value != told || got.Sojourn.Mean.Mean != want.Sojourn.Mean {
				t.Errorf("%s with estimates %s: sweep has %+v, compare %+v", want.Policy, told, got, want)
			}
			if want.Policy == "srpt" {
				means[want.Sojourn.Mean] = true
			}
		}
	}
	if len(means) < 3 {
		t.Errorf("srpt has the means %v: estimates change nothing", means)
	}
}
