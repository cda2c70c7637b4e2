package pfsp_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/pfsp"
)

func ungated(k int) pfsp.Options { return pfsp.Options{FairLimit: &k, NoGate: true} }

// A fairOnes policy gives each slot to the job with the fewest running tasks, and
// among these to the one that came first: what a discrete fair scheduler does.
type fairOnes struct{ exactPFSP }

func (p *fairOnes) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	var best *exactJob
	for _, j := range p.jobs {
		if j.started < len(j.times) && (best == nil || j.started-j.finished < best.started-best.finished) {
			best = j
		}
	}
	if best == nil {
		return sojourn.Assignment{}, false
	}
	p.start(best)
	return sojourn.Assignment{Task: sojourn.TaskID{Job: best.id, Index: uint32(best.started - 1)}, Attempt: 1, Slot: id}, true
}

// The tests of the bound can fail: one literal reading of the paper, ungated probes
// and a fair scheduler break it. The oracle, which shares no code with the policy,
// keeps it.
// Reference: docs/theory/pfsp.md, proof.
func TestMutantsBreakTheBound(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy func() sojourn.Policy
		breaks bool
	}{
		{"oracle", func() sojourn.Policy { return new(exactPFSP) }, false},
		{"oracle with gated probes", func() sojourn.Policy { return &exactPFSP{k: 2} }, false},
		{"jobs dropped at v=0", func() sojourn.Policy { return &exactPFSP{dropAt0: true} }, true},
		{"oracle with ungated probes", func() sojourn.Policy { return &exactPFSP{k: 1, noGate: true} }, true},
		{"ungated probes", maker(ungated(1)), true},
		{"fair", func() sojourn.Policy { return new(fairOnes) }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			if !tc.breaks {
				if in, job, by := climb(tc.policy, 0, r, 200); by > 0 {
					t.Fatalf("job %d ends %.3f longest tasks beyond the bound: %v", job+1, by, in)
				}
				return
			}
			for range 200 {
				if in, job, by := climb(tc.policy, 0, r, 100); by > 0 {
					t.Logf("job %d ends %.3f longest tasks beyond the bound: %v", job+1, by, in)
					return
				}
			}
			t.Error("no job ended beyond the bound in 20,000 instances")
		})
	}
}

// Nor may the virtual cluster have limits on parallelism, the other literal reading.
// A is one task of 100 ms, B 290 tasks of 1 ms. With fluid sharing of 4 slots among
// both, A ends at 50 ms: it goes first, and ends at 100 ms. If A has one slot there
// and B three, B ends first, at 96.7 ms, and is served first, for 72.25 ms: A ends at
// more than 172 ms, and its bound is 50 + 1 + 3/4 100 = 126 ms.
// Reference: docs/theory/pfsp.md, proof.
func TestLimitsInTheVirtualClusterBreakTheBound(t *testing.T) {
	const ms = 1_000_000
	in := instance{slots: 4, jobs: []testJob{
		{times: []sojourn.Time{100 * ms}},
		{times: slices.Repeat([]sojourn.Time{ms}, 290)},
	}}
	fsp := pfsp.Options{FairLimit: new(int), Order: pfsp.FSP}
	for _, tc := range []struct {
		name   string
		policy sojourn.Policy
		want   sojourn.Time
	}{
		{"fsp", maker(fsp)(), 100 * ms},
		{"without limits", &exactPFSP{fsp: true}, 100 * ms},
		{"with limits", &exactPFSP{fsp: true, capped: true}, 172 * ms}, // the 289th task starts at 72 ms
	} {
		s := run(tc.policy, in)
		if got := s.finish[0]; got != tc.want {
			t.Errorf("%s: A ends at %v, want %v", tc.name, got, tc.want)
		}
		broken := in.beyond(s, sharing(in), 0, new(big.Rat)).Sign() > 0
		if want := tc.want > 126*ms; broken != want {
			t.Errorf("%s: beyond the bound: %v, want %v", tc.name, broken, want)
		}
	}
}

// probes returns B of job i: the time of the tasks that were started within the
// fair limit, by jobs behind i in V, since the last moment before the last start of
// i at which a slot stayed free.
func (in instance) probes(s schedule, d []*big.Rat, i, k int) (sum int64) {
	last := -1 // round of the start of the task of i that ends last
	for _, st := range s.starts {
		if st.job == i && st.end == s.finish[i] {
			last = st.round
		}
	}
	idle := -1
	for _, round := range s.idle {
		if round < last {
			idle = round
		}
	}
	for _, st := range s.starts {
		behind := d[st.job].Cmp(d[i]) > 0 || d[st.job].Cmp(d[i]) == 0 && st.job > i
		if behind && st.task < k && st.round > idle && st.round <= last {
			sum += int64(st.end - st.at)
		}
	}
	return sum
}

// With ungated probes no job ends after D + P + (1-1/N)p + B/N, and without the last
// term many do.
// Reference: docs/theory/pfsp.md, "Without a gate".
func TestUngatedProbesCostWhatTheyTake(t *testing.T) {
	for _, k := range []int{1, 2, 5} {
		broken, jobs := 0, 0
		history := func(t *rapid.T) {
			in := drawInstance(byRapid(t), rapid.Bool().Draw(t, "weighted"))
			s, d := run(maker(ungated(k))(), in), sharing(in)
			for i := range in.jobs {
				more := big.NewRat(in.probes(s, d, i, k), int64(in.slots))
				if in.beyond(s, d, i, more).Sign() > 0 {
					t.Fatalf("job %d ends after D + P + (1-1/N)p + B/N with K = %d: %v", i+1, k, in)
				}
				if jobs++; in.beyond(s, d, i, new(big.Rat)).Sign() > 0 {
					broken++
				}
			}
		}
		checks(t, 5, history)
		broken, jobs = 0, 0
		for n := 1; broken == 0 && n < 10_000; n *= 2 {
			histories.Fixed(n, history)
		}
		t.Logf("K = %d: %d of %d jobs end after D + P + (1-1/N)p", k, broken, jobs)
		if broken == 0 {
			t.Errorf("K = %d: no job ends after D + P + (1-1/N)p", k)
		}
	}
}

// On one slot, a job of 100 tasks of 1 ms is served alone until 99 ms, when n jobs of
// tasks of 10 ms come: it still has one task. It ends after another n+1 ms with fluid
// sharing, and after the probes of all n, 10 n ms, without a gate. The bound leaves
// it one of them, whatever n is.
// Reference: docs/theory/pfsp.md, "Without a gate".
func TestUngatedProbesHaveNoConstantBound(t *testing.T) {
	const ms = 1_000_000
	late := func(opts pfsp.Options, n int) float64 {
		in := instance{slots: 1, jobs: []testJob{{times: slices.Repeat([]sojourn.Time{ms}, 100)}}}
		for range n {
			in.jobs = append(in.jobs, testJob{at: 99 * ms, times: slices.Repeat([]sojourn.Time{10 * ms}, 100)})
		}
		s := run(maker(opts)(), in)
		by, _ := in.beyond(s, sharing(in), 0, new(big.Rat)).Float64()
		return by / (10 * ms)
	}
	for _, n := range []int{10, 40} {
		if by := late(limit(1), n); by > 0 {
			t.Errorf("gated, %d others: %.1f probes beyond the bound", n, by)
		}
		if by := late(ungated(1), n); by < 0.8*float64(n)-1 {
			t.Errorf("ungated, %d others: %.1f probes beyond the bound, want many", n, by)
		}
	}
}
