package steady

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Snapshot measures the cost of saving a policy and of restoring another one, and the
// bytes for each job. The given number of jobs are live, in a hundred pools, each with
// 100 tasks with an estimate. Some tasks have run, failed or are held. Afterwards the
// policy and the restored one must make the same next 10,000 decisions.
func Snapshot(b *testing.B, newPolicy func() sojourn.Policy, sizes ...int) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) { snapshot(b, newPolicy, n) })
	}
}

func snapshot(b *testing.B, newPolicy func() sojourn.Policy, jobs int) {
	w := worker{b: b, p: newPolicy(), rng: rand.New(rand.NewPCG(1, 2))}
	for i := range slots {
		w.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	for i := range jobs {
		id := sojourn.JobID(i + 1)
		w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: id, Name: "job", Pool: fmt.Sprint("pool", i%100), Weight: float64(1 + i%8),
			Phases: []sojourn.Phase{{Tasks: 100, Estimate: time.Duration(1+i%100) * time.Second}},
		}})
		if i%16 == 0 {
			w.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: id, Index: 50}})
		}
	}
	for i := range w.running {
		w.running[i], _ = w.p.Assign(sojourn.SlotID(i))
	}
	for range 2 * jobs {
		w.step()
	}

	s, ok := sojourn.As[sojourn.Snapshotter](w.p)
	if !ok {
		b.Fatal("the policy is no Snapshotter")
	}
	var data []byte
	var restored sojourn.Policy
	for b.Loop() {
		var err error
		if data, err = s.AppendBinary(data[:0]); err != nil {
			b.Fatal(err)
		}
		restored = newPolicy()
		r, _ := sojourn.As[sojourn.Snapshotter](restored)
		if err := r.UnmarshalBinary(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data))/float64(jobs), "B/job")

	twin := w
	twin.p, twin.rng = restored, rand.New(rand.NewPCG(3, 4))
	w.rng = rand.New(rand.NewPCG(3, 4))
	for i := range 10_000 {
		w.step()
		twin.step()
		if twin.running != w.running {
			b.Fatalf("decision %d is another", i+1)
		}
	}
}

// A worker finishes and starts tasks.
type worker struct {
	b       *testing.B
	p       sojourn.Policy
	rng     *rand.Rand
	now     sojourn.Time
	running [slots]sojourn.Assignment
}

func (w *worker) observe(ev sojourn.Event) {
	if err := w.p.Observe(ev); err != nil {
		w.b.Fatal(err)
	}
}

// step ends an attempt, one in eight in failure, and assigns its slot.
func (w *worker) step() {
	w.now += 1_000_000
	i := w.rng.IntN(slots)
	a := w.running[i]
	kind := sojourn.TaskFinished
	if w.rng.IntN(8) == 0 {
		kind = sojourn.TaskFailed
	}
	w.observe(sojourn.Event{Kind: kind, At: w.now, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: time.Second})
	var ok bool
	if w.running[i], ok = w.p.Assign(a.Slot); !ok {
		w.b.Fatal("nothing to assign")
	}
}
