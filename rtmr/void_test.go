package rtmr

import (
	"bytes"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// void returns the jobs whose promises are void, and why.
func (w *world) void() map[sojourn.JobID]string {
	all := map[sojourn.JobID]string{}
	for _, id := range w.p.AppendVoid(nil) {
		attrs, _ := w.p.Explain(id)
		i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "void" })
		all[id] = attrs[i].Value.String()
	}
	return all
}

// A void job makes no other job late. The map of job 1 outlasts its bound of 10. When it
// ends at 12, job 2 has long had the reduce slot, which was kept for job 1 until then.
func TestVoidJobsRunBehind(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		w := small(t, Options{Booking: booking}, 2, 1)
		first := exact(1, 110, 1, 10, 1, 100)
		first.times[maps][0] = 12
		second := exact(2, 121, 1, 5, 1, 10)
		w.arrive(first)
		w.arrive(second)
		w.check = func(w *world) {
			if w.now != 11 {
				return
			}
			if got := w.void(); len(got) != 1 || got[1] != "an attempt outlasts its estimate" {
				t.Errorf("%v: void = %v, want job 1", booking, got)
			}
		}
		w.offer()
		w.run()
		if first, second := w.job(1).finish, w.job(2).finish; first != 121 || second != 21 {
			t.Errorf("%v: the jobs end at %d and %d, want 121 and 21", booking, first, second)
		}
	}
}

// The rule of the paper gives away the reduce slot that was promised. Then this is the
// reason, and the reason is not empty. All attempts take as long as estimated.
func TestVoidByThePaper(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		w := small(t, Options{Booking: booking, PaperReservation: true}, 2, 1)
		w.pending = []wjob{exact(1, 20, 1, 10, 1, 10), exact(2, 100, 1, 1, 1, 50)}
		w.check = func(w *world) {
			if w.now != 1 {
				return
			}
			// Two adopted jobs cannot be in time. When one is cancelled, the policy looks
			// at all promises to see which of them hold again.
			for id := sojourn.JobID(8); id <= 9; id++ {
				late := exact(id, 2, 1, 1000, 0, 0)
				w.must(sojourn.Event{Kind: sojourn.JobAdopted, Job: late.spec()})
			}
			w.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 8}})
			if got := w.void(); got[1] != "the paper's reservation does not keep it" {
				t.Errorf("%v: void = %v, want job 1 among them", booking, got)
			}
			w.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 9}})
		}
		w.run()
	}
}

// A void job holds slots that the chain has not booked. Job 1 needs two slots until 20
// and loses one of them at 1, so it is void. At 10 it takes the slot that is left, since
// no other job wants it. Job 2 arrives at 11 and cannot have the slot before 20.
func TestVoidJobsHoldSlots(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		w := small(t, Options{Booking: booking}, 2, 0)
		w.arrive(exact(1, 20, 4, 10, 0, 0))
		w.offer()
		w.now = 1
		w.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}})
		if got := w.void(); got[1] != "slots were lost" {
			t.Errorf("%v: void = %v, want job 1", booking, got)
		}
		w.now = 10
		w.ends()
		w.slots = w.slots[:1]
		w.offer()
		w.now = 11
		w.must(sojourn.Event{Kind: sojourn.Tick})
		second := exact(2, 20, 1, 5, 0, 0)
		for _, ask := range []func() error{ // Admit is asked first and leaves no trace
			func() error { return w.p.Admit(second.spec()) },
			func() error { return w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: second.spec()}) },
		} {
			var r *sojourn.RejectedError
			if err := ask(); !errors.As(err, &r) || r.Offer != sojourn.Time(25*unit) {
				t.Errorf("%v: %v, want an offer of 25", booking, err)
			}
		}
	}
}

// A job without maps does not overtake a job that has nothing left to start. The second
// map of job 1 is held, so its promise is void. Then it turns out to need no run: the
// promise holds again, and only the first map runs. Job 2 has two reduces of 20 and
// starts at once. Job 3 has one reduce of 10, and cannot end before 50.
func TestZeroMapJobsDoNotOvertake(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		w := small(t, Options{Booking: booking}, 2, 1)
		w.arrive(exact(1, 15, 2, 10, 0, 0))
		if _, ok := w.p.Assign(0); !ok {
			t.Fatal("no map was assigned")
		}
		second := sojourn.TaskID{Job: 1, Index: 1}
		w.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: second})
		if got := w.void(); got[1] != "a task is or was held" {
			t.Errorf("%v: void = %v, want job 1", booking, got)
		}
		w.arrive(exact(9, 0, 1, 1, 0, 0)) // no deadline; from now on the policy knows that job 1 is void
		w.must(sojourn.Event{Kind: sojourn.TaskDone, Task: second})
		if got := w.void(); len(got) > 0 {
			t.Errorf("%v: void = %v, want none", booking, got)
		}
		w.arrive(exact(2, 40, 0, 0, 2, 20))
		if _, ok := w.p.Assign(2); !ok {
			t.Fatal("no reduce was assigned")
		}
		third := exact(3, 49, 0, 0, 1, 10)
		var r *sojourn.RejectedError
		if err := w.p.Admit(third.spec()); !errors.As(err, &r) || r.Offer != sojourn.Time(50*unit) {
			t.Errorf("%v: %v, want an offer of 50", booking, err)
		}
	}
}

// An attempt that is refused at the instant of its start costs nothing, unless its slot
// leaves with it: then the task has lost its place. Two map slots; job 1 wants both until
// 10, and one of them leaves.
func TestRefusedOnASlotThatLeaves(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		for _, leaves := range []bool{false, true} {
			w := small(t, Options{Booking: booking}, 2, 0)
			w.arrive(exact(1, 10, 2, 10, 0, 0))
			w.offer()
			if leaves {
				w.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}})
				w.arrive(exact(2, 1000, 1, 1, 0, 0)) // so the policy has already settled the loss of the slot
				if got := w.void(); len(got) > 0 {
					t.Errorf("%v: void = %v while the slot works, want none", booking, got)
				}
			}
			w.must(sojourn.Event{Kind: sojourn.TaskRefused, Task: w.slots[1].task, Attempt: 1, Slot: sojourn.Slot{ID: 1}})
			want := ""
			if leaves {
				want = "a task has to run again"
			}
			if got := w.void(); got[1] != want {
				t.Errorf("%v, slot leaves %v: void = %q, want %q", booking, leaves, got, want)
			}
		}
	}
}

// Job 1 runs on one of two map slots until 10, its deadline, when job 2 is accepted ahead of it at the same instant: its four maps of 1 are to
// run on the other slot until 4. Then the attempt of job 1 turns out never to have started. Its slot is not left to job 2 until 2.
func TestRefusedBehindANewPromise(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		w := small(t, Options{Booking: booking}, 2, 0)
		w.arrive(exact(1, 10, 1, 10, 0, 0))
		a, _ := w.p.Assign(0)
		if !w.arrive(exact(2, 4, 4, 1, 0, 0)) {
			t.Fatalf("%v: job 2 is refused", booking)
		}
		w.must(sojourn.Event{Kind: sojourn.TaskRefused, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		w.offer()
		if w.run(); w.missed > 0 {
			t.Errorf("%v: jobs 1 and 2 end at %d and %d, want 10 and 4", booking, w.job(1).finish, w.job(2).finish)
		}
	}
}

// In the chain, a job that had started returns to its turn when its promise holds again, if all promises hold so. One map slot. Job 1
// has two maps of 10 and starts one at 0, job 2 has one of 10 and a deadline before that of job 1. The attempt of job 1
// outlasts its bound, and is lost at 20. With a deadline at 25 job 1 is void until a revision.
func TestStartedJobsReturnToTheirTurn(t *testing.T) {
	for _, tc := range []struct {
		deadline, revised, second int64 // deadlines of job 1, and of job 2
		first                     sojourn.JobID
	}{
		{100, 0, 90, 1},
		{100, 0, 45, 2}, // job 2 would be late
		{25, 100, 90, 1},
		{25, 100, 45, 2},
	} {
		w := small(t, Options{Booking: Chain}, 1, 0)
		one := exact(1, tc.deadline, 2, 10, 0, 0)
		w.arrive(one)
		w.offer()
		if !w.arrive(exact(2, tc.second, 1, 10, 0, 0)) {
			t.Fatalf("%+v: job 2 is refused", tc)
		}
		w.now = 11
		w.must(sojourn.Event{Kind: sojourn.Tick})
		if got := w.void(); got[1] != "an attempt outlasts its estimate" {
			t.Errorf("%+v: void = %v, want job 1", tc, got)
		}
		w.now = 20
		w.must(sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: sojourn.Slot{ID: 0}})
		if got := w.void(); (tc.revised > 0) != (got[1] != "") {
			t.Errorf("%+v: void = %v", tc, got)
		}
		if tc.revised > 0 {
			spec := one.spec()
			spec.Deadline = sojourn.Time(tc.revised * int64(unit))
			w.must(sojourn.Event{Kind: sojourn.JobRevised, Job: spec})
		}
		if got := w.void(); len(got) > 0 {
			t.Errorf("%+v: void = %v, want none", tc, got)
		}
		if a, ok := w.p.Assign(0); !ok || a.Task.Job != tc.first {
			t.Errorf("%+v: the slot gets %v, %v, want job %d", tc, a.Task, ok, tc.first)
		}
	}
}

// A question in between makes no difference. Job 1 is void as soon as its second map is
// held, and its first map is adopted at the same instant.
func TestAskingLeavesNoTrace(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		var got [2][]byte
		for i := range got {
			w := small(t, Options{Booking: booking}, 2, 0)
			w.arrive(exact(1, 10, 2, 10, 0, 0))
			w.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 1, Index: 1}})
			if i == 1 && len(w.void()) != 1 {
				t.Fatal("job 1 is not void")
			}
			w.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: sojourn.Slot{ID: 0}})
			got[i], _ = w.p.AppendBinary(nil)
		}
		if !bytes.Equal(got[0], got[1]) {
			t.Errorf("%v: the question left a trace", booking)
		}
	}
}

// An adopted attempt may have started before the running ones. It is the first to outlast
// its bound of 10.
func TestAdoptedAttemptOutlastsItsBound(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		w := small(t, Options{Booking: booking}, 2, 0)
		w.arrive(exact(1, 30, 2, 10, 0, 0))
		w.now = 3
		w.must(sojourn.Event{Kind: sojourn.Tick})
		if _, ok := w.p.Assign(0); !ok { // until 13
			t.Fatal("no map was assigned")
		}
		w.now = 4
		w.must(sojourn.Event{ // since 0
			Kind: sojourn.TaskAdopted, Task: sojourn.TaskID{Job: 1, Index: 1}, Attempt: 1,
			Slot: sojourn.Slot{ID: 1}, Service: 4 * unit,
		})
		if at, ok := w.p.NextWake(); !ok || at != sojourn.Time(10*unit)+1 {
			t.Errorf("%v: NextWake = %v, %v", booking, at, ok)
		}
	}
}

// The reasons of void promises, if one thing happens, and if one is settled before
// another happens. Three map slots. Job 1 has one map of 10 that has run since 0.
func TestReasonsOfVoidPromises(t *testing.T) {
	tick := sojourn.Event{Kind: sojourn.Tick}
	for _, tc := range []struct {
		name string
		does func(w *world, at func(now int64, ev sojourn.Event))
		want map[sojourn.JobID]string
	}{
		{"nothing", func(w *world, at func(int64, sojourn.Event)) { at(9, tick) }, map[sojourn.JobID]string{}},
		{"an idle slot", func(w *world, at func(int64, sojourn.Event)) {
			w.arrive(exact(2, 10, 1, 10, 0, 0))
			at(1, tick)
		}, map[sojourn.JobID]string{2: "free slots were not offered"}},
		{"adopted late", func(w *world, at func(int64, sojourn.Event)) {
			second := exact(2, 9, 1, 10, 0, 0)
			at(1, sojourn.Event{Kind: sojourn.JobAdopted, Job: second.spec()})
		}, map[sojourn.JobID]string{2: "adopted"}},
		{"revised while it is void", func(w *world, at func(int64, sojourn.Event)) {
			second := exact(2, 9, 1, 10, 0, 0)
			at(1, sojourn.Event{Kind: sojourn.JobAdopted, Job: second.spec()})
			second = exact(2, 9, 1, 11, 0, 0)
			at(1, sojourn.Event{Kind: sojourn.JobRevised, Job: second.spec()})
		}, map[sojourn.JobID]string{2: "adopted, revised"}},
		{"held", func(w *world, at func(int64, sojourn.Event)) {
			at(1, sojourn.Event{Kind: sojourn.JobArrived, Job: second()})
			at(1, sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 2}})
		}, map[sojourn.JobID]string{2: "a task is or was held"}},
		{"a loss and a failure at one instant", func(w *world, at func(int64, sojourn.Event)) {
			at(5, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 2}})
			at(5, sojourn.Event{Kind: sojourn.TaskFailed, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: sojourn.Slot{ID: 0}})
		}, map[sojourn.JobID]string{1: "slots were lost, a task has to run again"}},
		// Slots 1 and 2 are taken until 20 and 25, and job 2 is to run on slot 0 from 10
		// to 20. The loss of slot 2 breaks no promise. Job 1 does not end at 10, and this
		// alone breaks one.
		{"an overrun after a loss", func(w *world, at func(int64, sojourn.Event)) {
			w.arrive(exact(3, 20, 1, 20, 0, 0))
			w.arrive(exact(4, 25, 1, 25, 0, 0))
			w.offer()
			w.arrive(exact(2, 25, 1, 10, 0, 0))
			at(5, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 2}})
			at(12, tick)
		}, map[sojourn.JobID]string{1: "an attempt outlasts its estimate", 2: "an attempt outlasts its estimate"}},
	} {
		for _, booking := range []Booking{Rebook, Chain} {
			for _, ticks := range []bool{false, true} { // no question came before it
				w := small(t, Options{Booking: booking}, 3, 0)
				w.arrive(exact(1, 10, 1, 10, 0, 0))
				w.offer()
				tc.does(w, func(now int64, ev sojourn.Event) {
					if w.now = now; ticks {
						w.must(tick)
					}
					w.must(ev)
					if ticks {
						w.must(tick)
					}
				})
				if got := w.void(); !reflect.DeepEqual(got, tc.want) {
					t.Errorf("%v, Ticks in between %v, %s: void = %v, want %v", booking, ticks, tc.name, got, tc.want)
				}
			}
		}
	}
}

func second() *sojourn.Job {
	j := exact(2, 11, 1, 10, 0, 0)
	return j.spec()
}
