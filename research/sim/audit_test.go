package sim_test

import (
	"context"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Three jobs of weight 1 on 3 slots have one task each: 12 s from 0 s, 3 s from 2 s, 9 s
// from 2 s. In fluid fair sharing, job 1 has received 6 s of work by 2 s, and from then
// on each job receives 1 s a second. Job 2 ends at 5 s. Then job 1 has 3 s left, job 3
// has 6 s, and each receives 1.5 s a second: job 1 ends at 7 s. Job 3 has 3 s left,
// receives 3 s a second and ends at 8 s.
//
// In reality each job has a slot of its own, and they end at 12, 5 and 11 s.
func TestPSFinish(t *testing.T) {
	r, _ := run(t, sim.Config{
		Cluster: uniform(3), Policy: newTable(first), Records: true,
		Jobs: sim.Jobs(job(1, 0, []float64{12}), job(2, 2, []float64{3}), job(3, 2, []float64{9})),
	})
	checkPS(t, r, 7, 5, 8)
	// Job 1: D = 7, p = 12, P = 9: 12 <= 7+9+8. Job 3: 11 <= 8+12+6.
	if want := (sim.Audit{Phases: 3, Late: 2, Latest: 5 * s}); r.Audit != want {
		t.Errorf("audit %+v, want %+v", r.Audit, want)
	}
}

// checkPS compares ps_finish with whole seconds.
func checkPS(t *testing.T, r *sim.Result, want ...int) {
	t.Helper()
	for i, rec := range r.JobRecords {
		if d := rec.PSFinish.Sub(sojourn.Time(want[i]) * sojourn.Time(s)); d < 0 || d > 1 {
			t.Errorf("ps_finish of job %d = %v, want %ds", rec.ID, rec.PSFinish, want[i])
		}
	}
}

// Weights 3 and 1 on one map and one reduce slot. Both jobs have a map of 3 s.
// Job 1 receives 3/4 and ends its map at 4 s; job 2 has 2 s left then and ends its
// map at 6 s. The reduces of 2 and 3 s enter at 4 and at 6 s and end at 6 and 9 s.
func TestPSFinishInTandem(t *testing.T) {
	heavy, light := job(1, 0, []float64{3}, []float64{2}), job(2, 0, []float64{3}, []float64{3})
	heavy.Weight = 3
	r, _ := run(t, sim.Config{
		Cluster: mapReduce(1, 1, 1), Policy: newTable(first), Records: true, Jobs: sim.Jobs(heavy, light),
	})
	checkPS(t, r, 6, 9)
}

// One nanosecond decides. On one slot, job 1 of 4 s and job 2 of 1 s arrive at 0 s, job 3
// of 1 s at 3 s, and job 2 is served last. In fluid sharing job 2 would end at D = 2 s. P
// is 4 s and N is 1, so the bound is 6 s, and the job ends at 6 s. If job 3 takes a
// nanosecond more, job 2 ends beyond the bound.
func TestBoundIsExact(t *testing.T) {
	for _, extra := range []time.Duration{0, 1} {
		third := job(3, 3, []float64{1})
		third.Times[0].List[0] += extra
		r, _ := run(t, sim.Config{
			Cluster: uniform(1), Records: true, Jobs: sim.Jobs(job(1, 0, []float64{4}), job(2, 0, []float64{1}), third),
			Policy: newTable(func(tasks []sojourn.TaskID) int {
				if tasks[0].Job == 1 {
					return 0
				}
				return len(tasks) - 1
			}),
		})
		if r.Audit.BeyondBound != int(extra) || r.JobRecords[1].BeyondBound != int(extra) {
			t.Errorf("job 3 of 1s+%v: audit %+v, job 2 %+v", extra, r.Audit, r.JobRecords[1])
		}
		if r.Audit.Furthest != extra {
			t.Errorf("job 3 of 1s+%v: furthest %v", extra, r.Audit.Furthest)
		}
	}
}

// An oracle computes the audit of a run again with exact fractions, from what the hooks
// saw.
type oracle struct {
	cfg      *sim.Config
	told     map[sojourn.JobID]*sojourn.Job
	jobs     map[sojourn.JobID]*sim.Job
	order    []sojourn.JobID
	clock    int // events and assignments so far
	finished map[phaseID]int
	ready    map[phaseID]sojourn.Time
	ended    map[phaseID]sojourn.Time
	endedAt  map[phaseID]int // clock
	attempts []oracleAttempt
}

type phaseID struct {
	job   sojourn.JobID
	phase int
}

type oracleAttempt struct {
	phaseID
	clock int
	start sojourn.Time
	end   sojourn.Time
	task  sojourn.TaskID
}

// attach makes the oracle see a run.
func (o *oracle) attach(cfg *sim.Config, jobs []*sim.Job) {
	*o = oracle{
		cfg: cfg, told: map[sojourn.JobID]*sojourn.Job{}, jobs: map[sojourn.JobID]*sim.Job{},
		finished: map[phaseID]int{}, ready: map[phaseID]sojourn.Time{}, ended: map[phaseID]sojourn.Time{}, endedAt: map[phaseID]int{},
	}
	for _, j := range jobs {
		o.jobs[j.ID] = j
	}
	var now sojourn.Time
	cfg.Hooks.Event = func(ev sojourn.Event, err error) {
		o.clock++
		now = ev.At
		switch ev.Kind {
		case sojourn.JobArrived:
			o.told[ev.Job.ID] = ev.Job
			o.order = append(o.order, ev.Job.ID)
			o.open(ev.Job, now)
		case sojourn.TaskFinished:
			id := phaseID{ev.Task.Job, int(ev.Task.Phase)}
			o.finished[id]++
			spec := o.told[id.job]
			o.open(spec, now)
			if o.finished[id] == spec.Phases[id.phase].Tasks {
				o.ended[id], o.endedAt[id] = now, o.clock
			}
		}
	}
	cfg.Hooks.Assigned = func(_ sojourn.SlotID, a sojourn.Assignment, ok bool) {
		if ok {
			o.clock++
			o.attempts = append(o.attempts, oracleAttempt{
				phaseID: phaseID{a.Task.Job, int(a.Task.Phase)}, clock: o.clock, start: now, task: a.Task,
			})
		}
	}
	cfg.Hooks.Attempt = func(r *sim.TaskRecord) {
		for i := range o.attempts {
			if o.attempts[i].task == r.Task {
				o.attempts[i].end = r.End
			}
		}
	}
}

// open records which phases of a job may start for the first time.
func (o *oracle) open(spec *sojourn.Job, now sojourn.Time) {
	for p := range spec.Phases {
		id := phaseID{spec.ID, p}
		if _, ok := o.ready[id]; !ok && mayStart(spec, p, func(k int) int { return o.finished[phaseID{spec.ID, k}] }) {
			o.ready[id] = now
		}
	}
}

func rat(ns int64) *big.Rat { return new(big.Rat).SetInt64(ns) }

func (o *oracle) class(id phaseID) sojourn.Class { return o.told[id.job].Phases[id.phase].Class }

func (o *oracle) work(id phaseID) *big.Rat {
	sum := new(big.Rat)
	for i := range o.jobs[id.job].Phases[id.phase].Tasks {
		sum.Add(sum, rat(int64(o.jobs[id.job].Times[id.phase].Of(i))))
	}
	return sum
}

// fluid returns the exact ends of phases in generalised processor sharing. enter says
// when each phase enters. In tandem, a phase behind a barrier enters when the phase
// before it ends.
func (o *oracle) fluid(tandem bool) map[phaseID]*big.Rat {
	type member struct {
		id   phaseID
		left *big.Rat
	}
	enter, end := map[phaseID]*big.Rat{}, map[phaseID]*big.Rat{}
	for _, id := range o.order {
		for p := range o.told[id].Phases {
			at, ok := o.ready[phaseID{id, p}]
			if tandem && len(reads(o.told[id], p)) > 0 {
				ok = false
			}
			if ok {
				enter[phaseID{id, p}] = rat(int64(at))
			}
		}
	}
	var in []member
	now, slots := new(big.Rat), o.cfg.Cluster.Capacity()
	for {
		// A phase that is due enters, and leaves at once if it has no work.
		for again := true; again; {
			again = false
			for _, id := range o.order {
				for p := range o.told[id].Phases {
					ph := phaseID{id, p}
					if at := enter[ph]; at != nil && at.Cmp(now) <= 0 {
						in = append(in, member{ph, o.work(ph)})
						delete(enter, ph)
						again = true
					}
				}
			}
			in = slices.DeleteFunc(in, func(m member) bool {
				if m.left.Sign() > 0 {
					return false
				}
				end[m.id] = now
				spec := o.told[m.id.job]
				for p := range spec.Phases {
					inputs := reads(spec, p)
					open := !slices.ContainsFunc(inputs, func(k int) bool { return end[phaseID{m.id.job, k}] == nil })
					if tandem && open && slices.Contains(inputs, m.id.phase) {
						enter[phaseID{m.id.job, p}] = now
						again = true
					}
				}
				return true
			})
		}
		rates := make([]*big.Rat, len(in))
		var next *big.Rat
		for i, m := range in {
			total := new(big.Rat)
			for _, other := range in {
				if o.class(other.id) == o.class(m.id) {
					total.Add(total, new(big.Rat).SetUint64(o.told[other.id.job].WeightUnits()))
				}
			}
			w := new(big.Rat).SetUint64(o.told[m.id.job].WeightUnits())
			rates[i] = w.Mul(w, rat(int64(slots[o.class(m.id)]))).Quo(w, total)
			if at := new(big.Rat).Add(now, new(big.Rat).Quo(m.left, rates[i])); next == nil || at.Cmp(next) < 0 {
				next = at
			}
		}
		for _, at := range enter {
			if next == nil || at.Cmp(next) < 0 {
				next = at
			}
		}
		if next == nil {
			return end
		}
		passed := new(big.Rat).Sub(next, now)
		for i := range in {
			in[i].left = new(big.Rat).Sub(in[i].left, new(big.Rat).Mul(rates[i], passed))
		}
		now = next
	}
}

// beyond returns how many phases of each job ended beyond the bound.
func (o *oracle) beyond() (count map[sojourn.JobID]int, furthest *big.Rat) {
	due := o.fluid(false)
	count, furthest = map[sojourn.JobID]int{}, new(big.Rat)
	for id, c := range o.ended {
		var own, others sojourn.Time
		for _, a := range o.attempts {
			if o.class(a.phaseID) != o.class(id) || a.clock > o.endedAt[id] {
				continue
			}
			held := a.end - a.start
			for _, k := range reads(o.told[a.job], a.phase) {
				if at, ok := o.endedAt[phaseID{a.job, k}]; !ok || at >= o.endedAt[id] {
					held = c - a.start // waits for input still
				}
			}
			if a.phaseID == id {
				own = max(own, held)
			} else {
				others = max(others, held)
			}
		}
		n := int64(o.cfg.Cluster.Capacity()[o.class(id)])
		// N (C-D-P) > (N-1) p
		left := new(big.Rat).Sub(rat(int64(c-others)), due[id])
		if left.Mul(left, rat(n)).Cmp(rat((n-1)*int64(own))) > 0 {
			count[id.job]++
			over := left.Sub(left, rat((n-1)*int64(own)))
			if over.Quo(over, rat(n)).Cmp(furthest) > 0 {
				furthest = over
			}
		}
	}
	return count, furthest
}

// drawWorkload draws a cluster and jobs in whole milliseconds.
func drawWorkload(t *rapid.T, chain func(t *rapid.T, p int) int) (sim.Cluster, []*sim.Job) {
	var c sim.Cluster
	if rapid.Bool().Draw(t, "uniform") {
		c = uniform(rapid.IntRange(1, 4).Draw(t, "slots"))
	} else {
		c = mapReduce(1, rapid.IntRange(1, 4).Draw(t, "maps"), rapid.IntRange(1, 3).Draw(t, "reduces"))
	}
	at := 0
	var jobs []*sim.Job
	for i := range rapid.IntRange(1, 9).Draw(t, "jobs") {
		at += rapid.SampledFrom([]int{0, 0, 1, 2, 5, 9}).Draw(t, "gap")
		j := job(sojourn.JobID(i+1), float64(at)/1000)
		j.Weight = rapid.SampledFrom([]float64{0, 0, 0, 2, 0.5, 3}).Draw(t, "weight")
		for p := range rapid.IntRange(1, 3).Draw(t, "phases") {
			ms := rapid.SliceOfN(rapid.IntRange(0, 12), 1, 5).Draw(t, "times")
			times := make([]time.Duration, len(ms))
			for k := range ms {
				times[k] = time.Duration(ms[k]) * time.Millisecond
			}
			j.Phases = append(j.Phases, sojourn.Phase{Tasks: len(ms)})
			j.AnyClass = append(j.AnyClass, true)
			j.Times = append(j.Times, sim.Times{List: times})
			if p > 0 {
				j.Phases[p].After = min(chain(t, p), j.Phases[p-1].Tasks)
			}
		}
		jobs = append(jobs, j)
	}
	return c, jobs
}

// An audited run has jobs whose phases wait for all, some or none of the phase before,
// under a policy that need not be fair.
type audited struct {
	c    sim.Cluster
	jobs []*sim.Job
	pick func([]sojourn.TaskID) int
}

func drawAudited(t *rapid.T) audited {
	c, jobs := drawWorkload(t, func(t *rapid.T, p int) int {
		return rapid.SampledFrom([]int{0, 0, sojourn.NoBarrier, 1, 2}).Draw(t, "after")
	})
	drawNeeds(t, jobs)
	if rapid.Bool().Draw(t, "many classes") {
		classes := drawClasses(t)
		c = drawNodes(t, classes, 1)
		spread(t, classes, jobs)
	}
	return audited{c, jobs, rapid.SampledFrom([]func([]sojourn.TaskID) int{
		first, last, func(tasks []sojourn.TaskID) int { return len(tasks) / 2 },
	}).Draw(t, "policy")}
}

// The audit agrees with exact fractions under fair and unfair policies: ps_finish up to a
// few nanoseconds, and the number of phases beyond the bound exactly.
func TestAuditAgreesWithTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { drawAudited(t).compare(t) })
}

// The runs that the audit is compared on have phases beyond the bound.
func TestAuditSeesPhasesBeyondTheBound(t *testing.T) {
	runs, total := rapid.Custom(drawAudited), 0
	for seed := range 30 {
		total += runs.Example(seed).compare(t)
	}
	if total < 10 {
		t.Errorf("%d phases are beyond the bound in all runs: the comparison shows little", total)
	}
}

// compare compares the audit of a run with the oracle's, and returns how many phases are
// beyond the bound.
func (a audited) compare(t rapid.TB) int {
	cfg := sim.Config{
		Cluster: a.c, Jobs: sim.Jobs(a.jobs...), Records: true, Policy: newTable(a.pick),
	}
	var o oracle
	o.attach(&cfg, a.jobs)
	r, err := sim.Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if r.Unfinished > 0 {
		return 0 // attempts that wait for input hold all slots
	}
	tandem := o.fluid(true)
	beyond, furthest := o.beyond()
	late, all := 0, 0
	for _, rec := range r.JobRecords {
		exact := new(big.Rat)
		for p := range o.told[rec.ID].Phases {
			if end := tandem[phaseID{rec.ID, p}]; end.Cmp(exact) > 0 {
				exact = end
			}
		}
		off, _ := new(big.Rat).Sub(rat(int64(rec.PSFinish)), exact).Float64()
		if off < -100 || off > 100 {
			t.Errorf("job %d: ps_finish %v is %v ns after %s", rec.ID, rec.PSFinish, off, exact.FloatString(3))
		}
		if rec.Finish > rec.PSFinish {
			late++
		}
		if rec.BeyondBound != beyond[rec.ID] {
			t.Errorf("job %d: %d phases beyond the bound, want %d", rec.ID, rec.BeyondBound, beyond[rec.ID])
		}
		all += beyond[rec.ID]
	}
	if r.Audit.BeyondBound != all || r.Audit.Late != late || r.Audit.Phases != len(o.ended) {
		t.Errorf("audit %+v, want %d beyond and %d late of %d phases", r.Audit, all, late, len(o.ended))
	}
	// V is late by its rounding.
	if off, _ := new(big.Rat).Sub(rat(int64(r.Audit.Furthest)), furthest).Float64(); off < -100 || off > 1 {
		t.Errorf("furthest beyond %v, which is %v ns after %s", r.Audit.Furthest, off, furthest.FloatString(3))
	}
	return all
}

// FSP keeps the bound for phases that wait for whole phases or for none, whatever the
// weights.
// Reference: package baseline, FSP, theorem.
func TestFSPIsWithinTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, jobs := drawWorkload(t, func(t *rapid.T, p int) int {
			return rapid.SampledFrom([]int{0, sojourn.NoBarrier}).Draw(t, "after")
		})
		if rapid.Bool().Draw(t, "with needs") {
			drawNeeds(t, jobs)
		}
		if rapid.Bool().Draw(t, "many classes") {
			classes := drawClasses(t)
			c = drawNodes(t, classes, 1)
			spread(t, classes, jobs)
		}
		if a := auditFSP(t, c, jobs...); a.BeyondBound != 0 {
			t.Errorf("audit %+v", a)
		}
	})
}

// One slot, a chain of three phases of 1 ms, and another job of 1 ms. The phases of the
// chain enter one by one. Job 1 gets the slot first. At 1 ms its second phase comes
// behind job 2, which has half of its work left. If the whole chain were in the virtual
// cluster from the start, job 2 would come last.
func TestFSPIsWithinTheBoundBehindBarriers(t *testing.T) {
	one := []float64{0.001}
	if a := auditFSP(t, uniform(1), job(1, 0, one, one, one), job(2, 0, one)); a.BeyondBound != 0 || a.Phases != 4 {
		t.Errorf("audit %+v, want 4 phases within the bound", a)
	}
}

// auditFSP runs jobs under FSP.
func auditFSP(t rapid.TB, c sim.Cluster, jobs ...*sim.Job) sim.Audit {
	p := constructors.FSP.Must(baseline.FSPOptions{})
	r, err := sim.Run(context.Background(), sim.Config{Cluster: c, Jobs: sim.Jobs(jobs...), Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	return r.Audit
}

// The fluid system has as many slots as the real one. Node 2 is down from 2 to
// 6 s. Two jobs of 8 s of work share 2 slots until 2 s, one slot until 6 s, and
// two again: each has received 2 s by 2 s and 4 s by 6 s, and ends at 10 s.
func TestFluidCapacityFollowsTheNodes(t *testing.T) {
	c := sim.Cluster{Uniform: true, Nodes: []sim.Node{{Slots: []int{1}}, {Slots: []int{1}}}}
	r, _ := run(t, sim.Config{
		Cluster: c, Policy: newTable(first), Records: true,
		Jobs: sim.Jobs(job(1, 0, []float64{4, 4}), job(2, 0, []float64{4, 4})),
		Faults: sim.Faults{Script: []sim.NodeFault{
			{At: sojourn.Time(2 * s), Node: 2}, {At: sojourn.Time(6 * s), Node: 2, Up: true},
		}},
	})
	checkPS(t, r, 10, 10)
}

// If the fluid system has no slot left to end in, ps_finish is unknown. The last node
// fails at the instant at which the job finishes.
func TestFluidWithoutSlots(t *testing.T) {
	j := job(1, 0, []float64{1}, []float64{1})
	blocker := job(2, 0, []float64{5})
	r, st := run(t, sim.Config{
		Cluster: uniform(1), Policy: newTable(first), Records: true, Jobs: sim.Jobs(j, blocker),
		Faults: sim.Faults{Script: []sim.NodeFault{{At: sojourn.Time(3 * s), Node: 1}}},
	})
	// In fluid sharing job 1 would end at 4 s.
	if r.Finished != 1 || r.Unfinished != 1 || r.JobRecords[0].PSFinish != 0 || r.Audit.Late != 0 || len(st.jobs) != 2 {
		t.Errorf("result %+v", r)
	}
}
