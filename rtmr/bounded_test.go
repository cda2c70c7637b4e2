package rtmr

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// Where all tasks are maps and take as long as was said, the policy says at every instant when each job
// will end, with bounds on running tasks or without: no bound is too careful.
func TestBoundedBookingsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := variant{bound: true, exact: true, big: rapid.Bool().Draw(t, "big")}
		w := v.build(rapid.Uint64Range(0, 1<<40).Draw(t, "seed"))
		told := map[sojourn.JobID]int64{}
		for _, j := range w.pending {
			j.times[reduces], j.deadline = nil, 1<<30
			if !w.arrive(j) {
				t.Fatalf("job %d is refused", j.id)
			}
		}
		w.pending = nil
		w.check = func(w *world) {
			for _, j := range w.p.order.jobs {
				_, e := w.p.estimates(j)
				if id := j.Spec().ID; told[id] == 0 {
					told[id] = e
				} else if told[id] != e {
					w.fail("job %d was to end at %d, and is now to end at %d", id, told[id], e)
				}
			}
		}
		w.offer()
		w.check(w)
		w.run()
		for _, j := range w.jobs {
			if j.finish*int64(unit) != told[j.id] {
				w.fail("job %d ends at %d, and was to end at %d", j.id, j.finish*int64(unit), told[j.id])
			}
		}
		if w.failed != "" {
			t.Fatal(w.failed)
		}
	})
}

// Division takes from a vector what it says, whatever jobs ahead have taken. If slots become available later, so do
// those of the job, and the others: bookings behind coarse vectors rest on it.
func TestDivisionIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 8).Draw(t, "slots")
		var early, late []int64
		for range slots {
			at := rapid.Int64Range(0, 30).Draw(t, "at")
			early = append(early, at)
			late = append(late, at+rapid.Int64Range(0, 5).Draw(t, "later"))
		}
		j := &job{}
		for range rapid.IntRange(0, 6).Draw(t, "running") {
			j.Data.running[maps].add(sojourn.Time(rapid.Int64Range(0, 20).Draw(t, "start")))
		}
		en := entry{job: j, bound: rapid.Int64Range(1, 6).Draw(t, "bound"), eps: [2]int64{10, 0}, tasks: [2]int64{1, 0}}
		divide := func(at []int64) (own, others []int64) {
			var w walker
			w.now = 15
			for _, x := range at {
				w.at[maps] = append(w.at[maps], slotvec.Run{T: x, N: 1})
			}
			w.at[maps] = slotvec.Sort(w.at[maps])
			w.divide(&en, maps)
			if !w.own.Canonical() || !w.others.Canonical() {
				t.Fatalf("%v are divided into %v and %v", at, w.own, w.others)
			}
			return flat(w.own), flat(w.others)
		}
		own, others := divide(early)
		own2, others2 := divide(late)
		var ends []int64 // of running tasks that make room
		for _, r := range j.Data.running[maps].runs {
			for range r.n {
				ends = append(ends, int64(r.at)+10)
			}
		}
		want := min(int64(slots), max(0, en.bound-int64(len(ends))))
		ends = ends[max(0, len(ends)-int(en.bound)):]
		for _, end := range ends {
			if end >= 15 && want < int64(slots) {
				want++
			}
		}
		if len(own) != int(want) || len(own)+len(others) != slots {
			t.Fatalf("%v, %d at a time, of which run until %v: %v are its own, and %v others, want %d", early, en.bound, ends, own, others, want)
		}
		for i := range min(len(own), len(own2)) {
			if own2[i] < own[i] {
				t.Fatalf("%v gives %v, and %v gives %v", early, own, late, own2)
			}
		}
		for i := range min(len(others), len(others2)) {
			if others2[i] < others[i] {
				t.Fatalf("%v leaves %v, and %v leaves %v", early, others, late, others2)
			}
		}
	})
}

// flat lists the instants of a vector.
func flat(v slotvec.Vector) (list []int64) {
	for _, r := range v {
		list = append(list, slices.Repeat([]int64{r.T}, int(r.N))...)
	}
	return list
}

// 4 map slots are free, and a job has 10 maps of at most 30 s, of which 2 may run at a time. They take 150 s. The other two
// slots serve a second job at once, and not after it.
func TestBoundedByHand(t *testing.T) {
	bounded := func(id sojourn.JobID, tasks, atOnce int, deadline time.Duration) *sojourn.Job {
		return &sojourn.Job{ID: id, Deadline: sojourn.Time(deadline), Parallelism: uint32(atOnce), Phases: []sojourn.Phase{{Tasks: tasks, Estimate: 30 * time.Second}}}
	}
	w := small(t, Options{}, 4, 0)
	arrive := func(job *sojourn.Job, offer time.Duration) {
		t.Helper()
		err := w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
		var no *sojourn.RejectedError
		if offer == 0 && err != nil || offer > 0 && (!errors.As(err, &no) || no.Offer != sojourn.Time(offer) || !no.Exact) {
			t.Errorf("job %d by %v: %v, want an offer of %v", job.ID, job.Deadline, err, offer)
		}
	}
	arrive(bounded(1, 10, 2, 149*time.Second), 150*time.Second)
	arrive(bounded(1, 10, 2, 150*time.Second), 0)
	arrive(bounded(2, 2, 0, 29*time.Second), 30*time.Second)
	arrive(bounded(2, 2, 0, 30*time.Second), 0)
	w.offer1(t, "1/0/0", "1/0/1", "2/0/0", "2/0/1")

	// One at a time, of which two are running: the first to end makes no room.
	if err := w.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: bounded(1, 10, 1, 269*time.Second)}); !errors.Is(err, sojourn.ErrRejected) {
		t.Errorf("8 tasks after 30 s, one at a time, by 269 s: %v, want a refusal", err)
	}
	w.must(sojourn.Event{Kind: sojourn.JobRevised, Job: bounded(1, 10, 1, 270*time.Second)})

	// The paper's way books whole jobs, and does not know the bound.
	chain := small(t, Options{Booking: Chain}, 4, 0)
	if err := chain.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: bounded(1, 10, 2, time.Hour)}); !errors.Is(err, sojourn.ErrUnsupported) {
		t.Errorf("chain: %v, want %v", err, sojourn.ErrUnsupported)
	}
}

// offer1 offers each slot once, and checks what starts.
func (w *world) offer1(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for i := range w.slots {
		if a, ok := w.p.Assign(sojourn.SlotID(i)); ok {
			got = append(got, a.Task.String())
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%v start, want %v", got, want)
	}
}

// If the slot of a bounded job leaves with its task, or a map has to run again while a reduce runs, then nothing is left to the next task
// when that one ends: a job behind, without a deadline, may have the only other slot. The promise is void at once, and holds again when that is over.
func TestBoundedJobThatHasNoSlotOfItsOwn(t *testing.T) {
	void := func(w *world, when string, want ...sojourn.JobID) {
		t.Helper()
		if got := w.p.AppendVoid(nil); !slices.Equal(got, want) {
			t.Errorf("%s: promises to %v are void, want %v", when, got, want)
		}
	}
	w := small(t, Options{}, 2, 0)
	j := exact(1, 30, 2, 10, 0, 0)
	j.atOnce = 1
	w.arrive(j)
	w.offer()
	w.now = 1
	w.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: w.slotOf(1)}})
	void(w, "its slot leaves", 1)
	w.now = 10
	w.ends()
	void(w, "its slot has left")

	w = small(t, Options{}, 1, 1)
	j = exact(1, 300, 1, 10, 2, 20)
	j.atOnce = 1
	w.arrive(j)
	w.offer()
	w.now = 10
	w.ends()
	w.offer()
	w.now = 11
	w.must(sojourn.Event{Kind: sojourn.OutputLost, Task: sojourn.TaskID{Job: 1}, Attempt: 1})
	void(w, "its map has to run again", 1)
	w.now = 30
	w.must(sojourn.Event{Kind: sojourn.TaskFinished, Task: sojourn.TaskID{Job: 1, Phase: 1}, Attempt: 1, Slot: sojourn.Slot{ID: 1}})
	void(w, "its reduce has ended")
}

// slotOf returns the slot on which a task of a job runs.
func (w *world) slotOf(id sojourn.JobID) sojourn.SlotID {
	return sojourn.SlotID(slices.IndexFunc(w.slots, func(s wslot) bool { return s.busy && s.task.Job == id }))
}

// Slots become available at 99, and at 100 when a task of job 1 ends, which runs one at a time. A job of two maps of 5 makes each 5 later, and
// job 3 behind job 1 6 later: job 1 has lost its own slot. So the least that slots are later says nothing of the jobs behind.
func TestBoundedJobsDoNotMoveAlong(t *testing.T) {
	w := small(t, Options{}, 2, 0)
	first := exact(1, 300, 2, 100, 0, 0)
	first.atOnce = 1
	for _, j := range []wjob{first, exact(2, 0, 1, 99, 0, 0)} {
		w.arrive(j)
	}
	w.offer()
	if !w.arrive(exact(3, 354, 1, 250, 0, 0)) {
		t.Fatal("job 3 ends at 349, and is refused")
	}
	for deadline, want := range map[int64]bool{105: false, 359: true} {
		j := exact(4, deadline, 2, 5, 0, 0)
		if err := w.p.Admit(j.spec()); (err == nil) != want {
			t.Errorf("two maps by %d: %v, want it to be accepted: %v", deadline, err, want)
		}
	}
}
