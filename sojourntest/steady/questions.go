package steady

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Questions measures the cost of questions while a thousand slots are busy. The given
// number of jobs are live, of two phases and with weights from 1 to 8. The questions are
// when the policy wants to be woken, which slot it would take, which attempts it wants
// killed, and how it explains one job. A driver asks the first three at every event.
// Then a job of a single short task arrives, for which a preemptive policy may name a
// victim.
func Questions(b *testing.B, newPolicy func() sojourn.Policy, sizes ...int) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) { questions(b, newPolicy(), n) })
	}
}

func questions(b *testing.B, p sojourn.Policy, jobs int) {
	const slots = 1000
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			b.Fatal(err)
		}
	}
	tick := func() {
		w, ok := sojourn.As[sojourn.Waker](p)
		for ok {
			at, due := w.NextWake()
			if !due || at > now {
				return
			}
			observe(sojourn.Event{Kind: sojourn.Tick})
		}
	}
	arrive := func(id sojourn.JobID, phases ...sojourn.Phase) {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Weight: float64(1 + id%8), Deadline: 1 << 60, Phases: phases}})
	}
	for id := range sojourn.SlotID(slots) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Node: sojourn.NodeID(1 + id/10)}})
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slots + id, Node: sojourn.NodeID(1 + id/10), Class: 1}})
	}
	for i := range jobs {
		now += sojourn.Time(time.Millisecond)
		arrive(sojourn.JobID(i+1), sojourn.Phase{Tasks: 20, Estimate: time.Duration(1+i%100) * time.Second},
			sojourn.Phase{Tasks: 2, Class: 1, Estimate: time.Second})
	}
	tick()
	for id := range sojourn.SlotID(slots) {
		p.Assign(id)
	}
	ask := func(b *testing.B) { ask(b, p, sojourn.JobID(jobs/2)) }
	b.Run("busy", ask)
	now += sojourn.Time(time.Second)
	arrive(sojourn.JobID(jobs+1), sojourn.Phase{Tasks: 1, Estimate: time.Millisecond})
	tick()
	b.Run("arrival", ask)
}

// ask measures each question that a policy answers. job is the job to explain.
func ask(b *testing.B, p sojourn.Policy, job sojourn.JobID) {
	if q, ok := sojourn.As[sojourn.Waker](p); ok {
		b.Run("NextWake", func(b *testing.B) {
			for b.Loop() {
				q.NextWake()
			}
		})
	}
	if q, ok := sojourn.As[sojourn.Seeker](p); ok {
		b.Run("Seek", func(b *testing.B) {
			for b.Loop() {
				q.Seek(0)
			}
		})
	}
	if q, ok := sojourn.As[sojourn.Preemptor](p); ok {
		b.Run("AppendPreemptions", func(b *testing.B) {
			var list []sojourn.Preemption
			for b.Loop() {
				list = q.AppendPreemptions(list[:0])
			}
			b.ReportMetric(float64(len(list)), "named")
		})
	}
	if q, ok := sojourn.As[sojourn.Explainer](p); ok {
		b.Run("Explain", func(b *testing.B) {
			for b.Loop() {
				q.Explain(job)
			}
		})
	}
}
