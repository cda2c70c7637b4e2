package sojourn_test

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/sojourn-sched/sojourn"
)

// mutex returns the lock inside, which is not exported. These tests are in package sojourn_test
// because a test in package sojourn makes go compile every policy again for the tests beside it.
func mutex(l *sojourn.Locked) *sync.Mutex {
	field := reflect.ValueOf(l).Elem().FieldByName("mu")
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Interface().(*sync.Mutex)
}

// guarded implements every optional interface. Each method counts its calls,
// without any synchronisation, and notes whether the lock was free meanwhile.
type guarded struct {
	l     *sojourn.Locked
	calls []string
	free  []string
}

func newGuarded() (*guarded, *sojourn.Locked) {
	g := new(guarded)
	g.l = sojourn.NewLocked(g)
	return g, g.l
}

func (g *guarded) called(name string) {
	g.calls = append(g.calls, name)
	if mutex(g.l).TryLock() {
		mutex(g.l).Unlock()
		g.free = append(g.free, name)
	}
}

var errGuarded = errors.New("guarded")

func (g *guarded) Observe(sojourn.Event) error { g.called("Observe"); return errGuarded }
func (g *guarded) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	g.called("Assign")
	return sojourn.Assignment{Slot: id}, true
}
func (g *guarded) Admit(*sojourn.Job) error { g.called("Admit"); return errGuarded }
func (g *guarded) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	g.called("AppendPreemptions")
	return append(dst, sojourn.Preemption{Slot: 4})
}
func (g *guarded) NextWake() (sojourn.Time, bool) { g.called("NextWake"); return 5, true }
func (g *guarded) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	g.called("Seek")
	return sojourn.SlotID(c), true
}
func (g *guarded) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	g.called("AppendRanking")
	return append(dst, 6)
}
func (g *guarded) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	g.called("Explain")
	return []slog.Attr{slog.Uint64("id", uint64(id))}, true
}
func (g *guarded) AppendVoid(dst []sojourn.JobID) []sojourn.JobID {
	g.called("AppendVoid")
	return append(dst, 7)
}
func (g *guarded) Pool(name string) (sojourn.Pool, bool) {
	g.called("Pool")
	return sojourn.Pool{Name: name}, true
}

func (g *guarded) AppendShares(dst []sojourn.Share, c sojourn.Class) []sojourn.Share {
	g.called("AppendShares")
	return append(dst, sojourn.Share{Pool: "b", Running: int(c)})
}

func (g *guarded) Void(id sojourn.JobID) (string, bool) { g.called("Void"); return "void", id == 7 }
func (g *guarded) Unheard(x int) int                    { g.called("Unheard"); return x + 1 }
func (g *guarded) AppendBinary(dst []byte) ([]byte, error) {
	g.called("AppendBinary")
	return append(dst, 7), errGuarded
}
func (g *guarded) UnmarshalBinary([]byte) error { g.called("UnmarshalBinary"); return errGuarded }

// lockedCalls makes each call of a policy and of its optional interfaces through
// l, and reports whether arguments and results went through unchanged.
var lockedCalls = map[string]func(l *sojourn.Locked) bool{
	"Observe": func(l *sojourn.Locked) bool { return l.Observe(sojourn.Event{}) == errGuarded },
	"Assign": func(l *sojourn.Locked) bool {
		a, ok := l.Assign(3)
		return ok && a == sojourn.Assignment{Slot: 3}
	},
	"Admit": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Admitter](l)
		return ok && v.Admit(nil) == errGuarded
	},
	"AppendPreemptions": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Preemptor](l)
		return ok && slices.Equal(v.AppendPreemptions([]sojourn.Preemption{{Slot: 1}}), []sojourn.Preemption{{Slot: 1}, {Slot: 4}})
	},
	"NextWake": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Waker](l)
		if !ok {
			return false
		}
		at, ok := v.NextWake()
		return ok && at == 5
	},
	"Seek": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Seeker](l)
		if !ok {
			return false
		}
		id, ok := v.Seek(8)
		return ok && id == 8
	},
	"AppendRanking": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Explainer](l)
		return ok && slices.Equal(v.AppendRanking([]sojourn.JobID{1}), []sojourn.JobID{1, 6})
	},
	"Explain": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Explainer](l)
		if !ok {
			return false
		}
		attrs, ok := v.Explain(9)
		return ok && len(attrs) == 1 && attrs[0].Value.Uint64() == 9
	},
	"Pool": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Sharer](l)
		if !ok {
			return false
		}
		n, ok := v.Pool("a")
		return ok && n.Name == "a"
	},
	"AppendShares": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Sharer](l)
		return ok && slices.Equal(v.AppendShares([]sojourn.Share{{Pool: "a"}}, 8), []sojourn.Share{{Pool: "a"}, {Pool: "b", Running: 8}})
	},
	"AppendVoid": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Promiser](l)
		return ok && slices.Equal(v.AppendVoid([]sojourn.JobID{1}), []sojourn.JobID{1, 7})
	},
	"Void": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Promiser](l)
		if !ok {
			return false
		}
		why, ok := v.Void(7)
		return ok && why == "void"
	},
	"Unheard": func(l *sojourn.Locked) (ok bool) {
		for v := range sojourn.All[interface{ Unheard(int) int }](l) {
			ok = v.Unheard(4) == 5 && !ok
		}
		return ok
	},
	"AppendBinary": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Snapshotter](l)
		if !ok {
			return false
		}
		data, err := v.AppendBinary([]byte{1})
		return err == errGuarded && slices.Equal(data, []byte{1, 7})
	},
	"UnmarshalBinary": func(l *sojourn.Locked) bool {
		v, ok := sojourn.As[sojourn.Snapshotter](l)
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
		if !mutex(l).TryLock() {
			t.Errorf("%s: the lock is still held afterwards", name)
		}
	}
}

// Many goroutines make every call. The race detector finds a call that bypasses the lock, and
// the count finds a lost one.
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
	l := sojourn.NewLocked(panicking{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of Assign did not get through")
			}
		}()
		l.Assign(1)
	}()
	if !mutex(l).TryLock() {
		t.Error("the lock is still held")
	}
}

type plain struct{}

func (plain) Observe(sojourn.Event) error                           { return nil }
func (plain) Assign(sojourn.SlotID) (_ sojourn.Assignment, ok bool) { return }

type panicking struct{ plain }

func (panicking) Assign(sojourn.SlotID) (sojourn.Assignment, bool) { panic("unknown slot") }

func TestLockedOffersNoMoreThanIsInside(t *testing.T) {
	l := sojourn.NewLocked(plain{})
	for name, found := range map[string]bool{
		"Admitter":    is[sojourn.Admitter](l),
		"Preemptor":   is[sojourn.Preemptor](l),
		"Waker":       is[sojourn.Waker](l),
		"Seeker":      is[sojourn.Seeker](l),
		"Explainer":   is[sojourn.Explainer](l),
		"Promiser":    is[sojourn.Promiser](l),
		"Sharer":      is[sojourn.Sharer](l),
		"Snapshotter": is[sojourn.Snapshotter](l),
	} {
		if found {
			t.Errorf("As finds a %s in a Locked around a policy that is none", name)
		}
	}
	if !is[*sojourn.Locked](l) {
		t.Error("As does not find the Locked itself")
	}
}

func is[T any](p sojourn.Policy) bool {
	_, ok := sojourn.As[T](p)
	return ok
}

// unwrapping is a wrapper between a Locked and a policy.
type unwrapping struct{ sojourn.Policy }

func (u unwrapping) Unwrap() sojourn.Policy { return u.Policy }

func TestLockedFindsThroughWrappersInside(t *testing.T) {
	g := new(guarded)
	g.l = sojourn.NewLocked(unwrapping{g})
	for name, call := range lockedCalls {
		if !call(g.l) {
			t.Errorf("%s: not found", name)
		}
	}
	if len(g.free) > 0 {
		t.Errorf("called without the lock: %v", g.free)
	}
}

// All yields the policy inside, under the lock until the body is left in any way.
func TestLockedLendsThePolicy(t *testing.T) {
	g, l := newGuarded()
	for p := range sojourn.All[*guarded](l) {
		if p != g {
			t.Error("All yields another policy than the one inside")
		}
		p.called("the body")
		break
	}
	func() {
		defer func() { recover() }()
		l.Visit(func(p sojourn.Policy) {
			p.(*guarded).called("the function")
			panic("out")
		})
	}()
	if len(g.calls) != 2 || len(g.free) > 0 {
		t.Errorf("calls %v, of which without the lock %v; want two, none", g.calls, g.free)
	}
	if !mutex(l).TryLock() {
		t.Error("the lock is still held afterwards")
	}
}

// AssignNext seeks and assigns under one lock.
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
	sojourn.NewLocked(plain{}).AssignNext(0)
}

// Neither Unwrap, nor As, nor a view gives access to the policy inside.
func TestLockedHidesThePolicy(t *testing.T) {
	_, l := newGuarded()
	if _, ok := any(l).(interface{ Unwrap() sojourn.Policy }); ok {
		t.Error("a Locked can be unwrapped")
	}
	if is[*guarded](l) {
		t.Error("As finds the concrete policy behind a Locked")
	}
	var target *guarded
	if l.As(&target) || l.As(nil) || l.As(new(sojourn.Policy)) || is[interface{ Unheard(int) int }](l) {
		t.Error("the method As answers for more than the optional interfaces")
	}
	waker, _ := sojourn.As[sojourn.Waker](l)
	if _, ok := waker.(sojourn.Policy); ok {
		t.Error("the view of a Waker is a Policy")
	}
	if _, ok := waker.(sojourn.Seeker); ok {
		t.Error("the view of a Waker is a Seeker")
	}
}
