package pfsp_test

import (
	"cmp"
	"flag"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/pfsp"
)

// count returns n times the number of rapid's checks, which is 100 unless the flag
// -rapid.checks says otherwise.
func count(t testing.TB, n int) int {
	base, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	return base * n
}

// checks runs a property n times as often as rapid would, or a quarter of that unless
// thorough.
func checks(t *testing.T, n int, property func(*rapid.T)) {
	t.Helper()
	n = count(t, n)
	if !thorough {
		n /= 4
	}
	withChecks(t, n, func() { rapid.Check(t, property) })
}

// withChecks runs a test with another number of rapid's checks.
func withChecks(t *testing.T, n int, test func()) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	was := f.Value.String()
	f.Value.Set(strconv.Itoa(n))
	defer f.Value.Set(was)
	test()
}

// beyond returns how far job i ends after its bound D + P + (1-1/N)p + more in a
// schedule, in nanoseconds; it is negative if the bound holds.
func (in instance) beyond(s schedule, d []*big.Rat, i int, more *big.Rat) *big.Rat {
	var others sojourn.Time // P
	for k, j := range in.jobs {
		if k != i {
			others = max(others, slices.Max(j.times))
		}
	}
	own := slices.Max(in.jobs[i].times) // p
	bound := big.NewRat(int64(own)*int64(in.served()-1), int64(in.served()))
	bound.Add(bound, d[i])
	bound.Add(bound, new(big.Rat).SetInt64(int64(others)))
	bound.Add(bound, more)
	return bound.Sub(new(big.Rat).SetInt64(int64(s.finish[i])), bound)
}

// worst returns the job of a schedule that comes closest to its bound or is
// furthest beyond it, and by how much, in units of the longest task.
func (in instance) worst(s schedule, d []*big.Rat) (job int, by float64) {
	var longest sojourn.Time
	for _, j := range in.jobs {
		longest = max(longest, slices.Max(j.times))
	}
	var most *big.Rat
	for i := range in.jobs {
		if over := in.beyond(s, d, i, new(big.Rat)); most == nil || over.Cmp(most) > 0 {
			job, most = i, over
		}
	}
	by, _ = most.Float64()
	return job, by / float64(longest)
}

// The policies of the theorem.
var bounded = []struct {
	name string
	opts pfsp.Options
}{
	{"K=0", limit(0)},
	{"K=1", limit(1)},
	{"K=2", pfsp.Options{}},
	{"K=5", limit(5)},
	{"fsp", pfsp.Options{FairLimit: new(int), Order: pfsp.FSP}},
}

// No job ends after D + P + (1-1/N)p, with gated probes as without any, and with
// weights.
// Reference: package comment, theorem.
func TestNoJobIsBeyondTheBound(t *testing.T) {
	for _, tc := range bounded {
		for _, weighted := range []bool{false, true} {
			name := tc.name
			if weighted {
				name += " weighted"
			}
			t.Run(name, func(t *testing.T) {
				checks(t, 3, func(t *rapid.T) {
					in := drawInstance(byRapid(t), weighted)
					if job, by := in.worst(run(maker(tc.opts)(), in), sharing(in)); by > 0 {
						t.Fatalf("job %d ends %.3f longest tasks beyond D + P + (1-1/N)p: %v", job+1, by, in)
					}
				})
			})
		}
	}
}

// climb looks for an instance that is bad for a policy, with so many percent reserved: it changes one at random
// as long as the worst job comes closer to its bound or goes further beyond it, and
// begins anew when nothing helps. It tries n instances, or until a job is beyond its
// bound, and returns the worst.
func climb(newPolicy func() sojourn.Policy, kept int, r *rand.Rand, n int) (worst instance, job int, by float64) {
	by = -100
	for n > 0 && by <= 0 {
		in := drawInstance(byRand(r), false)
		in.kept = kept
		best := -100.0
		for stuck := 0; n > 0 && by <= 0 && stuck < 60; n-- {
			next := in.changed(r)
			k, over := next.worst(run(newPolicy(), next), sharing(next))
			if over > by {
				worst, job, by = next, k, over
			}
			if stuck++; over >= best {
				if over > best {
					stuck = 0
				}
				in, best = next, over
			}
		}
	}
	return worst, job, by
}

// changed returns an instance that differs in one or two places.
func (in instance) changed(r *rand.Rand) instance {
	const ms = 1_000_000
	jobs := make([]testJob, len(in.jobs))
	for i, j := range in.jobs {
		jobs[i] = j
		jobs[i].times = slices.Clone(j.times)
	}
	in.jobs = jobs
	for range 1 + r.IntN(2) {
		j := &in.jobs[r.IntN(len(in.jobs))]
		task := &j.times[r.IntN(len(j.times))]
		switch r.IntN(7) {
		case 0:
			*task = sojourn.Time(1+r.IntN(20)) * ms
		case 1:
			*task = max(1, *task+sojourn.Time(r.IntN(3)-1)*ms)
		case 2:
			j.times = append(j.times, *task)
		case 3:
			if len(j.times) > 1 {
				j.times = j.times[:len(j.times)-1]
			}
		case 4:
			j.at = max(0, j.at+sojourn.Time(r.IntN(41)-20)*ms/4)
			slices.SortStableFunc(in.jobs, func(a, b testJob) int { return cmp.Compare(a.at, b.at) })
		case 5:
			in.slots = min(16, max(1, in.slots+r.IntN(3)-1))
		case 6:
			if k := r.IntN(len(in.jobs)); len(in.jobs) > 2 && r.IntN(2) == 0 {
				in.jobs = slices.Delete(in.jobs, k, k+1)
			} else if len(in.jobs) < 13 {
				copied := in.jobs[k]
				copied.times = slices.Clone(copied.times)
				in.jobs = slices.Insert(in.jobs, k, copied)
			}
		}
	}
	return in
}

// Nor on instances that were sought for being bad.
// Reference: package comment, theorem.
func TestNoBadInstanceIsBeyondTheBound(t *testing.T) {
	for i, tc := range bounded {
		t.Run(tc.name, func(t *testing.T) {
			in, job, by := climb(maker(tc.opts), 0, rand.New(rand.NewPCG(uint64(i), 1)), count(t, 3))
			if by > 0 {
				t.Errorf("job %d ends %.3f longest tasks beyond D + P + (1-1/N)p: %v", job+1, by, in)
			}
			t.Logf("the worst instance misses the bound by %.3f longest tasks", -by)
		})
	}
}

// The policy decides as the oracle does: by eq. (6), evaluated anew with rational
// numbers, unless two quantities are closer than a slot-microsecond.
// Reference: eq. (6), Algorithms 2 and 4.
func TestDecidesAsTheOracle(t *testing.T) {
	two := 2
	for _, tc := range []struct {
		name  string
		opts  pfsp.Options
		exact exactPFSP
	}{
		{"K=0", limit(0), exactPFSP{}},
		{"K=2", pfsp.Options{}, exactPFSP{k: 2}},
		{"ungated", pfsp.Options{FairLimit: &two, NoGate: true}, exactPFSP{k: 2, noGate: true}},
		{"fsp", pfsp.Options{FairLimit: new(int), Order: pfsp.FSP}, exactPFSP{fsp: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var calls [2]int
			history := func(t *rapid.T) {
				in := drawInstance(byRapid(t), rapid.Bool().Draw(t, "weighted"))
				exact := tc.exact
				exact.judge = true
				run(judged{maker(tc.opts)(), &exact, &calls, t}, in)
			}
			checks(t, 2, history)
			calls = [2]int{}
			histories.Fixed(20, history)
			if calls[0] == 0 || calls[1]*200 > calls[0] {
				t.Errorf("%d of %d calls were too close to tell", calls[1], calls[0])
			}
			t.Logf("%d of %d calls were too close to tell", calls[1], calls[0])
		})
	}
}
