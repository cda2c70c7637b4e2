package fluid_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/fluid"
	"pgregory.net/rapid"
)

var kinds = []fluid.Kind{fluid.PS, fluid.FSP, fluid.SRPT, fluid.PFSP}

func strings(ends []*big.Rat) (s []string) {
	for _, e := range ends {
		s = append(s, e.RatString())
	}
	return s
}

func TestWorkedSchedules(t *testing.T) {
	for _, tc := range []struct {
		name  string
		slots int
		jobs  []fluid.Job
		want  [4][]string // PS, FSP, SRPT, PFSP
	}{
		{
			// PS: job 0 alone until 10 (20 left); two share until 15 (17.5 and 7.5); three
			// share: job 1 has 7.5 to go, at 15 + 22.5 = 37.5 (10 and 2.5 left); two share
			// 2.5 each, at 42.5 (7.5 left); job 0 at 50.
			// FSP: order 1, 2, 0. Job 0 until 10, job 1 until 20, job 2 until 30, job 0.
			// SRPT: at 10 job 1 (10) goes before job 0 (20), job 2 (10) not before job 1 (5).
			// PFSP: the one with the shortest work is always the first under PS.
			name: "short jobs overtake", slots: 1,
			jobs: []fluid.Job{{0, 30, 1}, {10, 10, 1}, {15, 10, 1}},
			want: [4][]string{{"50", "75/2", "85/2"}, {"50", "20", "30"}, {"50", "20", "30"}, {"50", "20", "30"}},
		},
		{
			// PS: job 0 has 4 left at 6; jobs 0 and 1 have 3 and 2 at 8; three share until
			// job 1 ends at 8 + 6 = 14; jobs 0 and 2 have 1 left each and end at 16.
			// FSP: order 1, 0, 2 (a tie). Job 1 from 6 to 9, job 0 to 13, job 2 to 16.
			// SRPT: at 8 job 1 (1) stays, and at 9 job 2 (3) goes before job 0 (4).
			// PFSP: at 9 job 0 has until 16 and 4 to do: its slack of 3 is enough for job 2.
			name: "age counts under FSP", slots: 1,
			jobs: []fluid.Job{{0, 10, 1}, {6, 3, 1}, {8, 3, 1}},
			want: [4][]string{{"16", "14", "16"}, {"13", "9", "16"}, {"16", "9", "12"}, {"16", "9", "12"}},
		},
		{
			// PS: job 0 has 8 left at 12; jobs 0 and 1 have 6 and 4 at 16; three share until
			// job 1 ends at 28; jobs 0 and 2 have 2 and 3 left and end at 32 and 33.
			// FSP: job 1 from 12 to 18, job 0 (8 left) to 26, job 2 to 33.
			// SRPT: at 18 job 2 (7) goes before job 0 (8), which ends at 33, 1 after PS.
			// PFSP: at 18 job 0 has until 32 and 8 to do: its slack is 6, and job 2 takes 7.
			name: "a short job waits lest a long one is late", slots: 1,
			jobs: []fluid.Job{{0, 20, 1}, {12, 6, 1}, {16, 7, 1}},
			want: [4][]string{{"32", "28", "33"}, {"26", "18", "33"}, {"33", "18", "25"}, {"26", "18", "33"}},
		},
		{
			// Weights 1 and 2 on 3 slots: rates 1 and 2. Job 1 (10) ends at 5; job 0 has 5
			// left then, at rate 3: 5 + 5/3 = 20/3. FSP: job 1 until 10/3, then job 0.
			// SRPT: 10 and 10 tie, job 0 came first. PFSP: they tie, job 1 is first under PS.
			name: "weights", slots: 3,
			jobs: []fluid.Job{{0, 10, 1}, {0, 10, 2}},
			want: [4][]string{{"20/3", "5"}, {"20/3", "10/3"}, {"10/3", "20/3"}, {"20/3", "10/3"}},
		},
		{
			// A job without work, an idle time from 4 to 10, and arrivals at the instant
			// of a completion (job 3 arrives when job 2 ends).
			name: "idle", slots: 1,
			jobs: []fluid.Job{{0, 4, 7}, {2, 0, 1}, {10, 5, 1}, {15, 1, 1}},
			want: [4][]string{{"4", "2", "15", "16"}, {"4", "2", "15", "16"}, {"4", "2", "15", "16"}, {"4", "2", "15", "16"}},
		},
		{
			// The list is not in the order of time. PS: job 1 has 4 left at 2; both have
			// 4 and share until 10. All tie: job 1 came first.
			name: "ties go by arrival", slots: 1,
			jobs: []fluid.Job{{2, 4, 1}, {0, 6, 1}},
			want: [4][]string{{"10", "10"}, {"10", "6"}, {"10", "6"}, {"10", "6"}},
		},
	} {
		for _, kind := range kinds {
			if got, want := strings(fluid.Completions(kind, tc.slots, tc.jobs, nil)), tc.want[kind]; !slices.Equal(got, want) {
				t.Errorf("%s: Completions(%v, %d, %v) = %v, want %v", tc.name, kind, tc.slots, tc.jobs, got, want)
			}
		}
	}
}

// instances draws job sets in which many things coincide, of several families.
var instances = rapid.Custom(func(t *rapid.T) []fluid.Job {
	weight := rapid.SampledFrom([]*rapid.Generator[uint64]{
		rapid.Just[uint64](1), rapid.Uint64Range(1, 4), rapid.Uint64Range(1, 1<<48),
	}).Draw(t, "weights")
	work := rapid.SampledFrom([]*rapid.Generator[int64]{
		rapid.Int64Range(0, 12), rapid.Just[int64](5), rapid.Int64Range(1, 1<<40),
		rapid.Map(rapid.IntRange(0, 40), func(e int) int64 { return 1 << e }),
	}).Draw(t, "works")
	gap := rapid.SampledFrom([]*rapid.Generator[int64]{
		rapid.Just[int64](0), rapid.Int64Range(0, 6), rapid.Int64Range(0, 1<<40),
	}).Draw(t, "gaps")
	jobs := make([]fluid.Job, rapid.IntRange(1, 14).Draw(t, "jobs"))
	var at sojourn.Time
	for i := range jobs {
		at = at.Add(time.Duration(gap.Draw(t, "gap")))
		jobs[i] = fluid.Job{At: at, Work: time.Duration(work.Draw(t, "work")), Weight: weight.Draw(t, "weight")}
	}
	return jobs
})

// No job completes later under FSP or PFSP than under PS, or with weights under
// GPS. SRPT has the least mean. All keep the processor busy while there is work,
// and give no job more than the processor.
func TestLawsOfTheFluidModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots, jobs := rapid.IntRange(1, 5).Draw(t, "slots"), instances.Draw(t, "jobs")
		var ends [4][]*big.Rat
		var sums [4]*big.Rat
		for _, kind := range kinds {
			ends[kind] = fluid.Completions(kind, slots, jobs, nil)
			sums[kind] = new(big.Rat)
			for i, e := range ends[kind] {
				sums[kind].Add(sums[kind], e)
				alone := big.NewRat(int64(jobs[i].Work), int64(slots))
				if alone.Add(alone, big.NewRat(int64(jobs[i].At), 1)); e.Cmp(alone) < 0 {
					t.Fatalf("kind %d: job %d completes at %v, alone at %v", kind, i, e, alone)
				}
			}
			checkBusy(t, kind, slots, jobs, ends[kind])
		}
		for _, kind := range []fluid.Kind{fluid.FSP, fluid.PFSP} {
			for i := range jobs {
				if ends[kind][i].Cmp(ends[fluid.PS][i]) > 0 {
					t.Fatalf("job %d completes at %v under %d, at %v under PS", i, ends[kind][i], kind, ends[fluid.PS][i])
				}
			}
			if sums[fluid.SRPT].Cmp(sums[kind]) > 0 || sums[kind].Cmp(sums[fluid.PS]) > 0 {
				t.Fatalf("sums of completions: SRPT %v, %d %v, PS %v, want them ascending", sums[fluid.SRPT], kind, sums[kind], sums[fluid.PS])
			}
		}
	})
}

// checkBusy checks that each busy period ends when all its work is done: at the
// end of each one, and in no other gap, some job completes and none is left.
func checkBusy(t *rapid.T, kind fluid.Kind, slots int, jobs []fluid.Job, ends []*big.Rat) {
	end := new(big.Rat)
	var last *big.Rat // the last completion of the jobs so far
	for i, j := range jobs {
		at := big.NewRat(int64(j.At), 1)
		if at.Cmp(end) >= 0 {
			if last != nil && last.Cmp(end) != 0 {
				t.Fatalf("kind %d: the period before job %d ends at %v, want %v", kind, i, last, end)
			}
			end.Set(at)
			last = nil
		}
		end.Add(end, big.NewRat(int64(j.Work), int64(slots)))
		if last == nil || last.Cmp(ends[i]) < 0 {
			last = ends[i]
		}
	}
	if last.Cmp(end) != 0 {
		t.Fatalf("kind %d: the last period ends at %v, want %v", kind, last, end)
	}
}

// TestAgainstTimeSteps compares with a processor that moves in steps of the time
// in which it does one slot-nanosecond of work. All decisions of FSP, SRPT and PFSP
// fall on such steps.
func TestAgainstTimeSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 3).Draw(t, "slots")
		jobs := make([]fluid.Job, rapid.IntRange(1, 6).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i] = fluid.Job{
				At:     sojourn.Time(rapid.IntRange(0, 8).Draw(t, "at")),
				Work:   time.Duration(rapid.IntRange(1, 9).Draw(t, "work")),
				Weight: rapid.Uint64Range(1, 3).Draw(t, "weight"),
			}
		}
		want := stepped(slots, jobs)
		for _, kind := range kinds {
			if got := strings(fluid.Completions(kind, slots, jobs, nil)); !slices.Equal(got, want[kind]) {
				t.Fatalf("Completions(%d, %d, %v) = %v, want %v", kind, slots, jobs, got, want[kind])
			}
		}
	})
}

// stepped runs all kinds step by step. The remaining work under PS is kept
// for each job, and moved from completion to completion within a step.
func stepped(slots int, jobs []fluid.Job) (ends [4][]string) {
	var (
		n       = len(jobs)
		virtual = make([]*big.Rat, n) // remaining under PS
		tag     = make([]*big.Rat, n) // completion under PS once complete, for late jobs
		left    [4][]time.Duration
	)
	for kind := range ends {
		ends[kind] = make([]string, n)
	}
	for i, j := range jobs {
		virtual[i] = new(big.Rat).SetInt64(int64(j.Work))
		for k := range left {
			left[k] = append(left[k], j.Work)
		}
	}
	for step := int64(0); slices.Contains(ends[fluid.PS], "") || slices.Contains(ends[fluid.FSP], "") || slices.Contains(ends[fluid.SRPT], "") || slices.Contains(ends[fluid.PFSP], ""); step++ {
		now, next := big.NewRat(step, int64(slots)), big.NewRat(step+1, int64(slots))
		here := func(i int) bool { return big.NewRat(int64(jobs[i].At), 1).Cmp(now) <= 0 }
		// FSP: virtually complete first, then by remaining over weight, then arrival.
		serve := func(kind fluid.Kind, before func(a, b int) bool) {
			best := -1
			for i := range jobs {
				if here(i) && left[kind][i] > 0 && (best < 0 || before(i, best) || !before(best, i) && jobs[i].At < jobs[best].At) {
					best = i
				}
			}
			if best >= 0 {
				if left[kind][best]--; left[kind][best] == 0 {
					ends[kind][best] = next.RatString()
				}
			}
		}
		serve(fluid.SRPT, func(a, b int) bool { return left[fluid.SRPT][a] < left[fluid.SRPT][b] })
		virtually := func(a, b int) bool {
			if tag[a] != nil && tag[b] != nil {
				return tag[a].Cmp(tag[b]) < 0
			}
			if tag[a] != nil || tag[b] != nil {
				return tag[a] != nil
			}
			x := new(big.Rat).Quo(virtual[a], big.NewRat(int64(jobs[a].Weight), 1))
			return x.Cmp(new(big.Rat).Quo(virtual[b], big.NewRat(int64(jobs[b].Weight), 1))) < 0
		}
		serve(fluid.FSP, virtually)
		completable := completable(now, slots, jobs, virtual, left[fluid.PFSP])
		serve(fluid.PFSP, func(a, b int) bool {
			if completable[a] != completable[b] {
				return completable[a]
			}
			if l := left[fluid.PFSP]; l[a] != l[b] {
				return l[a] < l[b]
			}
			return virtually(a, b)
		})
		for at := now; at.Cmp(next) < 0; {
			var total int64
			for i, j := range jobs {
				if here(i) && virtual[i].Sign() > 0 {
					total += int64(j.Weight)
				}
			}
			if total == 0 {
				break
			}
			span := new(big.Rat).Sub(next, at)
			rate := func(i int) *big.Rat { return big.NewRat(int64(slots)*int64(jobs[i].Weight), total) }
			for i := range jobs {
				if here(i) && virtual[i].Sign() > 0 {
					if need := new(big.Rat).Quo(virtual[i], rate(i)); need.Cmp(span) < 0 {
						span = need
					}
				}
			}
			at = new(big.Rat).Add(at, span)
			for i := range jobs {
				if here(i) && virtual[i].Sign() > 0 {
					if virtual[i].Sub(virtual[i], new(big.Rat).Mul(span, rate(i))); virtual[i].Sign() == 0 {
						tag[i] = at
						ends[fluid.PS][i] = at.RatString()
					}
				}
			}
		}
	}
	return ends
}

// completable tells of each job whether all others would complete by their time
// under PS if it were served to its end, and then they were in the order in which
// they complete under PS: the meaning of the word, not a formula. Jobs that are not
// here have no virtual work spent and are left out.
func completable(now *big.Rat, slots int, jobs []fluid.Job, virtual []*big.Rat, left []time.Duration) []bool {
	// The completions under PS, one after the other.
	type entry struct {
		id   int
		left *big.Rat
	}
	var active []entry
	for i, v := range virtual {
		if big.NewRat(int64(jobs[i].At), 1).Cmp(now) <= 0 && v.Sign() > 0 {
			active = append(active, entry{i, new(big.Rat).Set(v)})
		}
	}
	at := new(big.Rat).Set(now)
	type due struct {
		id int
		at *big.Rat
	}
	var order []due
	for len(active) > 0 {
		var total int64
		for _, e := range active {
			total += int64(jobs[e.id].Weight)
		}
		perWeight := func(e entry) *big.Rat { return new(big.Rat).Quo(e.left, big.NewRat(int64(jobs[e.id].Weight), 1)) }
		first := 0
		for i := range active {
			if c := perWeight(active[i]).Cmp(perWeight(active[first])); c < 0 ||
				c == 0 && jobs[active[i].id].At < jobs[active[first].id].At {
				first = i
			}
		}
		gain := perWeight(active[first])
		at.Add(at, new(big.Rat).Mul(gain, big.NewRat(total, int64(slots))))
		for _, e := range active {
			e.left.Sub(e.left, new(big.Rat).Mul(gain, big.NewRat(int64(jobs[e.id].Weight), 1)))
		}
		order = append(order, due{active[first].id, new(big.Rat).Set(at)})
		active = slices.Delete(active, first, first+1)
	}
	result := make([]bool, len(jobs))
	for i := range jobs {
		clock := new(big.Rat).Add(now, big.NewRat(int64(left[i]), int64(slots)))
		result[i] = true
		for _, d := range order {
			if d.id == i || left[d.id] == 0 {
				continue
			}
			if clock.Add(clock, big.NewRat(int64(left[d.id]), int64(slots))); clock.Cmp(d.at) > 0 {
				result[i] = false
			}
		}
	}
	return result
}

func TestBadInputPanics(t *testing.T) {
	for _, tc := range []struct {
		kind  fluid.Kind
		slots int
		job   fluid.Job
	}{
		{fluid.PS, 0, fluid.Job{0, 1, 1}},
		{fluid.PS, 1, fluid.Job{-1, 1, 1}},
		{fluid.PS, 1, fluid.Job{0, -1, 1}},
		{fluid.PS, 1, fluid.Job{0, 1, 0}},
		{99, 1, fluid.Job{0, 1, 1}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Completions(%d, %d, %v) returned, want a panic", tc.kind, tc.slots, tc.job)
				}
			}()
			fluid.Completions(tc.kind, tc.slots, []fluid.Job{tc.job}, nil)
		}()
	}
}

// The load is 1 on 30 slots: busy periods are long.
func BenchmarkCompletions(b *testing.B) {
	for _, tc := range []struct {
		n       int
		weights uint64
	}{{200, 1}, {2000, 1}, {200, 1 << 20}} {
		rng := rand.New(rand.NewPCG(1, 2))
		jobs := make([]fluid.Job, tc.n)
		var at sojourn.Time
		for i := range jobs {
			at = at.Add(time.Duration(rng.Int64N(int64(2 * time.Minute))))
			jobs[i] = fluid.Job{At: at, Work: time.Duration(rng.Int64N(int64(time.Hour))), Weight: 1 + rng.Uint64N(tc.weights)}
		}
		b.Run(fmt.Sprintf("n=%d/weights=%d", tc.n, tc.weights), func(b *testing.B) {
			for b.Loop() {
				fluid.Completions(fluid.FSP, 30, jobs, nil)
			}
		})
	}
}

func TestStepsAreReported(t *testing.T) {
	jobs := []fluid.Job{{0, 30, 1}, {10, 10, 1}, {15, 0, 1}, {100, 1, 2}}
	for _, kind := range kinds {
		got := 0
		fluid.Completions(kind, 1, jobs, func() { got++ })
		if want := fluid.Steps(kind, len(jobs)); got != want {
			t.Errorf("kind %d: %d steps, want %d", kind, got, want)
		}
	}
}

func BenchmarkRounded(b *testing.B) {
	for _, n := range []int{2000, 100_000} {
		rng := rand.New(rand.NewPCG(1, 2))
		jobs := make([]fluid.Job, n)
		var at sojourn.Time
		for i := range jobs {
			at = at.Add(time.Duration(rng.Int64N(int64(2 * time.Minute))))
			jobs[i] = fluid.Job{At: at, Work: time.Duration(rng.Int64N(int64(time.Hour))), Weight: 1 + rng.Uint64N(1<<20)}
		}
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				fluid.Rounded(fluid.PFSP, 30, jobs)
			}
		})
	}
}
