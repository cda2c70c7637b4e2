package rtmr

import (
	"errors"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// mustNew makes a policy.
func mustNew(t *testing.T, opts Options) *Policy {
	t.Helper()
	p, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// small makes a world of some map and reduce slots without jobs.
func small(t *testing.T, opts Options, maps, reduces int) *world {
	t.Helper()
	w := (&variant{opts: opts}).build(1)
	w.p, w.slots, w.pending, w.jobs = mustNew(t, opts), nil, nil, nil
	w.addSlots(maps, sojourn.MapClass)
	w.addSlots(reduces, sojourn.ReduceClass)
	return w
}

// exact describes a job whose tasks take exactly as long as estimated.
func exact(id sojourn.JobID, deadline int64, maps, mapTime, reduces, reduceTime int64) wjob {
	j := wjob{id: id, deadline: deadline, eps: [2]int64{mapTime, reduceTime}}
	for range maps {
		j.times[0] = append(j.times[0], mapTime)
	}
	for range reduces {
		j.times[1] = append(j.times[1], reduceTime)
	}
	return j
}

// Two map slots and one reduce slot. Job 1: one map of 10, one reduce of 10, deadline 20.
// Job 2: one map of 1, one reduce of 50, deadline 100. Both are accepted, with e = 20 and
// 70. At 1, job 2 is ready, one slot is free and one is reserved for job 1. With the
// paper's 1 > 1 job 2 takes it until 51, and job 1 ends at 61. With >= job 1 ends at 20
// and job 2 at 70, as promised.
//
// Reference: Algorithm IV, line 10.
func TestOffByOne(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		for _, paper := range []bool{false, true} {
			w := small(t, Options{Booking: booking, PaperReservation: paper}, 2, 1)
			w.pending = []wjob{exact(1, 20, 1, 10, 1, 10), exact(2, 100, 1, 1, 1, 50)}
			w.run()
			first, second := w.job(1).finish, w.job(2).finish
			want := [2]int64{20, 70}
			if paper {
				want = [2]int64{61, 51}
			}
			if got := [2]int64{first, second}; w.accepted != 2 || got != want {
				t.Errorf("%v, paper's reservation %v: %d accepted, jobs end at %v, want 2 and %v", booking, paper, w.accepted, got, want)
			}
		}
	}
}

// Two map slots. Jobs 1 and 2 have one map each, estimated at 10, with e = 10 and
// deadline 10. Job 1 ends at 9. The paper's feedback books all of job 2 anew behind U^m =
// [0, 9], from 9 on, although it has been running since 0. So it gets e = 19, past the
// deadline. The lesser of the two bounds is still 10.
//
// Reference: Algorithm V, lines 14 to 19.
func TestFeedbackRaisesNoEstimate(t *testing.T) {
	w := small(t, Options{Booking: Chain, Feedback: true}, 2, 0)
	first := exact(1, 10, 1, 10, 0, 0)
	first.times[0][0] = 9
	w.arrive(first)
	w.arrive(exact(2, 10, 1, 10, 0, 0))
	w.offer()
	w.now = 9
	w.ends()
	if e := w.p.ledger.Job(2).Data.mark.e / int64(unit); e != 10 {
		t.Errorf("e = %d, want 10", e)
	}
}

// Two map slots, and job 1 of three maps of 9 with deadline 27 is waiting. Job 2 has one
// map of 26. With deadline 26 it goes first, and both jobs end in time: at 26, and at 9,
// 18 and 27 on the other slot. With deadline 27 it goes behind job 1, which leaves it a
// slot at 9, so it would end at 35. It is refused, with an offer that is earlier than the
// deadline that it asked for. If every place is tried, it gets the first one.
//
// Reference: Section IV-B, the order by deadlines.
func TestEDFIsNotMonotone(t *testing.T) {
	for _, booking := range []Booking{Rebook, Chain} {
		for _, one := range []bool{true, false} {
			w := small(t, Options{Booking: booking, OnePosition: one}, 2, 0)
			w.arrive(exact(1, 27, 3, 9, 0, 0))
			for deadline, accepted := range map[int64]bool{25: false, 26: true, 27: !one, 34: !one, 35: true} {
				j := exact(2, deadline, 1, 26, 0, 0)
				err := w.p.Admit(j.spec())
				if (err == nil) != accepted {
					t.Errorf("%v, one position %v: deadline %d: %v, want accepted %v", booking, one, deadline, err, accepted)
				}
				var r *sojourn.RejectedError
				if errors.As(err, &r) && (r.Offer != sojourn.Time(26*unit) || !r.Exact || r.Misses != 2) {
					t.Errorf("%v, one position %v: deadline %d: %+v, want an exact offer of 26", booking, one, deadline, r)
				}
			}
			j := exact(2, 27, 1, 26, 0, 0)
			if accepted := w.arrive(j); accepted == one {
				t.Fatalf("%v: accepted %v", booking, accepted)
			} else if !accepted {
				w.arrive(exact(2, 26, 1, 26, 0, 0))
			}
			w.offer()
			w.run()
			if w.missed > 0 || w.accepted != 2 {
				t.Errorf("%v, one position %v: %d accepted, %d missed", booking, one, w.accepted, w.missed)
			}
		}
	}
}

// The vectors of Algorithms II and III by hand: two map slots, two reduce slots. Job 1
// has 3 maps of 4 and one reduce of 5. Its maps end at 4, 4, 8, so T^m = [4, 8] and e^m =
// 8. Its reduce ends at 13: T^r = [0, 13]. Job 2 is behind it. Its 2 maps of 3 end at 7
// and 10: T^m = [8, 10] and e^m = 10. Its 3 reduces of 2 start at 10 and 12 on the slot
// that was free, and then at 13 on the other slot, which is the first one by then: T^r =
// [14, 15] and e = 15.
//
// Reference: Algorithms II and III.
func TestVectorsByHand(t *testing.T) {
	w := small(t, Options{Booking: Chain, OnePosition: true}, 2, 2)
	w.arrive(exact(1, 100, 3, 4, 1, 5))
	w.arrive(exact(2, 200, 2, 3, 3, 2))
	type want struct {
		em, e int64
		t     [2][]int64
	}
	for id, want := range map[sojourn.JobID]want{
		1: {8, 13, [2][]int64{{4, 8}, {0, 13}}},
		2: {10, 15, [2][]int64{{8, 10}, {14, 15}}},
	} {
		b := &w.p.ledger.Job(id).Data.mark.booking
		for s := range b.t {
			var got []int64
			for _, r := range b.t[s] {
				for range r.N {
					got = append(got, r.T/int64(unit))
				}
			}
			for i := range got {
				if got[i] != want.t[s][i] {
					t.Errorf("job %d: T[%d] = %v, want %v", id, s, got, want.t[s])
					break
				}
			}
		}
		if b.em/int64(unit) != want.em || b.e/int64(unit) != want.e {
			t.Errorf("job %d: e^m = %d, e = %d, want %d and %d", id, b.em/int64(unit), b.e/int64(unit), want.em, want.e)
		}
	}
}
