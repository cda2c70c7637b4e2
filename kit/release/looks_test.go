package release_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/kit/release"
)

// A world has a limit of one job for each Pool, for each Name, and for each heavy job, which it never meets.
type world struct {
	tb testing.TB
	p  sojourn.Policy
	in *account.Account
	id sojourn.JobID
}

func newWorld(tb testing.TB) *world {
	in := account.New(constructors.FIFO.Must(fifo.Options{}))
	p := release.New(in, release.Limit{Of: func(j *sojourn.Job) string { return j.Pool }},
		release.Limit{Of: func(j *sojourn.Job) string { return j.Name }},
		release.Limit{Of: func(j *sojourn.Job) string { return strings.Repeat(fmt.Sprint(j.ID), int(j.Weight)-1) }})
	return &world{tb: tb, p: p, in: in}
}

func (w *world) observe(ev sojourn.Event) {
	if err := w.p.Observe(ev); err != nil {
		w.tb.Fatal(err)
	}
}

func (w *world) arrive(pool, name string, weight float64) sojourn.JobID {
	w.id++
	w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: w.id, Pool: pool, Name: name, Weight: weight, Phases: []sojourn.Phase{{Tasks: 1}}}})
	return w.id
}

func (w *world) cancel(id sojourn.JobID) {
	w.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
}

// turn ends the job that has room in a limit and lets the next one have it: those that wait for both limits must go on waiting.
func (w *world) turn(a, b *sojourn.JobID) {
	w.cancel(*a)
	*a = w.arrive("a", "", 1)
	w.cancel(*b)
	*b = w.arrive("", "b", 1)
}

// However many jobs wait for both of two limits, the end of a job looks at one of them, and they stand as a whole where they waited.
// Those that waited for one of the two, or have a third limit, come to stand there once.
func TestLooks(t *testing.T) {
	for _, n := range []int{10, 2000} {
		for name, late := range map[string]bool{"both are full": false, "one gets full later": true} {
			for _, weight := range []float64{1, 2} {
				w := newWorld(t)
				a, b := w.arrive("a", "", 1), sojourn.JobID(0)
				if !late {
					b = w.arrive("", "b", 1)
				}
				for range n {
					w.arrive("a", "b", weight)
				}
				if late {
					b = w.arrive("", "b", 1)
				}
				w.turn(&a, &b)
				once := release.Looks(w.p)
				if once > n+2 {
					t.Errorf("%d jobs of weight %v, %s: at first %d looks, want at most %d", n, weight, name, once, n+2)
				}
				for range 50 {
					w.turn(&a, &b)
				}
				if looks := release.Looks(w.p) - once; looks != 100 {
					t.Errorf("%d jobs of weight %v, %s: %d looks in 100 ends, want 100", n, weight, name, looks)
				}
				w.cancel(a)
				w.cancel(b) // now there is room in both: the first one goes
				first := sojourn.JobID(3)
				if late {
					first = 2
				}
				if _, released := w.in.Job(first); !released {
					t.Errorf("%d jobs of weight %v, %s: there is room, and job %d waits", n, weight, name, first)
				}
			}
		}
	}
}

func BenchmarkWaitForBoth(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			w := newWorld(b)
			first, second := w.arrive("a", "", 1), w.arrive("", "b", 1)
			for range n {
				w.arrive("a", "b", 1)
			}
			b.ReportAllocs()
			for b.Loop() {
				w.turn(&first, &second)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(4*b.N), "ns/event")
		})
	}
}
