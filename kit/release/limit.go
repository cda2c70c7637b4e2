package release

import (
	"container/heap"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A Limit bounds how many jobs of a kind are released at a time. A job has to have room in each Limit that applies to it, in all of them
// at once, and counts from its release until it has ended and none of its attempts runs. Of those that wait for room, the one that
// arrived first goes first; one that still waits for another Limit keeps nobody back. [sojourn.TaskAdopted] tells of what runs already, and a
// revision may give another key to a job that was released: both count, though the Limit is then exceeded
// (TestLimits, TestLimitsAgainstOracle, TestLimitsAtAnInstant).
type Limit struct {
	// Max is how many jobs with the same key are released at a time. Zero means 1.
	Max int

	// Of returns the key of a job, such as its tenant or the licence that it takes; the empty string if the Limit does not apply to it. It
	// depends on the job alone: the same is asked when a snapshot is restored.
	Of func(*sojourn.Job) string
}

// A key names a bound: that of a limit, by its number, for what Of returns.
type key struct {
	limit int
	of    string
}

// A bound is the account of one key. After each event it is full, or no job waits for it.
type bound struct {
	key    key
	max    int
	jobs   int                // live jobs
	used   int                // of these, those that are released
	parked []*ledger.Job[job] // wait for room here, as a heap by their arrival
}

func (b *bound) full() bool         { return b.used >= b.max }
func (b *bound) Len() int           { return len(b.parked) }
func (b *bound) Less(i, k int) bool { return b.parked[i].Seq() < b.parked[k].Seq() }
func (b *bound) Swap(i, k int) {
	b.parked[i], b.parked[k] = b.parked[k], b.parked[i]
	b.parked[i].Data.place, b.parked[k].Data.place = i, k
}

func (b *bound) Push(x any) {
	j := x.(*ledger.Job[job])
	j.Data.at, j.Data.place = b, len(b.parked)
	b.parked = append(b.parked, j)
}

func (b *bound) Pop() any {
	last := len(b.parked) - 1
	j := b.parked[last]
	b.parked[last] = nil
	b.parked, j.Data.at = b.parked[:last], nil
	return j
}

// keys calls f with the key of each limit that applies to a job.
func (p *policy) keys(spec *sojourn.Job, f func(key)) {
	for i := range p.limits {
		if of := p.limits[i].Of(spec); of != "" {
			f(key{i, of})
		}
	}
}

// limited reports whether a job that arrives has to wait for room, or may have to, since others come first at this instant.
func (p *policy) limited(spec *sojourn.Job, at sojourn.Time) (waits bool) {
	d, ok := p.due.MinKey()
	p.keys(spec, func(k key) {
		b := p.bounds[k]
		waits = waits || ok && d.at <= at || b != nil && b.full()
	})
	return waits
}

// bind gives a job that was described, or described anew, its bounds.
func (p *policy) bind(j *ledger.Job[job]) {
	old := j.Data.bounds
	j.Data.bounds = nil
	p.keys(j.Spec(), func(k key) {
		b := p.bounds[k]
		if b == nil {
			b = &bound{key: k, max: max(p.limits[k.limit].Max, 1)}
			p.bounds[k] = b
		}
		b.jobs++
		j.Data.bounds = append(j.Data.bounds, b)
	})
	if j.Data.released {
		p.count(j)
	}
	p.unbind(j, old)
}

// count counts a job that is released.
func (p *policy) count(j *ledger.Job[job]) {
	for _, b := range j.Data.bounds {
		b.used++
	}
}

// unbind takes a job out of bounds that it had. Who waits for room there may have it now.
func (p *policy) unbind(j *ledger.Job[job], bounds []*bound) {
	p.unpark(j)
	for _, b := range bounds {
		if j.Data.released {
			b.used--
			p.freed = append(p.freed, b)
		}
		if b.jobs--; b.jobs == 0 {
			delete(p.bounds, b.key)
		}
	}
}

// park makes a job wait at a bound of its own that is full, and reports whether there is one.
func (p *policy) park(j *ledger.Job[job]) bool {
	for _, b := range j.Data.bounds {
		if b.full() {
			heap.Push(b, j)
			return true
		}
	}
	return false
}

// unpark takes a job out of where it waits for room.
func (p *policy) unpark(j *ledger.Job[job]) {
	if b := j.Data.at; b != nil {
		heap.Remove(b, j.Data.place)
	}
}

// releaseFreed releases the jobs that have room since an event, in the order in which they arrived.
func (p *policy) releaseFreed() {
	for {
		var first *bound
		for _, b := range p.freed {
			if !b.full() && b.Len() > 0 && (first == nil || b.parked[0].Seq() < first.parked[0].Seq()) {
				first = b
			}
		}
		if first == nil {
			p.freed = p.freed[:0]
			return
		}
		if j := heap.Pop(first).(*ledger.Job[job]); !p.park(j) {
			p.release(j, p.ledger.Now())
		}
	}
}

// parkDue makes the jobs of a restored account wait for room that wait for nothing else. Where the limits have changed, there may be room:
// then the next event releases them.
func (p *policy) parkDue() {
	for _, j := range p.inOrder() {
		if d, ok := p.due.Key(j.Handle()); ok && d.at <= p.ledger.Now() && p.park(j) {
			p.due.Remove(j.Handle())
		}
	}
}
