package rtmr

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// Jobs of one map of 10 wait for the one slot. The deadline of each is exactly its end,
// except for the last two jobs, which have time. A new job of 10 has to go behind all but
// these two. All places before are tried in vain, and at each of them all jobs behind are
// booked again. With 256 jobs the offer is the least deadline that is accepted. With 400
// the search ends early, with a deadline that is accepted but is not the least.
//
// Reference: doc.go, I8 and Cost.
func TestOfferAmongManyJobs(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		for _, tc := range []struct {
			jobs  int64
			exact bool
			offer int64 // how many jobs of 10 it leaves room for
		}{{256, true, 255}, {400, false, 401}} {
			t.Run(fmt.Sprintf("%v/%d", booking, tc.jobs), func(t *testing.T) {
				w := small(t, Options{Booking: booking}, 1, 0)
				for i := range tc.jobs {
					deadline := 10 * (i + 1)
					if i >= tc.jobs-2 {
						deadline = 1e6
					}
					if !w.arrive(exact(sojourn.JobID(i+1), deadline, 1, 10, 0, 0)) {
						t.Fatalf("job %d was refused", i+1)
					}
				}
				next := exact(1000, 5, 1, 10, 0, 0)
				var r *sojourn.RejectedError
				if err := w.p.Admit(next.spec()); !errors.As(err, &r) {
					t.Fatal(err)
				}
				if r.Offer != sojourn.Time(10*tc.offer)*sojourn.Time(unit) || r.Exact != tc.exact {
					t.Errorf("offer %v, exact %v, want %d and %v", r.Offer, r.Exact, 10*tc.offer, tc.exact)
				}
				accepted := func(deadline int64) bool {
					next.deadline = deadline
					return w.p.Admit(next.spec()) == nil
				}
				if least := 10 * (tc.jobs - 1); !accepted(least) || accepted(least-1) {
					t.Errorf("%d is not the least deadline that is accepted", least)
				}
				next.deadline = 10 * tc.offer
				if !w.arrive(next) {
					t.Error("the offer was refused")
				}
				if w.run(); w.missed > 0 {
					t.Errorf("%d jobs missed their deadlines", w.missed)
				}
			})
		}
	}
}
