package pfsp_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/pfsp"
)

// kept returns options with so many percent reserved.
func kept(percent int, counted bool) pfsp.Options {
	return pfsp.Options{Reserve: float64(percent) / 100, Counted: counted}
}

// A keptPFSP is an exactPFSP with a reserve, in lists and rational numbers.
type keptPFSP struct {
	exactPFSP
	reserve *gpstest.Reserve
	fewer   bool // the virtual cluster has all slots but the reserved ones
}

// newKeptPFSP returns the oracle. Counted sets both owners and fewer; a mutant has only fewer. With
// owners, slots that are held out of turn count as free.
func newKeptPFSP(exact exactPFSP, percent int, owners, fewer bool) *keptPFSP {
	return &keptPFSP{exact, gpstest.NewReserve(big.NewRat(int64(percent), 100), owners), fewer}
}

func (p *keptPFSP) Observe(ev sojourn.Event) error {
	p.exactPFSP.Observe(ev)
	p.reserve.Observe(ev, &p.v, p.fewer)
	return nil
}

// next returns the job that the next slot goes to, or nil, whether it is its turn, and how
// close the call was.
func (p *keptPFSP) next() (best *exactJob, inTurn bool, margin *big.Rat) {
	first, margin := p.choose()
	live := 0
	for _, j := range p.jobs {
		if j.finished < len(j.times) {
			live++
		}
	}
	if first == nil || live == 1 && p.reserve.Small(len(first.times)) || p.reserve.May(first.id) {
		return first, true, margin
	}
	for _, j := range p.order() {
		if j.started < len(j.times) && p.reserve.May(j.id) {
			return j, false, margin
		}
	}
	return nil, false, margin
}

func (p *keptPFSP) begin(j *exactJob, id sojourn.SlotID, inTurn bool) {
	p.start(j)
	p.reserve.Start(id, j.id, inTurn)
}

func (p *keptPFSP) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	j, inTurn, _ := p.next()
	if j == nil {
		return sojourn.Assignment{}, false
	}
	p.begin(j, id, inTurn)
	return sojourn.Assignment{Task: sojourn.TaskID{Job: j.id, Index: uint32(j.started - 1)}, Attempt: 1, Slot: id}, true
}

// A keptJudge compares a policy with the oracle decision by decision, until a call is too
// close to tell whose turn it is.
type keptJudge struct {
	sojourn.Policy
	exact *keptPFSP
	told  *int // decisions out of turn, and offers declined, that were compared
	over  *bool
	t     *rapid.T
}

func (p keptJudge) Observe(ev sojourn.Event) error {
	if !*p.over {
		p.exact.Observe(ev)
	}
	return p.Policy.Observe(ev)
}

func (p keptJudge) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.Policy.Assign(id)
	if *p.over {
		return a, ok
	}
	want, inTurn, margin := p.exact.next()
	if close := margin.Cmp(big.NewRat(1000, 1)) <= 0; close { // slot-nanoseconds
		*p.over = true
		return a, ok
	}
	if ok != (want != nil) || ok && a.Task.Job != want.id {
		p.t.Fatalf("at %v Assign = %v, %v, want job %v%s", p.exact.v.Now, a.Task, ok, want, &p.exact.exactPFSP)
	}
	if !inTurn {
		*p.told++
	}
	if ok {
		p.exact.begin(want, id, inTurn)
	}
	if err := p.exact.reserve.Check(); err != nil {
		p.t.Fatal(err)
	}
	return a, ok
}

// With a reserve the policy decides as eq. (6) in rational numbers and the rules of
// package kit/reserve say.
func TestDecidesAsTheOracleWithReserve(t *testing.T) {
	told := 0
	history := func(t *rapid.T) {
		in := drawInstance(byRapid(t), rapid.Bool().Draw(t, "weighted"))
		in.slots += rapid.IntRange(0, 16).Draw(t, "more slots")
		percent := rapid.SampledFrom([]int{5, 10, 25, 50, 100}).Draw(t, "percent")
		counted := rapid.Bool().Draw(t, "counted")
		k := rapid.IntRange(0, 2).Draw(t, "fair limit")
		opts := kept(percent, counted)
		opts.FairLimit = &k
		exact := newKeptPFSP(exactPFSP{k: k, judge: true}, percent, counted, counted)
		run(keptJudge{maker(opts)(), exact, &told, new(bool), t}, in)
	}
	checks(t, 3, history)
	told = 0
	histories.Fixed(20, history)
	if told < 50 {
		t.Errorf("%d decisions out of turn were compared, want 50", told)
	}
}

// Reference: package comment, theorem, with a Reserve.
func TestCountedReserveKeepsTheBound(t *testing.T) {
	checks(t, 6, func(t *rapid.T) {
		in := drawInstance(byRapid(t), rapid.Bool().Draw(t, "weighted"))
		in.kept = rapid.SampledFrom([]int{10, 25, 50, 100}).Draw(t, "percent")
		opts := kept(in.kept, true)
		if k := rapid.IntRange(-1, 2).Draw(t, "fair limit"); k >= 0 {
			opts.FairLimit = &k
		}
		opts.Order = rapid.SampledFrom([]pfsp.Order{pfsp.Protective, pfsp.FSP}).Draw(t, "order")
		if job, by := in.worst(run(maker(opts)(), in), sharing(in)); by > 0 {
			t.Fatalf("job %d ends %.3f longest tasks beyond D + P + (1-1/M)p: %v", job+1, by, in)
		}
	})
	for i, percent := range []int{25, 50} {
		if in, job, by := climb(maker(kept(percent, true)), percent, rand.New(rand.NewPCG(uint64(i), 2)), count(t, 2)); by > 0 {
			t.Errorf("job %d ends %.3f longest tasks beyond D + P + (1-1/M)p: %v", job+1, by, in)
		}
	}
}

// stream returns the jobs of [gpstest.Stream].
func stream(tasks int) instance {
	first, second, long := gpstest.Stream(tasks)
	return instance{slots: 2, kept: 50, jobs: []testJob{{times: first}, {times: second}, {at: sojourn.Time(time.Second / 4), times: long}}}
}

// The plain form keeps no bound: the longer the stream, the later the long task. The counted
// form keeps the bound. A mutant that counts only free slots, and not who holds the others, does
// not.
// Reference: package comment, theorem, with a Reserve.
func TestPlainReserveLosesWithoutBound(t *testing.T) {
	for _, tasks := range []int{50, 100, 200} {
		in := stream(tasks)
		if got, least := run(maker(kept(50, false))(), in).finish[2], sojourn.Time(tasks)*sojourn.Time(time.Second); got < least {
			t.Errorf("plain, %d short tasks: the long one ends at %v, want %v or later", tasks, got, least)
		}
		if job, by := in.worst(run(maker(kept(50, true))(), in), sharing(in)); by > 0 {
			t.Errorf("counted, %d short tasks: job %d ends %.3f longest tasks beyond the bound", tasks, job+1, by)
		}
		if job, by := in.worst(run(newKeptPFSP(exactPFSP{k: 2}, 50, true, true), in), sharing(in)); by > 0 {
			t.Errorf("the oracle, %d short tasks: job %d ends %.3f longest tasks beyond the bound", tasks, job+1, by)
		}
		if job, by := in.worst(run(newKeptPFSP(exactPFSP{k: 2}, 50, false, true), in), sharing(in)); job != 2 || by <= 0 {
			t.Errorf("owners not counted, %d short tasks: job %d ends %.3f longest tasks after its bound, want job 3 beyond it", tasks, job+1, by)
		}
	}
}

// The plain reserve makes the promise void, even where it keeps none of so few slots, since
// more may come. The counted one does not.
func TestExplainNamesThePlainReserve(t *testing.T) {
	const plain = "a reserve that is not counted"
	for _, tc := range []struct {
		opts  pfsp.Options
		slots int
		want  []string
	}{
		{kept(50, false), 2, []string{plain}},
		{kept(50, false), 1, []string{plain}},
		{kept(50, true), 2, nil},
		{kept(0, false), 2, nil},
	} {
		c := newCluster(t, tc.opts, tc.slots)
		c.arrive(1, 2, time.Second)
		if got, _ := c.value(1, "void").Any().([]string); !slices.Equal(got, tc.want) {
			t.Errorf("%v of %d slots, counted %v: void = %q, want %q", tc.opts.Reserve, tc.slots, tc.opts.Counted, got, tc.want)
		}
	}
}
