package baseline_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// A keptFSP is an exactFSP with a reserve, in lists and rational numbers.
type keptFSP struct {
	exactFSP
	reserve *gpstest.Reserve
	fewer   bool // the virtual cluster has all slots but the reserved ones

	over map[sojourn.JobID]int // finished tasks
}

// newKeptFSP returns the oracle. Counted sets both owners and fewer; a mutant has only fewer. With
// owners, slots that are held out of turn count as free.
func newKeptFSP(share *big.Rat, owners, fewer bool) *keptFSP {
	return &keptFSP{reserve: gpstest.NewReserve(share, owners), fewer: fewer, over: map[sojourn.JobID]int{}}
}

func (p *keptFSP) Observe(ev sojourn.Event) error {
	p.exactFSP.Observe(ev)
	p.reserve.Observe(ev, &p.v, p.fewer)
	if ev.Kind == sojourn.TaskFinished {
		p.over[ev.Task.Job]++
	}
	return nil
}

// next returns the job that the next slot goes to, and whether it is its turn.
func (p *keptFSP) next() (best *exactJob, inTurn bool) {
	live := 0
	for _, j := range p.jobs {
		if p.over[j.id] < j.tasks {
			live++
		}
	}
	for _, j := range p.jobs {
		if j.started < j.tasks && (live == 1 && p.reserve.Small(j.tasks) || p.reserve.May(j.id)) && (best == nil || !gpstest.Before(best.Job, j.Job, false)) {
			best = j
		}
	}
	return best, best == p.first()
}

func (p *keptFSP) start(j *exactJob, id sojourn.SlotID, inTurn bool) {
	j.started++
	p.reserve.Start(id, j.id, inTurn)
}

func (p *keptFSP) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	j, inTurn := p.next()
	if j == nil {
		return sojourn.Assignment{}, false
	}
	p.start(j, id, inTurn)
	return sojourn.Assignment{Task: sojourn.TaskID{Job: j.id, Index: uint32(j.started - 1)}, Attempt: 1, Slot: id}, true
}

// A keptJudge compares a policy with the oracle decision by decision.
type keptJudge struct {
	sojourn.Policy
	exact *keptFSP
	t     *rapid.T
	tied  *bool // jobs were too close to decide: the rest is not compared
}

func (p keptJudge) Observe(ev sojourn.Event) error {
	if !*p.tied {
		p.exact.Observe(ev)
	}
	return p.Policy.Observe(ev)
}

func (p keptJudge) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.Policy.Assign(id)
	if *p.tied {
		return a, ok
	}
	want, inTurn := p.exact.next()
	if ok != (want != nil) {
		p.t.Fatalf("at %v Assign = %v, %v, want job %v", p.exact.v.Now, a, ok, want)
	}
	if !ok {
		return a, ok
	}
	if got := p.exact.jobs[a.Task.Job-1]; got != want {
		if !p.exact.tie(got, want) {
			p.t.Fatalf("at %v Assign = task %v, want one of job %d", p.exact.v.Now, a.Task, want.id)
		}
		*p.tied = true
		return a, ok
	}
	if !inTurn && p.exact.tie(p.exact.first(), want) {
		*p.tied = true // whose turn it was
	}
	p.exact.start(want, id, inTurn)
	if err := p.exact.reserve.Check(); err != nil {
		p.t.Fatal(err)
	}
	return a, ok
}

// FSP with a reserve decides as exact fluid processor sharing and the rules of package
// kit/reserve say.
func TestFSPWithReserveDecidesAsTheOracle(t *testing.T) {
	checks(t, 4, func(t *rapid.T) {
		n, jobs := instance(t)
		share := rapid.SampledFrom([]int{10, 25, 50, 100}).Draw(t, "percent")
		counted := rapid.Bool().Draw(t, "counted")
		fsp := must(baseline.NewFSP, baseline.FSPOptions{Reserve: float64(share) / 100, Counted: counted})()
		schedule(keptJudge{fsp, newKeptFSP(rat(share, 100), counted, counted), t, new(bool)}, n, jobs)
	})
}

// beyondKept returns the first job that ends after D + P + (1-1/M)p, where D is its end
// in fluid processor sharing on M = n - k slots, or -1.
func beyondKept(p sojourn.Policy, n int, share *big.Rat, jobs []testJob) int {
	finish, _ := schedule(p, n, jobs)
	m := n - gpstest.Kept(share, n)
	fluid := gpstest.Cluster{Slots: m}
	for _, j := range jobs {
		fluid.Advance(j.at)
		work := int64(0)
		for _, d := range j.times {
			work += int64(d)
		}
		fluid.Arrive(work, j.weight)
	}
	fluid.Drain()
	for i := range jobs {
		others := sojourn.Time(0)
		for k := range jobs {
			if k != i {
				others = max(others, slices.Max(jobs[k].times))
			}
		}
		bound := big.NewRat(int64(slices.Max(jobs[i].times))*int64(m-1), int64(m))
		bound.Add(bound, fluid.Jobs[i].Ended).Add(bound, new(big.Rat).SetInt64(int64(others)))
		if new(big.Rat).SetInt64(int64(finish[i])).Cmp(bound) > 0 {
			return i
		}
	}
	return -1
}

// Reference: package comment, theorem with a reserve.
func TestCountedReserveKeepsTheBound(t *testing.T) {
	checks(t, 10, func(t *rapid.T) {
		n, jobs := instance(t)
		percent := rapid.SampledFrom([]int{10, 25, 50, 100}).Draw(t, "percent")
		fsp := must(baseline.NewFSP, baseline.FSPOptions{Reserve: float64(percent) / 100, Counted: true})()
		if i := beyondKept(fsp, n, rat(percent, 100), jobs); i >= 0 {
			t.Fatalf("job %d ends beyond D + P + (1-1/M)p with %d slots, %d %% reserved, and jobs %v", i+1, n, percent, jobs)
		}
	})
}

// stream returns the jobs of [gpstest.Stream].
func stream(tasks int) []testJob {
	first, second, long := gpstest.Stream(tasks)
	return []testJob{{0, 1, first}, {0, 1, second}, {sojourn.Time(time.Second / 4), 1, long}}
}

// The plain form keeps no bound: the longer the stream, the later the long task. The counted
// form keeps the bound. A mutant that counts only free slots, and not who holds the others,
// does not. Reference: package comment, theorem with a reserve.
func TestPlainReserveLosesWithoutBound(t *testing.T) {
	half := rat(1, 2)
	ends := func(p sojourn.Policy, tasks int) sojourn.Time {
		finish, _ := schedule(p, 2, stream(tasks))
		return finish[2]
	}
	plain := must(baseline.NewFSP, baseline.FSPOptions{Reserve: 0.5})
	counted := must(baseline.NewFSP, baseline.FSPOptions{Reserve: 0.5, Counted: true})
	for _, tasks := range []int{50, 100, 200} {
		if got, least := ends(plain(), tasks), sojourn.Time(tasks)*sojourn.Time(time.Second); got < least {
			t.Errorf("plain, %d short tasks: the long one ends at %v, want %v or later", tasks, got, least)
		}
		if got, most := ends(counted(), tasks), sojourn.Time(40*time.Second); got > most {
			t.Errorf("counted, %d short tasks: the long one ends at %v, want %v or earlier", tasks, got, most)
		}
	}
	if i := beyondKept(counted(), 2, half, stream(100)); i >= 0 {
		t.Errorf("counted: job %d ends beyond the bound", i+1)
	}
	if i := beyondKept(newKeptFSP(half, true, true), 2, half, stream(100)); i >= 0 {
		t.Errorf("the oracle: job %d ends beyond the bound", i+1)
	}
	if i := beyondKept(newKeptFSP(half, false, true), 2, half, stream(100)); i != 2 {
		t.Errorf("owners not counted: job %d ends beyond the bound, want job 3", i+1)
	}
}
