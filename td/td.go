package td

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A Policy is a throughput-driven [sojourn.Policy]. It is also a [sojourn.Supporter], a [sojourn.Seeker],
// a [sojourn.Waker], a [sojourn.Admitter], a [sojourn.Explainer] and a
// [sojourn.Snapshotter].
type Policy struct {
	roster
	hot  hotQueue
	last lastJobs

	cool  func(sojourn.NodeID) bool // isCool, kept because making the function value allocates
	queue []*job                    // scratch
}

// member is the policy's data about a job.
type member struct {
	lane   *lane
	status status
	amt    uint64 // the mean time of a map task that ran close to its input: see amt.go
	sum    uint64 // sum of these times, in microseconds
	runs   uint64 // number of them

	seat   uint32       // its number in the index while it is co-scheduled
	demand int          // in slots; fixed at its promotion
	since  sojourn.Time // the time of its promotion
	filed               // its part of its lane's counts
}

type job = ledger.Job[member]

// New returns an empty policy, or what Validate returns. The zero options are never wrong.
func New(opts Options) (*Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{roster: roster{set: opts.settle()}}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	bySeq := func() ready.Queue[uint64] {
		return ready.New(func(a, b uint64) bool { return a < b }, func(seq uint64) (hi, lo uint64) { return seq, 0 })
	}
	*p = Policy{roster: roster{set: p.set, first: bySeq(), early: bySeq()}}
	p.ledger.Supports = option.Features&^sojourn.FeatureNeeds | sojourn.FeatureParallelism
	p.index = locality.New(&p.ledger)
	p.cool = p.isCool
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	p.hot.purge(ev.At)
	c := p.ledger.Apply(&ev)
	p.index.Update(&ev, &c)
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		c.Job.Data = member{lane: p.lane(c.Job.Spec().Phases[0].Class)}
		p.estimate(c.Job)
	case sojourn.JobRevised:
		p.revised(c.Job)
	case sojourn.TaskAdopted:
		p.lane(c.Slot.Class).busy++
		p.last.set(c.Slot.ID, nil)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		p.lane(c.Slot.Class).busy--
		if ev.Kind == sojourn.TaskFinished && ev.Task.Phase == 0 && local(c.Job.Spec(), ev.Task, c.Slot.Node) {
			service := ev.Service
			if service == 0 {
				service = ev.At.Sub(c.Start)
			}
			p.measure(c.Job, service)
		}
		if ev.Kind != sojourn.TaskRefused && ev.Task.Phase == 0 && c.Job.Data.status < senile && !c.SlotGone {
			p.last.set(c.Slot.ID, c.Job)
		}
	case sojourn.SlotAdded:
		p.lane(c.Slot.Class)
	}
	if c.SlotGone {
		p.last.set(c.Slot.ID, nil)
	}
	if c.Job != nil {
		p.refresh(c.Job, c.Ended)
	}
	return nil
}

// local reports whether a node holds the input of a task, or the task has none.
func local(spec *sojourn.Job, t sojourn.TaskID, n sojourn.NodeID) bool {
	inputs := spec.Phases[t.Phase].Inputs.Of(int(t.Index))
	return len(inputs) == 0 || slices.Contains(inputs, n)
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (a sojourn.Assignment, ok bool) {
	s := p.ledger.Free(id)
	l := p.lane(s.Class)
	c, ok := p.request(l, s)
	if !ok {
		p.takeBack()
		return a, false
	}
	p.moved = p.moved[:0]
	a = p.index.Take(c.job, c.phase, c.pick, id)
	if a.Source != 0 && a.Locality != sojourn.NodeLocal {
		p.hot.push(tuple{a.Source, p.ledger.Now().Add(p.set.lifetime)})
	}
	l.busy++
	p.last.set(id, nil)
	p.refresh(c.job, false)
	return a, true
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID that
// gets a task. If no slot is left idle on purpose, this is the first free slot if
// anything is startable. With Strict, a slot that gets nothing shows that every
// source is hot: another slot can then only get a task on its own node.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if !p.startable(c) {
		return 0, false
	}
	l := p.lane(c)
	id, ok := p.ledger.FreeSlot(c)
	for refused := false; ok; id, ok = p.ledger.NextFree(c, id+1) {
		if p.set.HotPolicy == Relaxed && !p.set.AsPrinted {
			return id, true
		}
		s := p.ledger.Free(id)
		if refused && !p.mayBeLocal(s) {
			continue
		}
		_, takes := p.request(l, s)
		if takes || p.set.AsPrinted {
			p.takeBack()
		}
		if takes {
			return id, true
		}
		// The changes of UPDATE stay until the end, since it would make the same ones for
		// each slot.
		refused = !p.set.AsPrinted
	}
	p.takeBack()
	return 0, false
}

// mayBeLocal reports whether a slot may have a task on its own node: a task of a
// co-scheduled job, or of a phase that is not watched.
func (p *Policy) mayBeLocal(s sojourn.Slot) bool {
	return p.first.Any(s.Class) || p.early.Any(s.Class) ||
		slices.ContainsFunc(p.index.Watched(s.Node), func(w uint64) bool { return w != 0 })
}

// startable reports whether any task could start on a slot of class c.
func (p *Policy) startable(c sojourn.Class) bool {
	if int(c) < len(p.lanes) && p.lanes[c] != nil && p.lanes[c].startable > 0 {
		return true
	}
	return p.first.Any(c) || p.early.Any(c)
}

// NextWake implements [sojourn.Waker]: it returns when the first tuple of the hot queue is
// overdue, if a slot may be idle because of it.
func (p *Policy) NextWake() (sojourn.Time, bool) {
	if p.hot.len == 0 || p.hot.at(0).expires == never || p.set.HotPolicy == Relaxed && !p.set.AsPrinted {
		return 0, false
	}
	for c := range p.lanes {
		if _, free := p.ledger.FreeSlot(sojourn.Class(c)); free && p.startable(sojourn.Class(c)) {
			return p.hot.at(0).expires, true
		}
	}
	return 0, false
}

// Supports implements [sojourn.Supporter]: all features but Needs.
func (p *Policy) Supports() sojourn.Features { return p.ledger.Supports }

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *Policy) Admit(job *sojourn.Job) error { return p.ledger.CheckArrival(job) }

// isCool reports whether a node has fewer than Theta reads.
func (p *Policy) isCool(n sojourn.NodeID) bool { return p.hot.count[n] < p.set.Theta }

// lane returns the lane of a class.
func (r *roster) lane(c sojourn.Class) *lane {
	for int(c) >= len(r.lanes) {
		r.lanes = append(r.lanes, nil)
	}
	if r.lanes[c] == nil {
		r.lanes[c] = newLane(c)
	}
	return r.lanes[c]
}

// lastJobs has the job whose map task ended last on each free slot. It is paged, so that
// large IDs of slots cost little.
type lastJobs []*[256]lastJob

// A lastJob is a job. If it has ended, its memory may be that of another one, which has another number.
type lastJob struct {
	job *job // nil if there is none
	seq uint64
}

// live returns the job; nil if it has ended or there is none.
func (l lastJob) live() *job {
	if l.job == nil || l.job.Seq() != l.seq {
		return nil
	}
	return l.job
}

func (l *lastJobs) set(id sojourn.SlotID, j *job) {
	page := int(id / 256)
	for page >= len(*l) {
		if j == nil {
			return
		}
		*l = append(*l, nil)
	}
	if (*l)[page] == nil {
		if j == nil {
			return
		}
		(*l)[page] = new([256]lastJob)
	}
	last := lastJob{job: j}
	if j != nil {
		last.seq = j.Seq()
	}
	(*l)[page][id%256] = last
}

// get returns the job, or nil.
func (l lastJobs) get(id sojourn.SlotID) *job {
	if page := int(id / 256); page < len(l) && l[page] != nil {
		return l[page][id%256].live()
	}
	return nil
}

// hasBit reports whether bit i of a bitmap is set.
func hasBit(words []uint64, i uint32) bool {
	return int(i/64) < len(words) && words[i/64]&(1<<(i%64)) != 0
}
