package forecast_test

import (
	"context"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/forecast"
)

// While nothing has finished, an interval says that a job takes what it was told, within a factor of 2 to 3 each way. After ten
// finishes that took a fifth of it or five times as much, within a tenth, all of the interval is near that.
func TestToldSizesAreBelievedAtFirst(t *testing.T) {
	const told = 90 * time.Second
	for _, c := range []struct {
		finishes  int
		took      float64 // of what was told
		low, high [2]float64
	}{
		{0, 1, [2]float64{1. / 3, 1. / 2}, [2]float64{2, 3}},
		{10, 5, [2]float64{4, 5}, [2]float64{5, 6}},
		{10, .2, [2]float64{.16, .2}, [2]float64{.2, .24}},
	} {
		p, _ := policyNamed("fifo")()
		w := forecast.New(p)
		now := sojourn.Time(0)
		observe := func(ev sojourn.Event) {
			t.Helper()
			ev.At = now
			if err := w.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		arrive := func(id sojourn.JobID) {
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1, Estimate: told}}}})
		}
		observe(sojourn.Event{Kind: sojourn.SlotAdded})
		for i := range c.finishes {
			arrive(sojourn.JobID(i + 1))
			a, _ := w.Assign(0)
			took := time.Duration(float64(told) * c.took * (.9 + .02*float64(i)))
			now = now.Add(took)
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Service: took})
		}
		arrive(100)
		w.Assign(0)
		f, err := w.Foresee(context.Background(), forecast.Question{Policy: policyNamed("fifo"), Draws: 1000})
		if err != nil {
			t.Fatal(err)
		}
		at := func(at sojourn.Time) float64 { return float64(at.Sub(now)) / float64(told) }
		in := func(x float64, of [2]float64) bool { return of[0] <= x && x <= of[1] }
		if low, high := at(f.Jobs[0].Finish.Low), at(f.Jobs[0].Finish.High); !in(low, c.low) || !in(high, c.high) {
			t.Errorf("after %d finishes of %v times what was told: %.3f to %.3f of it", c.finishes, c.took, low, high)
		}
	}
}
