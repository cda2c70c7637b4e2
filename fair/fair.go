package fair

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/ledger"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A Policy is a fair [sojourn.Policy]. It is also a [sojourn.Seeker], a
// [sojourn.Admitter] and a [sojourn.Explainer].
type Policy struct {
	order   Order
	weights map[string]uint64 // of the pools that Options lists

	ledger ledger.Ledger[member]
	byName map[string]*pool
	pools  []*pool  // by handle; nil where the handle is free
	spare  []uint32 // free handles
	seq    uint64   // pools made so far

	// ready holds the handles of the pools with something to start.
	ready ready.Queue[key]

	// virtual is, for each class, the tag of the pool that was served last. For
	// Deficit only.
	virtual []wide.Uint128
}

// member is what the policy keeps of a job.
type member struct {
	pool *pool
	id   uint32 // the job's number within the pool
}

type job = ledger.Job[member]

// A pool is the account of a pool with live jobs.
type pool struct {
	name   string
	handle uint32
	seq    uint64
	weight uint64
	live   int // jobs

	// ready holds the ids of the jobs with something to start. Jobs have ids of
	// their own in each pool, so that many small pools stay small.
	ready ready.Queue[key]
	jobs  []*job   // by id; nil where the id is free
	spare []uint32 // free ids

	classes []poolClass // by sojourn.Class
}

type poolClass struct {
	running int
	started uint64       // since the pool last became busy
	base    wide.Uint128 // the tag it then began with
}

// A key orders jobs and pools by what they have in relation to their weight, ties
// by sequence.
type key struct {
	ratio wide.Uint128
	seq   uint64
}

func less(a, b key) bool {
	if a.ratio != b.ratio {
		return a.ratio.Less(b.ratio)
	}
	return a.seq < b.seq
}

// ratio returns floor(n*2^96/w) for n < 2^32 and 0 < w < 2^48.
func ratio(n int, w uint64) wide.Uint128 {
	q, _ := wide.Uint128{Hi: uint64(uint32(n)) << 32}.QuoRem(wide.From64(w))
	return q
}

// New returns an empty policy, or an error if a weight is out of range.
func New(opts Options) (*Policy, error) {
	if int(opts.Order) >= len(orderNames) {
		return nil, fmt.Errorf("fair: unknown order %v", opts.Order)
	}
	p := &Policy{
		order:   opts.Order,
		weights: make(map[string]uint64, len(opts.Pools)),
		byName:  make(map[string]*pool),
		ready:   ready.New(less),
	}
	for _, name := range slices.Sorted(maps.Keys(opts.Pools)) {
		weight := opts.Pools[name]
		if !(weight >= 1.0/(1<<16) && weight < 1<<32) {
			return nil, fmt.Errorf("fair: pool %q: weight %v is not in [2^-16, 2^32)", name, weight)
		}
		p.weights[name] = (&sojourn.Job{Weight: weight}).WeightUnits()
	}
	return p, nil
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	c := p.ledger.Apply(&ev)
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		p.join(c.Job)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		pc := c.Job.Data.pool.class(c.Slot.Class)
		pc.running--
		if ev.Kind == sojourn.TaskRefused && pc.started > 0 {
			pc.started--
		}
	case sojourn.TaskAdopted:
		p.started(c.Job.Data.pool, c.Slot.Class)
	}
	if c.Job == nil {
		return nil
	}
	for i := range c.Job.Sides {
		p.update(c.Job, &c.Job.Sides[i])
	}
	if c.Ended {
		p.leave(c.Job)
	}
	return nil
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.ledger.Free(id)
	h, k, ok := p.ready.First(s.Class)
	if !ok {
		return sojourn.Assignment{}, false
	}
	if p.order == Deficit {
		p.virtual[s.Class] = k.ratio
	}
	po := p.pools[h]
	h, _, _ = po.ready.First(s.Class)
	j := po.jobs[h]
	side := j.SideOf(s.Class)
	a := p.ledger.Take(j, side, id)
	p.started(po, s.Class)
	p.update(j, side)
	return a, true
}

// Seek implements [sojourn.Seeker]: the free slot with the least ID, while
// anything is startable.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if !p.ready.Any(c) {
		return 0, false
	}
	return p.ledger.FreeSlot(c)
}

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *Policy) Admit(job *sojourn.Job) error { return p.ledger.CheckArrival(job) }

// AppendRanking implements [sojourn.Explainer]: jobs by the key of their pool,
// then by their own, each summed over all classes.
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	for _, j := range p.ranking() {
		dst = append(dst, j.Spec.ID)
	}
	return dst
}

func (p *Policy) ranking() []*job {
	jobs := p.ledger.AppendJobs(nil)
	slices.SortFunc(jobs, func(a, b *job) int {
		pa, pb := a.Data.pool, b.Data.pool
		if pa != pb {
			return compare(key{ratio(p.total(pa), pa.weight), pa.seq}, key{ratio(p.total(pb), pb.weight), pb.seq})
		}
		return compare(key{ratio(p.count(a), a.Weight), a.Seq}, key{ratio(p.count(b), b.Weight), b.Seq})
	})
	return jobs
}

func compare(a, b key) int {
	switch {
	case less(a, b):
		return -1
	case less(b, a):
		return 1
	}
	return 0
}

// count returns r or a of a job, over all classes.
func (p *Policy) count(j *job) (n int) {
	for i := range j.Sides {
		n += p.measure(&j.Sides[i])
	}
	return n
}

// total returns r of a pool, over all classes.
func (p *Policy) total(po *pool) (n int) {
	for i := range po.classes {
		n += po.classes[i].running
	}
	return n
}

// Explain implements [sojourn.Explainer]: the state of the job's tasks, its rank
// from 0, its weight, and what counts for its pool.
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	po := j.Data.pool
	attrs := append(j.Attrs(),
		slog.Float64("weight", float64(j.Weight)/(1<<16)),
		slog.String("pool", po.name),
		slog.Float64("pool_weight", float64(po.weight)/(1<<16)),
		slog.Int("pool_running", p.total(po)),
		slog.Int("pool_jobs", po.live))
	if rank := slices.Index(p.ranking(), j); rank >= 0 {
		attrs = append(attrs, slog.Int("rank", rank))
	}
	return attrs, true
}

// measure returns what the order counts for one side of a job.
func (p *Policy) measure(s *ledger.Side) int {
	if p.order == Deficit {
		return s.Started
	}
	return s.Running
}

// join makes a new job a member of its pool.
func (p *Policy) join(j *job) {
	po := p.byName[j.Spec.Pool]
	if po == nil {
		po = p.newPool(j.Spec.Pool)
	}
	po.live++
	j.Data.pool = po
	if n := len(po.spare); n > 0 {
		j.Data.id = po.spare[n-1]
		po.spare = po.spare[:n-1]
		po.jobs[j.Data.id] = j
	} else {
		j.Data.id = uint32(len(po.jobs))
		po.jobs = append(po.jobs, j)
	}
}

func (p *Policy) newPool(name string) *pool {
	p.seq++
	po := &pool{name: name, seq: p.seq, weight: 1 << 16, ready: ready.New(less)}
	if w, ok := p.weights[name]; ok {
		po.weight = w
	}
	if n := len(p.spare); n > 0 {
		po.handle = p.spare[n-1]
		p.spare = p.spare[:n-1]
		p.pools[po.handle] = po
	} else {
		po.handle = uint32(len(p.pools))
		p.pools = append(p.pools, po)
	}
	p.byName[name] = po
	return po
}

// leave takes a job out of its pool, and forgets a pool without jobs.
func (p *Policy) leave(j *job) {
	po := j.Data.pool
	po.jobs[j.Data.id] = nil
	po.spare = append(po.spare, j.Data.id)
	if po.live--; po.live == 0 {
		delete(p.byName, po.name)
		p.pools[po.handle] = nil
		p.spare = append(p.spare, po.handle)
	}
}

// update puts one side of a job, and its pool, where they belong.
func (p *Policy) update(j *job, s *ledger.Side) {
	po := j.Data.pool
	if s.Startable > 0 {
		po.ready.Set(s.Class, j.Data.id, key{ratio(p.measure(s), j.Weight), j.Seq})
	} else {
		po.ready.Remove(s.Class, j.Data.id)
	}
	if !po.ready.Any(s.Class) {
		p.ready.Remove(s.Class, po.handle)
		return
	}
	p.ready.Set(s.Class, po.handle, key{p.tag(po, s.Class), po.seq})
}

// tag returns the ratio by which a pool with something to start is ordered.
func (p *Policy) tag(po *pool, c sojourn.Class) wide.Uint128 {
	pc := po.class(c)
	if p.order == Running {
		return ratio(pc.running, po.weight)
	}
	for int(c) >= len(p.virtual) {
		p.virtual = append(p.virtual, wide.Uint128{})
	}
	if !p.ready.Contains(c, po.handle) {
		// The pool had nothing to start. It goes on from where it was or from where
		// the others are, whichever is later: idleness earns nothing.
		if t := pc.tag(po.weight); t.Less(p.virtual[c]) {
			pc.base, pc.started = p.virtual[c], 0
		}
	}
	return pc.tag(po.weight)
}

// tag returns base + started/weight, in units of 2^-64.
func (pc *poolClass) tag(weight uint64) wide.Uint128 {
	q, _ := wide.Mul64(pc.started, 1<<16).Shl(64).QuoRem(wide.From64(weight))
	return pc.base.Add(q)
}

func (po *pool) class(c sojourn.Class) *poolClass {
	for int(c) >= len(po.classes) {
		po.classes = append(po.classes, poolClass{})
	}
	return &po.classes[c]
}

// started counts a task that a pool has begun to run.
func (p *Policy) started(po *pool, c sojourn.Class) {
	pc := po.class(c)
	pc.running++
	pc.started++
}
