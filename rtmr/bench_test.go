package rtmr

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

func newBench(b *testing.B, opts Options) func() sojourn.Policy {
	return func() sojourn.Policy {
		p, err := New(opts)
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
}

func BenchmarkSteady(b *testing.B) {
	for _, booking := range []Booking{Rebook, Chain} {
		b.Run(booking.String(), func(b *testing.B) { steady.Run(b, newBench(b, Options{Booking: booking}), 1000, 10_000) })
	}
}

func BenchmarkLife(b *testing.B) { steady.Life(b, newBench(b, Options{}), 1000, 10_000) }

func BenchmarkFloor(b *testing.B) { steady.Floor(b, 1000, 10_000) }

// A benchCluster is a policy with slots and waiting jobs, and a job to be admitted.
type benchCluster struct {
	p    *Policy
	head *sojourn.Job // has the earliest deadline, so all jobs behind it are booked again
}

// waiting makes a cluster with some slots, nine of ten for maps, and some waiting jobs,
// whose maps and reduces take different times. With busy, an older job holds all slots,
// and no two of its attempts end at one instant.
func waiting(b *testing.B, opts Options, slots, jobs, tasks int, busy bool) benchCluster {
	b.Helper()
	p := newBench(b, opts)().(*Policy)
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			b.Fatal(err)
		}
	}
	for i := range slots {
		class := sojourn.MapClass
		if i%10 == 9 {
			class = sojourn.ReduceClass
		}
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Class: class}})
	}
	now := sojourn.Time(0)
	if busy {
		for c := range sojourn.Class(2) {
			observe(sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: &sojourn.Job{
				ID: 1e6 + sojourn.JobID(c), Deadline: sojourn.Time(1000 * time.Hour),
				Phases: []sojourn.Phase{{Tasks: slots, Class: c, Estimate: 20 * time.Hour}},
			}})
		}
		for i := range slots {
			if _, ok := p.Assign(sojourn.SlotID(i)); !ok {
				b.Fatalf("slot %d stays free", i)
			}
		}
		// The attempts seem to have started at different instants.
		for _, j := range p.order.jobs {
			for s := range j.Data.running {
				if n := j.Data.running[s].live; n > 0 {
					count := j.Data.running[s].runs[0].n
					j.Data.running[s] = starts{}
					for i := range count {
						j.Data.running[s].add(sojourn.Time(i * int64(time.Millisecond)))
					}
				}
			}
		}
		now = sojourn.Time(time.Hour)
		observe(sojourn.Event{Kind: sojourn.Tick, At: now})
	}
	r := rand.New(rand.NewPCG(1, 2))
	job := func(id sojourn.JobID, deadline time.Duration) *sojourn.Job {
		phase := func(c sojourn.Class) sojourn.Phase {
			return sojourn.Phase{Tasks: tasks/2 + r.IntN(tasks), Class: c, Estimate: time.Second + time.Duration(r.Int64N(int64(time.Minute)))}
		}
		return &sojourn.Job{ID: id, Deadline: sojourn.Time(deadline), Phases: []sojourn.Phase{phase(sojourn.MapClass), phase(sojourn.ReduceClass)}}
	}
	for i := range jobs {
		observe(sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: job(sojourn.JobID(i+1), (90_000+time.Duration(i))*time.Hour)})
	}
	return benchCluster{p, job(1e6+9, 89_000*time.Hour)}
}

// BenchmarkAdmit measures the admission of a job at the head of the queue. All waiting
// jobs are booked again, in both stages. tasks is the mean for each stage.
func BenchmarkAdmit(b *testing.B) {
	for _, booking := range []Booking{Rebook, Chain} {
		for _, c := range []struct {
			slots, jobs, tasks int
			busy, tight        bool // tight: the deadline is the earliest that is accepted
		}{
			{100_000, 10, 100_000, false, false}, {100_000, 10, 100_000, true, false}, {100_000, 10, 100_000, true, true},
			{100_000, 1000, 100_000, false, false}, {100_000, 1000, 10_000, false, false}, {100_000, 1000, 100, false, false}, {100, 1000, 100, false, false},
		} {
			if c.busy && booking == Chain {
				continue // the chain does not look at what runs
			}
			name := fmt.Sprintf("%v/slots=%d/jobs=%d/tasks=%d/busy=%v", booking, c.slots, c.jobs, c.tasks, c.busy)
			if c.tight {
				name += "/tight"
			}
			b.Run(name, func(b *testing.B) {
				q := waiting(b, Options{Booking: booking}, c.slots, c.jobs, c.tasks, c.busy)
				if c.tight {
					late := *q.head
					late.Deadline = 1
					var r *sojourn.RejectedError
					if err := q.p.Admit(&late); !errors.As(err, &r) || !r.Exact {
						b.Fatal(err)
					}
					q.head.Deadline = r.Offer
				}
				for b.Loop() {
					if err := q.p.Admit(q.head); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkOffer measures a refusal with an exact counter-offer among 256 waiting jobs.
func BenchmarkOffer(b *testing.B) {
	for _, booking := range []Booking{Rebook, Chain} {
		b.Run(booking.String(), func(b *testing.B) {
			q := waiting(b, Options{Booking: booking}, 100_000, 256, 100_000, false)
			late := *q.head
			late.Deadline = 1
			for b.Loop() {
				var r *sojourn.RejectedError
				if err := q.p.Admit(&late); !errors.As(err, &r) || !r.Exact {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOfferWorst measures the longest search for an exact offer. The last of 256
// waiting jobs has no time to spare and the others have. So at each place all jobs behind
// are booked again, in vain.
func BenchmarkOfferWorst(b *testing.B) {
	for _, booking := range []Booking{Rebook, Chain} {
		b.Run(booking.String(), func(b *testing.B) {
			q := waiting(b, Options{Booking: booking}, 100_000, 255, 100_000, false)
			last := *q.head
			last.ID = 256
			offer := func(job *sojourn.Job) *sojourn.RejectedError {
				var r *sojourn.RejectedError
				if err := q.p.Admit(job); !errors.As(err, &r) || !r.Exact {
					b.Fatal(err)
				}
				return r
			}
			// All jobs are accepted with time to spare. The last one then loses its spare
			// time. The others keep their order and have time until then.
			last.Deadline = sojourn.Time(200_000 * time.Hour)
			if err := q.p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &last}); err != nil {
				b.Fatal(err)
			}
			_, e := q.p.estimates(q.p.ledger.Job(256))
			for _, j := range q.p.order.jobs {
				if place := int64(e) - 1000 + int64(j.Seq()); j.Spec().ID != 256 {
					j.Data.deadline, j.Data.mark.place, j.Data.hard.place = place, place, place
				} else {
					j.Data.deadline, j.Data.mark.place, j.Data.hard.place = e, e, e
				}
			}
			late := *q.head
			late.Deadline = 1
			for b.Loop() {
				if r := offer(&late); r.Offer <= sojourn.Time(e) {
					b.Fatalf("offer %v before %v", r.Offer, sojourn.Time(e))
				}
			}
		})
	}
}

// BenchmarkAssign measures an assignment alone, with many waiting jobs.
func BenchmarkAssign(b *testing.B) {
	for _, booking := range []Booking{Rebook, Chain} {
		for _, jobs := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%v/jobs=%d", booking, jobs), func(b *testing.B) {
				b.ReportAllocs()
				const slots = 10_000
				q := waiting(b, Options{Booking: booking}, slots, jobs, 100_000, false)
				taken := make([]sojourn.Assignment, 0, slots/10*9) // all map slots
				for b.Loop() {
					if len(taken) == cap(taken) {
						b.StopTimer()
						for _, a := range taken {
							ev := sojourn.Event{Kind: sojourn.TaskRefused, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}
							if err := q.p.Observe(ev); err != nil {
								b.Fatal(err)
							}
						}
						taken = taken[:0]
						b.StartTimer()
					}
					id, _ := q.p.ledger.FreeSlot(sojourn.MapClass)
					a, ok := q.p.Assign(id)
					if !ok {
						b.Fatal("no task")
					}
					taken = append(taken, a)
				}
			})
		}
	}
}

// BenchmarkLiteral measures the paper's loop, which sorts the vector after each task. An
// operation is one task at 100,000 slots. The admission of BenchmarkAdmit at 1,000 jobs
// of 100,000 tasks takes 200 million of them.
func BenchmarkLiteral(b *testing.B) {
	v := make([]int64, 100_000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range v {
		v[i] = r.Int64N(1e12)
	}
	slices.Sort(v)
	for b.Loop() {
		v[0] += 1e10
		slices.Sort(v)
	}
}

// BenchmarkQuestions asks a policy with a hundred promises. All other jobs have no
// deadline, since an arrival books all jobs that have one. The pad allows for slots that
// wait while jobs arrive.
func BenchmarkQuestions(b *testing.B) {
	for _, booking := range []Booking{Rebook, Chain} {
		b.Run(booking.String(), func(b *testing.B) {
			newPolicy := newBench(b, Options{Booking: booking, Latency: time.Hour})
			steady.Questions(b, func() sojourn.Policy { return promising{newPolicy().(*Policy)} }, 1000, 100_000)
		})
	}
}

// promising takes away the deadlines of jobs whose ID is above 100.
type promising struct{ *Policy }

func (p promising) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.JobArrived && ev.Job.ID > 100 {
		j := *ev.Job
		j.Deadline, ev.Job = 0, &j
	}
	return p.Policy.Observe(ev)
}
