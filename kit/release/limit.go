package release

import (
	"container/heap"
	"encoding/binary"
	"slices"

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
	id     uint64 // by the order in which they were made
	max    int
	jobs   int           // live jobs
	used   int           // of these, those that are released
	crowds queue[*crowd] // wait for room here
}

func (b *bound) full() bool { return b.used >= b.max }

// A crowd is the jobs that wait for room in the same bounds: those that were full when one of them was looked at. It waits at a full one
// of these, and goes to another one as a whole.
type crowd struct {
	name   string // says which bounds
	bounds []*bound
	jobs   queue[waiter]
	at     *bound
	place  int // in at.crowds
}

// Seq returns the arrival of the first job.
func (c *crowd) Seq() uint64 { return c.jobs[0].Seq() }
func (c *crowd) spot() *int  { return &c.place }

// A waiter is a job of a crowd.
type waiter struct{ *ledger.Job[job] }

func (w waiter) spot() *int { return &w.Data.place }

// A queue is a heap by arrival, of what knows its place in it.
type queue[T interface {
	Seq() uint64
	spot() *int
}] []T

func (q queue[T]) Len() int           { return len(q) }
func (q queue[T]) Less(i, k int) bool { return q[i].Seq() < q[k].Seq() }
func (q queue[T]) Swap(i, k int) {
	q[i], q[k] = q[k], q[i]
	*q[i].spot(), *q[k].spot() = i, k
}

func (q *queue[T]) Push(x any) {
	*x.(T).spot() = len(*q)
	*q = append(*q, x.(T))
}

func (q *queue[T]) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	clear((*q)[last:])
	*q = (*q)[:last]
	return x
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
			p.made++
			b = &bound{key: k, id: p.made, max: max(p.limits[k.limit].Max, 1)}
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

// park makes a job wait for room if a bound of its own is full, and reports whether there is one. Its crowd is that of the bounds which are
// full now, or were when it waited in another one; nil if it has not. So it changes its crowd less often than it has limits.
func (p *policy) park(j *ledger.Job[job], old *crowd) bool {
	i := slices.IndexFunc(j.Data.bounds, (*bound).full)
	if i < 0 {
		return false
	}
	name, bounds := make([]byte, 0, 64), make([]*bound, 0, 8)
	for _, b := range j.Data.bounds {
		if b.full() || old != nil && slices.Contains(old.bounds, b) {
			name, bounds = binary.AppendUvarint(name, b.id), append(bounds, b)
		}
	}
	c := p.crowds[string(name)]
	if c == nil {
		c = &crowd{name: string(name), bounds: slices.Clone(bounds)}
		p.crowds[c.name] = c
	}
	j.Data.crowd = c
	heap.Push(&c.jobs, waiter{j})
	c.move(j.Data.bounds[i])
	return true
}

// move makes a crowd wait at a bound of its own that is full.
func (c *crowd) move(to *bound) {
	if c.at != nil {
		heap.Remove(&c.at.crowds, c.place)
	}
	c.at = to
	heap.Push(&to.crowds, c)
}

// unpark takes a job out of where it waits for room.
func (p *policy) unpark(j *ledger.Job[job]) {
	c := j.Data.crowd
	if c == nil {
		return
	}
	heap.Remove(&c.jobs, j.Data.place)
	if j.Data.crowd = nil; len(c.jobs) > 0 {
		heap.Fix(&c.at.crowds, c.place)
		return
	}
	heap.Remove(&c.at.crowds, c.place)
	delete(p.crowds, c.name)
}

// releaseFreed releases the jobs that have room since an event, in the order in which they arrived.
func (p *policy) releaseFreed() {
	for {
		var c *crowd
		for _, b := range p.freed {
			if !b.full() && len(b.crowds) > 0 && (c == nil || b.crowds[0].Seq() < c.Seq()) {
				c = b.crowds[0]
			}
		}
		if c == nil {
			p.freed = p.freed[:0]
			return
		}
		p.looks++
		j := c.jobs[0].Job
		if p.unpark(j); !p.park(j, c) { // if it waits on in c, all c waits there
			p.release(j, p.ledger.Now())
		}
	}
}

// parkDue makes the jobs of a restored account wait for room that wait for nothing else. Where the limits have changed, there may be room:
// then the next event releases them.
func (p *policy) parkDue() {
	for _, j := range p.inOrder() {
		if d, ok := p.due.Key(j.Handle()); ok && d.at <= p.ledger.Now() && p.park(j, nil) {
			p.due.Remove(j.Handle())
		}
	}
}
