package sojourn

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
)

// guarded implements every optional interface. Each method counts its calls,
// without any synchronisation, and notes whether the lock was free meanwhile.
type guarded struct {
	l     *Locked
	calls []string
	free  []string
}

func newGuarded() (*guarded, *Locked) {
	g := new(guarded)
	g.l = NewLocked(g)
	return g, g.l
}

func (g *guarded) called(name string) {
	g.calls = append(g.calls, name)
	if g.l.mu.TryLock() {
		g.l.mu.Unlock()
		g.free = append(g.free, name)
	}
}

var errGuarded = errors.New("guarded")

func (g *guarded) Observe(Event) error { g.called("Observe"); return errGuarded }
func (g *guarded) Assign(id SlotID) (Assignment, bool) {
	g.called("Assign")
	return Assignment{Slot: id}, true
}
func (g *guarded) Admit(*Job) error { g.called("Admit"); return errGuarded }
func (g *guarded) AppendPreemptions(dst []Preemption) []Preemption {
	g.called("AppendPreemptions")
	return append(dst, Preemption{Slot: 4})
}
func (g *guarded) NextWake() (Time, bool)      { g.called("NextWake"); return 5, true }
func (g *guarded) Seek(c Class) (SlotID, bool) { g.called("Seek"); return SlotID(c), true }
func (g *guarded) AppendRanking(dst []JobID) []JobID {
	g.called("AppendRanking")
	return append(dst, 6)
}
func (g *guarded) Explain(id JobID) ([]slog.Attr, bool) {
	g.called("Explain")
	return []slog.Attr{slog.Uint64("id", uint64(id))}, true
}
func (g *guarded) AppendVoid(dst []JobID) []JobID {
	g.called("AppendVoid")
	return append(dst, 7)
}
func (g *guarded) Void(id JobID) (string, bool) { g.called("Void"); return "void", id == 7 }
func (g *guarded) Unheard(x int) int            { g.called("Unheard"); return x + 1 }
func (g *guarded) AppendBinary(dst []byte) ([]byte, error) {
	g.called("AppendBinary")
	return append(dst, 7), errGuarded
}
func (g *guarded) UnmarshalBinary([]byte) error { g.called("UnmarshalBinary"); return errGuarded }

// lockedCalls makes each call of a policy and of its optional interfaces through
// l, and reports whether arguments and results went through unchanged.
var lockedCalls = map[string]func(l *Locked) bool{
	"Observe": func(l *Locked) bool { return l.Observe(Event{}) == errGuarded },
	"Assign": func(l *Locked) bool {
		a, ok := l.Assign(3)
		return ok && a == Assignment{Slot: 3}
	},
	"Admit": func(l *Locked) bool {
		v, ok := As[Admitter](l)
		return ok && v.Admit(nil) == errGuarded
	},
	"AppendPreemptions": func(l *Locked) bool {
		v, ok := As[Preemptor](l)
		return ok && slices.Equal(v.AppendPreemptions([]Preemption{{Slot: 1}}), []Preemption{{Slot: 1}, {Slot: 4}})
	},
	"NextWake": func(l *Locked) bool {
		v, ok := As[Waker](l)
		if !ok {
			return false
		}
		at, ok := v.NextWake()
		return ok && at == 5
	},
	"Seek": func(l *Locked) bool {
		v, ok := As[Seeker](l)
		if !ok {
			return false
		}
		id, ok := v.Seek(8)
		return ok && id == 8
	},
	"AppendRanking": func(l *Locked) bool {
		v, ok := As[Explainer](l)
		return ok && slices.Equal(v.AppendRanking([]JobID{1}), []JobID{1, 6})
	},
	"Explain": func(l *Locked) bool {
		v, ok := As[Explainer](l)
		if !ok {
			return false
		}
		attrs, ok := v.Explain(9)
		return ok && len(attrs) == 1 && attrs[0].Value.Uint64() == 9
	},
	"AppendVoid": func(l *Locked) bool {
		v, ok := As[Promiser](l)
		return ok && slices.Equal(v.AppendVoid([]JobID{1}), []JobID{1, 7})
	},
	"Void": func(l *Locked) bool {
		v, ok := As[Promiser](l)
		if !ok {
			return false
		}
		why, ok := v.Void(7)
		return ok && why == "void"
	},
	"Unheard": func(l *Locked) (ok bool) {
		for v := range All[interface{ Unheard(int) int }](l) {
			ok = v.Unheard(4) == 5 && !ok
		}
		return ok
	},
	"AppendBinary": func(l *Locked) bool {
		v, ok := As[Snapshotter](l)
		if !ok {
			return false
		}
		data, err := v.AppendBinary([]byte{1})
		return err == errGuarded && slices.Equal(data, []byte{1, 7})
	},
	"UnmarshalBinary": func(l *Locked) bool {
		v, ok := As[Snapshotter](l)
		return ok && v.UnmarshalBinary(nil) == errGuarded
	},
}

func TestLockedHoldsTheLock(t *testing.T) {
	for name, call := range lockedCalls {
		g, l := newGuarded()
		if !call(l) {
			t.Errorf("%s: not found through Locked, or changed on the way", name)
		}
		if !slices.Equal(g.calls, []string{name}) || len(g.free) > 0 {
			t.Errorf("%s: calls %v, of which without the lock %v; want one, none", name, g.calls, g.free)
		}
		if !l.mu.TryLock() {
			t.Errorf("%s: the lock is still held afterwards", name)
		}
	}
}

// Every call from many goroutines: the race detector finds any that goes past
// the lock, and the count any that got lost.
func TestLockedIsSafeForConcurrentUse(t *testing.T) {
	const rounds = 200
	g, l := newGuarded()
	var wg sync.WaitGroup
	for _, call := range lockedCalls {
		wg.Go(func() {
			for range rounds {
				call(l)
			}
		})
	}
	wg.Wait()
	if want := rounds * len(lockedCalls); len(g.calls) != want {
		t.Errorf("%d calls arrived, want %d", len(g.calls), want)
	}
}

func TestLockedReleasesWhenAssignPanics(t *testing.T) {
	l := NewLocked(panicking{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of Assign did not get through")
			}
		}()
		l.Assign(1)
	}()
	if !l.mu.TryLock() {
		t.Error("the lock is still held")
	}
}

type plain struct{}

func (plain) Observe(Event) error                   { return nil }
func (plain) Assign(SlotID) (_ Assignment, ok bool) { return }

type panicking struct{ plain }

func (panicking) Assign(SlotID) (Assignment, bool) { panic("unknown slot") }

func TestLockedOffersNoMoreThanIsInside(t *testing.T) {
	l := NewLocked(plain{})
	for name, found := range map[string]bool{
		"Admitter":    is[Admitter](l),
		"Preemptor":   is[Preemptor](l),
		"Waker":       is[Waker](l),
		"Seeker":      is[Seeker](l),
		"Explainer":   is[Explainer](l),
		"Promiser":    is[Promiser](l),
		"Snapshotter": is[Snapshotter](l),
	} {
		if found {
			t.Errorf("As finds a %s in a Locked around a policy that is none", name)
		}
	}
	if !is[*Locked](l) {
		t.Error("As does not find the Locked itself")
	}
}

func is[T any](p Policy) bool {
	_, ok := As[T](p)
	return ok
}

// unwrapping is a wrapper between a Locked and a policy.
type unwrapping struct{ Policy }

func (u unwrapping) Unwrap() Policy { return u.Policy }

func TestLockedFindsThroughWrappersInside(t *testing.T) {
	g := new(guarded)
	g.l = NewLocked(unwrapping{g})
	for name, call := range lockedCalls {
		if !call(g.l) {
			t.Errorf("%s: not found", name)
		}
	}
	if len(g.free) > 0 {
		t.Errorf("called without the lock: %v", g.free)
	}
}

// What All yields is the policy inside, under the lock until the body is left, in
// whichever way.
func TestLockedLendsThePolicy(t *testing.T) {
	g, l := newGuarded()
	for p := range All[*guarded](l) {
		if p != g {
			t.Error("All yields another policy than the one inside")
		}
		p.called("the body")
		break
	}
	func() {
		defer func() { recover() }()
		l.Visit(func(p Policy) {
			p.(*guarded).called("the function")
			panic("out")
		})
	}()
	if len(g.calls) != 2 || len(g.free) > 0 {
		t.Errorf("calls %v, of which without the lock %v; want two, none", g.calls, g.free)
	}
	if !l.mu.TryLock() {
		t.Error("the lock is still held afterwards")
	}
}

// AssignNext seeks and assigns in one go.
func TestLockedAssignNext(t *testing.T) {
	g, l := newGuarded()
	if a, ok := l.AssignNext(8); !ok || a.Slot != 8 {
		t.Errorf("AssignNext(8) = %+v, %v, want the slot that Seek names", a, ok)
	}
	if !slices.Equal(g.calls, []string{"Seek", "Assign"}) || len(g.free) > 0 {
		t.Errorf("calls %v, of which without the lock %v; want Seek and Assign, none", g.calls, g.free)
	}
	defer func() {
		if recover() == nil {
			t.Error("AssignNext of a policy that is no Seeker does not panic")
		}
	}()
	NewLocked(plain{}).AssignNext(0)
}

// The policy inside cannot be had, by Unwrap, by As, or by a view.
func TestLockedHidesThePolicy(t *testing.T) {
	_, l := newGuarded()
	if _, ok := any(l).(interface{ Unwrap() Policy }); ok {
		t.Error("a Locked can be unwrapped")
	}
	if is[*guarded](l) {
		t.Error("As finds the concrete policy behind a Locked")
	}
	var target *guarded
	if l.As(&target) || l.As(nil) || l.As(new(Policy)) || is[interface{ Unheard(int) int }](l) {
		t.Error("the method As answers for more than the optional interfaces")
	}
	waker, _ := As[Waker](l)
	if _, ok := waker.(Policy); ok {
		t.Error("the view of a Waker is a Policy")
	}
	if _, ok := waker.(Seeker); ok {
		t.Error("the view of a Waker is a Seeker")
	}
}
