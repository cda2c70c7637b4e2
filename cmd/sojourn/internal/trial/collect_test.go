package trial

import (
	"io"
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// The collected numbers are in the order of the workload, in whatever order jobs end. The
// number of a job is NaN if nothing is known about it.
func TestCollect(t *testing.T) {
	f := Setup{Policies: catalog.Builtin()}
	f.Source.Sample = true
	s, err := f.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := []sojourn.JobID{}
	watch := Collect(len(s.Workload.Jobs)+1,
		func(j *sim.JobRecord) float64 { ended = append(ended, j.ID); return float64(j.ID) },
		func(j *sim.JobRecord) float64 { return j.Sojourn().Seconds() })
	samples, err := Repeat(t.Context(), io.Discard, []Trial{{Scenario: s, Spec: catalog.Spec{Name: "srpt"}, Watch: watch}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	seen, sum, moved := samples[0].Seen[0].([][]float64), 0.0, false
	for i, j := range s.Workload.Jobs {
		if seen[0][i] != float64(j.ID) {
			t.Errorf("place %d has job %v, want %d", i, seen[0][i], j.ID)
		}
		sum += seen[1][i]
		moved = moved || ended[i] != j.ID
	}
	if last := len(s.Workload.Jobs); !moved || !math.IsNaN(seen[0][last]) || !math.IsNaN(seen[1][last]) {
		t.Errorf("jobs end in their order, or the place behind the last is %v", seen[0][last])
	}
	res := samples[0].Results[0]
	if mean := sum / float64(res.Jobs); math.Abs(mean/res.Sojourn.Mean-1) > 1e-12 || res.JobRecords != nil || res.Audit != (sim.Audit{}) {
		t.Errorf("mean sojourn time %v, want %v; %d records, audit %v", mean, res.Sojourn.Mean, len(res.JobRecords), res.Audit)
	}
}
