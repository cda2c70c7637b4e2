package report

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/research/sim"
)

// Where nothing is known of fair sharing, as in plans, a job has no lateness against it.
func TestJobRowWithoutFluid(t *testing.T) {
	late := slices.Index(jobsHeader(), "late_vs_ps")
	r := sim.JobRecord{ID: 1, Arrival: 1e9, Finish: 5e9, Outcome: sim.Finished}
	if got := jobRow(&r)[late]; got != "" {
		t.Errorf("lateness %q without a fluid schedule", got)
	}
	r.PSFinish = 6e9
	if got := jobRow(&r)[late]; got != "-1" {
		t.Errorf("lateness %q, want -1", got)
	}
}
