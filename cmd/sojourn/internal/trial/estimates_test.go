package trial

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/research/sim"
)

func TestEstimatesFlag(t *testing.T) {
	tests := []struct {
		text string
		want sim.Estimates
	}{
		{"exact", sim.Estimates{}},
		{"none", sim.Estimates{Mode: sim.None}},
		{"lognormal:0.5", sim.Estimates{Mode: sim.LogNormal, Sigma: 0.5}},
		{"lognormal:0", sim.Estimates{Mode: sim.LogNormal}},
		{"factor:0.1", sim.Estimates{Mode: sim.Scaled, Factor: 0.1}},
		{"factor:1e+06", sim.Estimates{Mode: sim.Scaled, Factor: 1e6}},
		{"factor:1e-06", sim.Estimates{Mode: sim.Scaled, Factor: 1e-6}},
	}
	for _, tc := range tests {
		var f Estimates
		if err := f.Set(tc.text); err != nil || sim.Estimates(f) != tc.want || f.String() != tc.text {
			t.Errorf("Set(%q) = %v, makes %+v and reads %q, want %+v", tc.text, err, f, f.String(), tc.want)
		}
	}
	for _, text := range []string{"", "Exact", "lognormal", "lognormal:", "lognormal:x", "lognormal:-1", "lognormal:11", "none:1",
		"factor", "factor:", "factor:0", "factor:-1", "factor:NaN", "factor:9e-7", "factor:1000001"} {
		f := Estimates{Mode: sim.None}
		if err := f.Set(text); err == nil || f.Mode != sim.None {
			t.Errorf("Set(%q) = %v and makes %+v, want an error and no change", text, err, f)
		}
	}
}

// Factors of remote reads are finite numbers above 0, up to the greatest float64.
func TestRemoteFlag(t *testing.T) {
	var r RemoteFactors
	if err := r.Set("5e-324,1,1.7976931348623157e308"); err != nil || r.Remote != math.MaxFloat64 {
		t.Errorf("the ends of the range: %v, error %v", r, err)
	}
	for _, text := range []string{"0,1,1", "-1,1,1", "1,NaN,1", "1,1,inf", "1,1,1e309", "1,1", "1,1,1,1", ""} {
		if err := new(RemoteFactors).Set(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
