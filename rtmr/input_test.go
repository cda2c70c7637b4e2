package rtmr

import (
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// An error says what is wrong with a job. Nothing is lost: the same job is accepted as
// soon as it fits.
func TestBadInput(t *testing.T) {
	plain := func(deadline sojourn.Time, phases ...sojourn.Phase) *sojourn.Job {
		return &sojourn.Job{ID: 1, Deadline: deadline, Phases: phases}
	}
	m := func(n int, d time.Duration) sojourn.Phase { return sojourn.Phase{Tasks: n, Estimate: d} }
	r := func(n int, d time.Duration) sojourn.Phase {
		return sojourn.Phase{Tasks: n, Class: sojourn.ReduceClass, Estimate: d}
	}
	sec := sojourn.Time(time.Second)
	for _, tc := range []struct {
		name          string
		opts          Options
		maps, reduces int
		job           *sojourn.Job
		err           error
		text          string
		offer         sojourn.Time
	}{
		{"fits", Options{}, 1, 1, plain(20*sec, m(1, time.Second), r(1, time.Second)), nil, "", 0},
		{"deadline in the past", Options{}, 1, 0, plain(5*sec, m(1, time.Second)), sojourn.ErrRejected, "the deadline 5s is not after 10s", 11 * sec},
		{"deadline now", Options{}, 1, 0, plain(10*sec, m(1, time.Second)), sojourn.ErrRejected, "is not after 10s", 11 * sec},
		{"negative deadline", Options{}, 1, 0, plain(-1, m(1, time.Second)), sojourn.ErrInvalidJob, "negative deadline", 0},
		{"the latest deadline", Options{}, 1, 0, plain(math.MaxInt64, m(1, time.Second)), nil, "", 0},
		{"beyond range", Options{}, 1, 0, plain(math.MaxInt64, m(1, math.MaxInt64)), sojourn.ErrRejected, "nobody knows when job 1 would end", 0},
		{"more tasks than slots", Options{}, 1, 1, plain(9999*sec, m(1000, time.Second), r(1000, time.Second)), nil, "", 0},
		{"longer than its deadline", Options{}, 2, 1, plain(20*sec, m(9, 10*time.Second)), sojourn.ErrRejected, "would miss its deadline by 40s", 60 * sec},
		{"no slots yet", Options{}, 0, 0, plain(20*sec, m(1, time.Second)), sojourn.ErrRejected, "there are no map slots", 0},
		{"no reduce slots", Options{}, 1, 0, plain(20*sec, m(1, time.Second), r(1, time.Second)), sojourn.ErrRejected, "there are no reduce slots", 0},
		{"no estimate", Options{}, 1, 1, plain(20*sec, m(1, 0)), sojourn.ErrUnsupported, "phase 0 has a task without an estimate", 0},
		{"slow start", Options{}, 1, 1, plain(20*sec, m(2, 1), sojourn.Phase{Tasks: 1, Class: sojourn.ReduceClass, Estimate: 1, After: 1}), sojourn.ErrUnsupported, "may start before phase 0 ends", 0},
		{"three phases", Options{}, 1, 1, plain(20*sec, m(1, 1), r(1, 1), r(1, 1)), sojourn.ErrUnsupported, "3 phases", 0},
		{"one class", Options{}, 1, 1, plain(20*sec, m(1, 1), m(1, 1)), sojourn.ErrUnsupported, "both phases are of class 0", 0},
		{"wrong way round", Options{}, 1, 1, plain(20*sec, r(1, 1), m(1, 1)), sojourn.ErrUnsupported, "the map phase comes after", 0},
		{"class 7", Options{}, 1, 1, plain(20*sec, sojourn.Phase{Tasks: 1, Class: 7, Estimate: 1}), sojourn.ErrUnsupported, "class 7", 0},
		{"no deadline", Options{}, 1, 0, plain(0, m(1, time.Second)), nil, "", 0},
		{"a deadline is required", Options{RequireDeadline: true}, 1, 0, plain(0, m(1, time.Second)), sojourn.ErrRejected, "a deadline is required", 11 * sec},
	} {
		for _, booking := range []Booking{Rebook, Chain} {
			tc.opts.Booking = booking
			w := small(t, tc.opts, tc.maps, tc.reduces)
			w.now = 10_000
			w.must(sojourn.Event{Kind: sojourn.Tick})
			before, _ := w.p.AppendBinary(nil)
			admit := w.p.Admit(tc.job)
			err := w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: tc.job})
			if (tc.err == nil) != (err == nil) || !errors.Is(err, tc.err) || err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%v, %s: %v, want %v with %q", booking, tc.name, err, tc.err, tc.text)
			}
			if (admit == nil) != (err == nil) {
				t.Errorf("%v, %s: Admit = %v, Observe = %v", booking, tc.name, admit, err)
			}
			var refused *sojourn.RejectedError
			if errors.As(err, &refused) && (refused.Offer != tc.offer || refused.Misses != 1) {
				t.Errorf("%v, %s: %+v, want an offer of %v", booking, tc.name, refused, tc.offer)
			}
			if after, _ := w.p.AppendBinary(nil); err != nil && string(after) != string(before) {
				t.Errorf("%v, %s: the refusal changed the policy", booking, tc.name)
			}
			if err != nil {
				w.addSlots(1, sojourn.MapClass)
				w.addSlots(1, sojourn.ReduceClass)
				if err := w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: plain(20*sec, m(1, time.Second), r(1, time.Second))}); err != nil {
					t.Errorf("%v, %s: afterwards: %v", booking, tc.name, err)
				}
			}
		}
	}
}

func TestBadOptions(t *testing.T) {
	for text, opts := range map[string]Options{
		`Booking: unknown booking "Booking(9)"`:                 {Booking: 9},
		`Order: unknown order "Order(9)"`:                       {Order: 9},
		"Feedback is true: want false, since Booking is rebook": {Feedback: true},
		"Latency is -1ns: want at least 0s":                     {Latency: -1},
		"Ratio is NaN":                                          {Ratio: math.NaN()},
		"Skew is 0.5":                                           {Skew: 0.5},
	} {
		if _, err := New(opts); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("New(%+v) = %v, want %q", opts, err, text)
		}
	}
}

// A lost slot breaks promises. Those that no longer fit are void, and they make no other
// job late. When the slot is back, they hold again.
func TestSlotsLostAndGained(t *testing.T) {
	w := small(t, Options{}, 2, 0)
	w.arrive(exact(1, 20, 2, 10, 0, 0))
	w.arrive(exact(2, 20, 2, 10, 0, 0))
	w.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}})
	if got := w.p.AppendVoid(nil); len(got) != 1 || got[0] != 2 {
		t.Errorf("void = %v, want [2]", got)
	}
	attrs, _ := w.p.Explain(2)
	text := ""
	for _, a := range attrs {
		text += a.String() + " "
	}
	if !strings.Contains(text, "promise=void void=slots were lost") {
		t.Errorf("Explain(2) = %s", text)
	}
	third := exact(3, 30, 2, 10, 0, 0)
	if w.p.Admit(third.spec()) == nil {
		t.Error("a promise was made with one slot that takes two")
	}
	w.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
	if got := w.p.AppendVoid(nil); len(got) != 0 {
		t.Errorf("void = %v after the slot is back, want none", got)
	}
}

// A task that fails has to run again, which the promise did not allow for. At 9 s nothing
// of job 1 is left that could end by 10 s.
func TestFailureVoids(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		w := small(t, Options{Booking: booking}, 1, 0)
		w.arrive(exact(1, 10, 1, 10, 0, 0))
		w.offer()
		w.now = 9
		w.must(sojourn.Event{Kind: sojourn.TaskFailed, Task: sojourn.TaskID{Job: 1}, Attempt: 1})
		attrs, _ := w.p.Explain(1)
		void := ""
		for _, a := range attrs {
			if a.Key == "void" {
				void = a.Value.String()
			}
		}
		if void != "a task has to run again" {
			t.Errorf("%v: void = %q", booking, void)
		}
	}
}

// Without estimates, sizes bound the times: 3 s of start-up and 2 s a MiB for maps of at
// most 4 MiB. A reduce may get all of eta times the 6 MiB, or with a skew factor of 1.5
// at most three eighths of it. An empty input is divided by nothing.
//
// Reference: Section IV-A.
func TestEstimator(t *testing.T) {
	const mib = 1 << 20
	job := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{
		{Tasks: 3, Bytes: []int64{2 * mib, 4 * mib, 0}},
		{Tasks: 4, Class: sojourn.ReduceClass},
	}}
	for skew, want := range map[float64]time.Duration{0: 3*time.Second + 12*time.Second, 1.5: 3*time.Second + 4500*time.Millisecond} {
		p := mustNew(t, Options{MapRate: 2 * time.Second, ReduceRate: time.Second, StartUp: 3 * time.Second, Ratio: 2, Skew: skew})
		_, eps, err := p.shape(job)
		if err != nil || time.Duration(eps[0]) != 11*time.Second || time.Duration(eps[1]) != want {
			t.Errorf("skew %v: eps = %v, %v, want 11s and %v", skew, time.Duration(eps[0]), time.Duration(eps[1]), want)
		}
	}
	p := mustNew(t, Options{MapRate: time.Second, Learn: true})
	learn := func(index uint32, d time.Duration) { p.est.learn(job, sojourn.TaskID{Job: 1, Index: index}, d) }
	learn(2, 5*time.Second)  // empty, so start-up only
	learn(0, 25*time.Second) // 20 s for 2 MiB
	learn(1, 10*time.Second) // rates never fall
	if _, eps, err := p.shape(&sojourn.Job{ID: 1, Phases: job.Phases[:1]}); err != nil || time.Duration(eps[0]) != 45*time.Second {
		t.Errorf("learned: eps = %v, %v, want 5s + 4 * 10s", time.Duration(eps[0]), err)
	}
}

// A job must not lose its deadline under RequireDeadline. One that was adopted without a
// deadline goes on without one.
func TestRequiredDeadlineStays(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		w := small(t, Options{Booking: booking, RequireDeadline: true}, 1, 0)
		first, second := exact(1, 10, 1, 5, 0, 0), exact(2, 0, 1, 5, 0, 0)
		w.arrive(first)
		w.must(sojourn.Event{Kind: sojourn.JobAdopted, Job: second.spec()})
		first.deadline = 0
		before, _ := w.p.AppendBinary(nil)
		err := w.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: first.spec()})
		if !errors.Is(err, sojourn.ErrRejected) || !strings.Contains(err.Error(), "a deadline is required") {
			t.Errorf("%v: %v, want a refusal", booking, err)
		}
		if after, _ := w.p.AppendBinary(nil); string(before) != string(after) {
			t.Errorf("%v: the refusal changed the policy", booking)
		}
		second.eps[maps] = 4
		w.must(sojourn.Event{Kind: sojourn.JobRevised, Job: second.spec()})
	}
}

// The latest deadline is valid. It is promised, is void while the end of the job is
// unknown, and then holds again.
func TestDeadlineAtTheEndOfTime(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		w := small(t, Options{Booking: booking}, 1, 0)
		plain := exact(1, 0, 3, 10, 0, 0)
		job := plain.spec()
		job.Deadline = math.MaxInt64
		if err := w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err != nil {
			t.Fatal(err)
		}
		promise := func(want string) {
			t.Helper()
			attrs, _ := w.p.Explain(1)
			if i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "promise" }); attrs[i].Value.String() != want {
				t.Errorf("%v: promise %v, want %q", booking, attrs[i].Value, want)
			}
		}
		promise("holds")
		w.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 0}})
		promise("void")
		w.now = 5
		w.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0}})
		promise("holds")
	}
}

// A job is refused while the cluster that could run it in time is gone. Nothing is lost:
// the job is accepted when the slots are back.
func TestClusterThatIsGone(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		w := small(t, Options{Booking: booking}, 2, 0)
		j := exact(1, 20, 4, 10, 0, 0)
		lose := func(id sojourn.SlotID) {
			w.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: id}})
		}
		lose(0)
		var r *sojourn.RejectedError
		if err := w.p.Admit(j.spec()); !errors.As(err, &r) || r.By != 20*unit || r.Offer != sojourn.Time(40*unit) {
			t.Errorf("%v: with one slot: %v, want a refusal with an offer of 40", booking, err)
		}
		lose(1)
		if err := w.p.Admit(j.spec()); !errors.As(err, &r) || r.Offer != 0 || !strings.Contains(err.Error(), "there are no map slots") {
			t.Errorf("%v: without slots: %v", booking, err)
		}
		for id := range sojourn.SlotID(2) {
			w.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
		}
		w.pending = []wjob{j}
		if w.run(); w.accepted != 1 || w.missed != 0 {
			t.Errorf("%v: %d accepted, %d missed, want 1 and 0", booking, w.accepted, w.missed)
		}
	}
}
