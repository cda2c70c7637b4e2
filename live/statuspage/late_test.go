package statuspage

import (
	"testing"

	"github.com/sojourn-sched/sojourn/live"
)

// The promises of the policy that are void make jobs late.
func TestLate(t *testing.T) {
	for _, c := range []struct {
		job  live.JobStatus
		late bool
	}{
		{live.JobStatus{}, false}, {live.JobStatus{Deadline: 5}, false}, {live.JobStatus{Deadline: 4}, true}, {live.JobStatus{Void: "slots are gone"}, true},
	} {
		if got := late(&c.job, 5); got != c.late {
			t.Errorf("%+v is late at 5: %v", c.job, got)
		}
	}
}
