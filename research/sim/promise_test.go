package sim_test

import (
	"context"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A breaker gives up the promise to job 1 when the job has arrived, and says so ever
// after.
type breaker struct{ *table }

func (p breaker) AppendVoid(dst []sojourn.JobID) []sojourn.JobID {
	if p.find(1) != nil {
		dst = append(dst, 1)
	}
	return dst
}

func (p breaker) Void(id sojourn.JobID) (string, bool) { return "a slot was lost", id == 1 }

// A promise that stays void over many events is counted once, with its reason.
func TestVoidPromiseIsCountedOnce(t *testing.T) {
	r, st := run(t, sim.Config{
		Cluster: uniform(1), Policy: breaker{newTable(first)},
		Jobs: sim.Jobs(job(1, 0, []float64{1, 2, 3, 4}), job(2, 1, []float64{1, 1})),
	})
	if r.Void != 1 {
		t.Errorf("%d promises are void, want 1", r.Void)
	}
	for _, j := range st.jobs {
		want := ""
		if j.ID == 1 {
			want = "a slot was lost"
		}
		if j.Void != want {
			t.Errorf("job %d: void because %q, want %q", j.ID, j.Void, want)
		}
	}
}

// The script reports the recovery of a node that is up, because its random failure is
// over. This changes nothing. An attempt ends for the loss of its slot only when the node
// of that slot goes down.
func TestRecoveryOfANodeThatIsUp(t *testing.T) {
	recoveries := 0 // recoveries by the script of a node that was up and had an attempt
	for seed := range uint64(300) {
		if recoveries >= 5 {
			return
		}
		var script []sim.NodeFault
		for i := range sojourn.Time(20) {
			script = append(script, sim.NodeFault{At: (2*i + 1) * sojourn.Time(s), Node: 1}, sim.NodeFault{At: (2*i + 2) * sojourn.Time(s), Node: 1, Up: true})
		}
		var up, busy bool
		var downs []sojourn.Time
		var lost []sojourn.Time
		next := 0
		cfg := sim.Config{
			Cluster: uniform(1), Policy: newTable(first), Seed: seed,
			Jobs:   sim.Jobs(job(1, 0, []float64{1.5, 1.5, 1.5, 1.5, 1.5, 1.5})),
			Faults: sim.Faults{MTBF: 2 * s, MTTR: s, Script: script},
		}
		up = true
		cfg.Hooks = sim.Hooks{
			Event: func(ev sojourn.Event, err error) {
				for next < len(script) && script[next].At < ev.At {
					if script[next].Up && up && busy {
						recoveries++
					}
					next++
				}
				switch ev.Kind {
				case sojourn.NodeDown:
					up = false
					downs = append(downs, ev.At)
				case sojourn.NodeUp:
					up = true
				case sojourn.TaskFinished, sojourn.TaskFailed:
					busy = false
					if ev.Kind == sojourn.TaskFailed {
						lost = append(lost, ev.At)
					}
				}
			},
			Assigned: func(_ sojourn.SlotID, _ sojourn.Assignment, ok bool) { busy = busy || ok },
		}
		if _, err := sim.Run(context.Background(), cfg); err != nil {
			t.Fatal(err)
		}
		for _, at := range lost {
			found := false
			for _, d := range downs {
				found = found || d == at
			}
			if !found {
				t.Fatalf("seed %d: an attempt was lost at %v, when no node went down: %v", seed, at, downs)
			}
		}
	}
	t.Errorf("a node that was up recovered %d times while it was busy, want 5", recoveries)
}
