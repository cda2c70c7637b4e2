package sojourn

import (
	"log/slog"
	"sync"
)

// Locked makes a policy safe for concurrent use, one call at a time. The
// optional interfaces of the policy are found by [As], and what As returns takes
// the same lock. There is no way from a Locked to the policy inside, which would
// go past the lock.
//
// A lock makes each call atomic and no more: between an Observe and the Assign
// that follows it another goroutine may get in. A driver that needs the two
// together keeps a mutex of its own instead.
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

// Assign implements [Policy].
func (l *Locked) Assign(id SlotID) (Assignment, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.p.Assign(id)
}

// As sets *target to a view of the policy inside that takes the lock, and
// reports whether target points to one of the optional interfaces and the policy
// implements it. It serves the function [As].
func (l *Locked) As(target any) bool {
	switch target := target.(type) {
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
	case *Snapshotter:
		return lockedView(l, target, func(in Snapshotter) Snapshotter { return lockedSnapshotter{l, in} })
	}
	return false
}

func lockedView[T any](l *Locked, target *T, wrap func(T) T) bool {
	in, ok := As[T](l.p)
	if ok {
		*target = wrap(in)
	}
	return ok
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
