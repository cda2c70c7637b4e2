package priority

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

var header = snapshot.Header{Policy: "priority", Version: 1}

// AppendBinary implements [sojourn.Snapshotter]. If the policies inside are no Snapshotters, the error wraps
// [errors.ErrUnsupported].
func (p *policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, header, func(w *snapshot.Writer) {
		p.ledger.Save(w)
		for j := range p.ledger.All() {
			w.Int(int64(j.Data.arrived))
		}
		w.Len(len(p.levels))
		for _, l := range p.levels {
			p.saveLevel(w, l)
		}
		p.saveAttempts(w)
	})
}

func (p *policy) saveLevel(w *snapshot.Writer, l *level) {
	w.Int(int64(l.priority))
	idle := 0 // its place among those without jobs
	for _, o := range p.levels {
		if l.idle > 0 && o.idle > 0 && o.idle <= l.idle {
			idle++
		}
	}
	w.Len(idle)
	inside.Save(w, l.in.Policy)
	w.Bool(l.due)
	for i := range l.classes {
		if c := &l.classes[i]; c.startable > 0 {
			w.Time(c.since)
		}
	}
}

// saveAttempts writes in which order the live attempts started, when each began, and which of them were started by age.
func (p *policy) saveAttempts(w *snapshot.Writer) {
	var slots []sojourn.SlotID
	for s := range p.ledger.Attempts() {
		slots = append(slots, s.ID)
	}
	slices.SortFunc(slots, func(a, b sojourn.SlotID) int { return cmp.Compare(p.at(a).number, p.at(b).number) })
	for _, id := range slots {
		w.Uint(uint64(id))
		w.Int(int64(p.at(id).begun))
		w.Bool(p.at(id).aged)
	}
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *policy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, header, p.reset, p.restore)
}

func (p *policy) restore(r *snapshot.Reader) {
	p.ledger.Restore(r)
	for j := range p.ledger.All() {
		j.Data.arrived = sojourn.Time(r.Int())
		r.Check(j.Data.arrived <= p.ledger.Now(), "a job arrives at a time to come")
	}
	idle := map[uint64]bool{}
	for range r.Len() {
		l := p.restoreLevel(r)
		if r.Err() != nil || !r.Check(len(p.levels) == 0 || p.levels[len(p.levels)-1].priority > l.priority, "priorities are out of order") {
			return
		}
		p.levels = append(p.levels, l)
		if l.idle > 0 {
			r.Check(l.jobs == 0 && !idle[l.idle], "a priority is idle that has jobs, or two became so at once")
			idle[l.idle] = true
		} else {
			r.Check(l.jobs > 0 || l.priority == 0, "a priority without jobs is not idle")
		}
		p.idle = max(p.idle, l.idle)
		r.Check(len(idle) <= spare+1, "more policies are kept than there can be")
	}
	_, usual := p.find(0)
	r.Check(usual, "there is no priority 0")
	for j := range p.ledger.All() {
		r.Check(j.Data.level != nil, "a job has a priority that has no policy")
	}
	if r.Err() == nil {
		p.restoreAttempts(r)
	}
}

// A guest is the policy of a level while it is restored, and the account with which its snapshot begins; nil if it does not.
type guest struct {
	sojourn.Snapshotter
	part *ledger.Part
}

func (g *guest) UnmarshalBinary(data []byte) error {
	g.part = ledger.RestorePart(data)
	return g.Snapshotter.UnmarshalBinary(data)
}

func (p *policy) restoreLevel(r *snapshot.Reader) *level {
	priority := r.Int()
	r.Check(priority >= math.MinInt32 && priority <= math.MaxInt32, "a priority is out of range")
	in := p.inside()
	s, ok := sojourn.As[sojourn.Snapshotter](in)
	if !ok {
		r.Fail("a %T cannot be restored", in)
		return nil
	}
	l := newLevel(int32(priority), in)
	l.idle = uint64(r.Count())
	g := guest{Snapshotter: s}
	if r.Binary(&g); r.Err() != nil {
		return nil
	}
	var jobs []*ledger.Job[job]
	for j := range p.ledger.All() {
		if j.Spec().Priority == l.priority {
			l.jobs++
			jobs = append(jobs, j)
			j.Data.level, j.Data.startable = l, make([]int32, j.NumSides())
			p.count(j)
		}
	}
	l.due = r.Bool()
	r.Check(!l.due || l.in.Waker != nil, "a policy waits that never does")
	for i := range l.classes {
		if c := &l.classes[i]; c.startable > 0 {
			c.since = r.Time()
			r.Check(c.since <= p.ledger.Now(), "a priority waits since a time to come")
		}
	}
	if g.part != nil {
		r.Check(p.covers(l, g.part, jobs), "the policy of a priority knows other jobs or slots")
	}
	return l
}

// known reports whether an attempt on a slot was restored already.
func (p *policy) known(id sojourn.SlotID) bool {
	i := int(id / pageSize)
	return i < len(p.attempts) && p.attempts[i] != nil && p.at(id).number > 0
}

func (p *policy) restoreAttempts(r *snapshot.Reader) {
	n := 0
	for range p.ledger.Attempts() {
		n++
	}
	for range n {
		id := sojourn.SlotID(r.Index(sojourn.MaxSlots))
		begun, aged := sojourn.Time(r.Int()), r.Bool()
		a, busy := p.ledger.Attempt(id)
		if r.Err() != nil || !r.Check(busy && !p.known(id) && begun <= p.ledger.Now(), "an attempt is not live, there twice, or begins at a time to come") {
			return
		}
		p.note(id, begun, aged)
		p.list(a.Job.Data.level, id)
	}
	p.ask()
}

// covers reports whether the policy of a level knows these jobs with what runs of them, and the free slots, and nothing else.
// Then an event that fits the account fits that policy, too.
func (p *policy) covers(l *level, part *ledger.Part, jobs []*ledger.Job[job]) bool {
	if part.Now() != p.ledger.Now() || part.Live() != len(jobs) {
		return false
	}
	for _, j := range jobs {
		k := part.Job(j.Spec().ID)
		if k == nil || j.Cancelled() != k.Cancelled() || j.Running() != k.Running() ||
			!bytes.Equal(snapshot.AppendJob(nil, j.Spec().Without(sojourn.FeaturePriority)), snapshot.AppendJob(nil, k.Spec())) ||
			!slices.Equal(slices.Collect(j.Facts()), slices.Collect(k.Facts())) {
			return false
		}
	}
	down := part.AppendDown(nil)
	for _, s := range down {
		if s.Rack != 0 && s.Rack != p.ledger.Rack(s.Node) || !p.ledger.Down(s.Node) {
			return false
		}
	}
	if len(down) != len(p.ledger.AppendDown(nil)) {
		return false
	}
	var own, known []sojourn.Slot
	for s := range p.ledger.Slots() {
		a, busy := p.ledger.Attempt(s.ID)
		if busy && a.Job.Data.level != l {
			continue
		}
		if b, runs := part.Attempt(s.ID); busy != runs || busy && (a.Task != b.Task || a.Number != b.Number) || p.ledger.Retiring(s.ID) != part.Retiring(s.ID) {
			return false
		}
		own = append(own, s)
	}
	for s := range part.Slots() {
		if b, runs := part.Attempt(s.ID); runs {
			if n := b.Job.LastAttempt(int(b.Task.Phase), b.Task.Index); n != 0 && n != b.Number {
				return false
			}
		}
		known = append(known, s)
	}
	return slices.Equal(own, known)
}
