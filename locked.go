package sojourn

import (
	"fmt"
	"log/slog"
	"sync"
)

// Locked makes a policy safe for concurrent use, one call at a time.
//
// [As] finds the optional interfaces of this package, and each call of what As returns
// takes the same lock. [All] finds concrete types and interfaces of other packages, and
// holds the lock until the body of the loop is left. Every way to the policy inside takes
// the lock.
//
// The lock makes each single call atomic: another goroutine may get in between Seek and
// Assign, or between reading the clock and Observe. [Locked.AssignNext] seeks and
// assigns under one lock. [Locked.Visit] calls a function under one lock. The function
// may, for example, read the clock, report the end of a task, and ask for the next task.
type Locked struct {
	mu sync.Mutex
	p  Policy
}

// NewLocked returns a Locked around p. From then on p may be used only through it.
func NewLocked(p Policy) *Locked { return &Locked{p: p} }

// Observe implements [Policy].
func (l *Locked) Observe(ev Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.p.Observe(ev)
}

// Assign implements [Policy] with one difference. It declines a slot that is not free,
// where the policy inside panics with a [*SlotError]. Another goroutine may have taken the
// slot, or the slot may have left, since the caller found it free.
func (l *Locked) Assign(id SlotID) (a Assignment, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			if _, free := r.(*SlotError); !free {
				panic(r)
			}
			a, ok = Assignment{}, false
		}
	}()
	return l.p.Assign(id)
}

// AssignNext assigns the free slot of a class that the policy's [Seeker] names; the
// assignment names the slot. It reports false if no free slot of the class is worth
// offering until the next event or assignment. It panics if the policy is no Seeker.
func (l *Locked) AssignNext(c Class) (Assignment, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := As[Seeker](l.p)
	if !ok {
		panic(fmt.Sprintf("sojourn: AssignNext of a %T, which is no Seeker", l.p))
	}
	id, ok := s.Seek(c)
	if !ok {
		return Assignment{}, false
	}
	return l.p.Assign(id)
}

// Visit calls f with the policy inside, under the lock. f may use the policy as if there
// were no lock. It must not keep the policy and must not call l. The function [All] uses
// Visit.
func (l *Locked) Visit(f func(Policy)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.p)
}

// As sets *target to a view of the policy inside that takes the lock. It reports
// whether target points to one of the optional interfaces and the policy
// implements it. The function [As] calls it.
func (l *Locked) As(target any) bool {
	switch target := target.(type) {
	case *Supporter:
		return lockedView(l, target, func(in Supporter) Supporter { return lockedSupporter{l, in} })
	case *Admitter:
		return lockedView(l, target, func(in Admitter) Admitter { return lockedAdmitter{l, in} })
	case *Preemptor:
		return lockedView(l, target, func(in Preemptor) Preemptor { return lockedPreemptor{l, in} })
	case *Waker:
		return lockedView(l, target, func(in Waker) Waker { return lockedWaker{l, in} })
	case *Seeker:
		return lockedView(l, target, func(in Seeker) Seeker { return lockedSeeker{l, in} })
	case *Explainer:
		return lockedView(l, target, func(in Explainer) Explainer { return lockedExplainer{l, in} })
	case *Promiser:
		return lockedView(l, target, func(in Promiser) Promiser { return lockedPromiser{l, in} })
	case *Sharer:
		return lockedView(l, target, func(in Sharer) Sharer { return lockedSharer{l, in} })
	case *Snapshotter:
		return lockedView(l, target, func(in Snapshotter) Snapshotter { return lockedSnapshotter{l, in} })
	}
	return false
}

func lockedView[T any](l *Locked, target *T, wrap func(T) T) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	in, ok := As[T](l.p)
	if ok {
		*target = wrap(in)
	}
	return ok
}

type lockedSupporter struct {
	l  *Locked
	in Supporter
}

func (v lockedSupporter) Supports() Features {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.Supports()
}

type lockedAdmitter struct {
	l  *Locked
	in Admitter
}

func (v lockedAdmitter) Admit(job *Job) error {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.Admit(job)
}

type lockedPreemptor struct {
	l  *Locked
	in Preemptor
}

func (v lockedPreemptor) AppendPreemptions(dst []Preemption) []Preemption {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.AppendPreemptions(dst)
}

type lockedWaker struct {
	l  *Locked
	in Waker
}

func (v lockedWaker) NextWake() (Time, bool) {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.NextWake()
}

type lockedSeeker struct {
	l  *Locked
	in Seeker
}

func (v lockedSeeker) Seek(c Class) (SlotID, bool) {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.Seek(c)
}

type lockedExplainer struct {
	l  *Locked
	in Explainer
}

func (v lockedExplainer) AppendRanking(dst []JobID) []JobID {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.AppendRanking(dst)
}

func (v lockedExplainer) Explain(id JobID) ([]slog.Attr, bool) {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.Explain(id)
}

type lockedPromiser struct {
	l  *Locked
	in Promiser
}

func (v lockedPromiser) AppendVoid(dst []JobID) []JobID {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.AppendVoid(dst)
}

func (v lockedPromiser) Void(id JobID) (why string, ok bool) {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.Void(id)
}

type lockedSharer struct {
	l  *Locked
	in Sharer
}

func (v lockedSharer) Pool(name string) (Pool, bool) {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.Pool(name)
}

func (v lockedSharer) AppendShares(dst []Share, c Class) []Share {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.AppendShares(dst, c)
}

type lockedSnapshotter struct {
	l  *Locked
	in Snapshotter
}

func (v lockedSnapshotter) AppendBinary(dst []byte) ([]byte, error) {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.AppendBinary(dst)
}

func (v lockedSnapshotter) UnmarshalBinary(data []byte) error {
	v.l.mu.Lock()
	defer v.l.mu.Unlock()
	return v.in.UnmarshalBinary(data)
}
