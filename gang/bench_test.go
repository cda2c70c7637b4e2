package gang_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/constructors"
)

// BenchmarkCluster measures an end of a gang and all that starts then, for one started gang, under
// fifo on 1,024 places. Widths are powers of two up to 64, so that about sixty gangs run, and as many wait
// as the name says. With a reservation, the gang that waits longest has one at all times.
func BenchmarkCluster(b *testing.B) {
	for _, patience := range []time.Duration{gang.Never, 0} {
		for _, waiting := range []int{100, 1000, 10_000} {
			b.Run(fmt.Sprintf("reserved=%v/waiting=%d", patience == 0, waiting), func(b *testing.B) { benchCluster(b, patience, waiting) })
		}
	}
}

func benchCluster(b *testing.B, patience time.Duration, waiting int) {
	c := newCluster(b, gang.Options{Places: 1024, Patience: patience})
	p := constructors.FIFO.Must(fifo.Options{})
	seeker, _ := sojourn.As[sojourn.Seeker](p)
	r := rand.New(rand.NewPCG(1, 2))
	var now sojourn.Time
	var running []sojourn.Assignment
	var events []sojourn.Event
	jobs, seen := 0, 0
	observe := func(ev sojourn.Event) {
		ev.At = now
		seen++
		if err := p.Observe(ev); err != nil {
			b.Fatal(err)
		}
	}
	wait := func() {
		jobs++
		width := 1 << r.IntN(7)
		class, _ := c.Class(width)
		g := gang.Gang{Task: task(jobs), Width: width, Limit: time.Duration(1+r.IntN(3600)) * time.Second}
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: g.Task.Job, Phases: []sojourn.Phase{{Tasks: 1, Class: class, Estimate: g.Limit}}}})
		if err := c.Wait(g, now); err != nil {
			b.Fatal(err)
		}
	}
	start := func() (n int) {
		for {
			events = c.AppendChanges(events[:0], now)
			for _, ev := range events {
				observe(ev)
			}
			before := len(running)
			for width := 64; width > 0 && len(running) == before; width /= 2 {
				class, _ := c.Class(width)
				if slot, ok := seeker.Seek(class); ok {
					a, _ := p.Assign(slot)
					c.Start(a, now)
					running = append(running, a)
				}
			}
			if len(running) == before {
				return n
			}
			n++
		}
	}
	for range waiting {
		wait()
	}
	for range start() {
		wait()
	}
	seen = 0
	starts := 0
	b.ReportAllocs()
	for b.Loop() {
		now += sojourn.Time(time.Second)
		i := r.IntN(len(running))
		a := running[i]
		running[i] = running[len(running)-1]
		running = running[:len(running)-1]
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		c.End(a.Slot)
		n := start()
		for range n {
			wait()
		}
		starts += n
	}
	b.ReportMetric(float64(len(running)), "running")
	b.ReportMetric(float64(seen)/float64(max(starts, 1)), "events/start")
}
