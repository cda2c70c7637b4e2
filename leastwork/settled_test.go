package leastwork

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A job whose keys count as settled has the work that was filed, after what is predicted of its name and of the class
// has changed meanwhile.
func TestSettledJobsKeepTheirWork(t *testing.T) {
	settled := 0
	for _, name := range []string{"", "x"} {
		for mask := range 8 {
			told, useTold, useRatio := mask&1 != 0, mask&2 != 0, mask&4 != 0
			for _, what := range []change{unused, untold} {
				t.Run(fmt.Sprintf("name=%s/told=%v/use=%v/ratio=%v/%d", name, told, useTold, useRatio, what), func(t *testing.T) {
					p, err := New(Options{})
					if err != nil {
						t.Fatal(err)
					}
					b := p.stats.of(0)
					b.useTold, b.useRatio = useTold, useRatio
					b.names.vote("x", log(time.Minute), time.Second)
					spec := &sojourn.Job{ID: 1, Name: name, Phases: []sojourn.Phase{{Tasks: 3}}}
					if told {
						spec.Phases[0].Estimate = time.Hour
					}
					if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: spec}); err != nil {
						t.Fatal(err)
					}
					b.names.vote("x", log(time.Second), time.Second)
					if what == untold {
						b.usualTime *= 2
					}
					j := p.queue.Ledger.Job(1)
					if !p.settled(j, 0, what) {
						return
					}
					settled++
					was := j.Data.sides[0].all()
					if p.remeasure(j, 0); j.Data.sides[0].all() != was {
						t.Errorf("filed with work %v, which is %v now", was, j.Data.sides[0].all())
					}
				})
			}
		}
	}
	if settled < 8 {
		t.Errorf("%d of 32 jobs are settled, want at least 8", settled)
	}
}
