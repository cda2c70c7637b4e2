package sojourn_test

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// bare is a policy without optional interfaces.
type bare struct{}

func (bare) Observe(sojourn.Event) error                           { return nil }
func (bare) Assign(sojourn.SlotID) (_ sojourn.Assignment, ok bool) { return }

// waking is a policy that is recognised by the instant at which it wakes.
type waking struct {
	bare
	at sojourn.Time
}

func (p waking) NextWake() (sojourn.Time, bool) { return p.at, true }

// wrapping hides p, except from As.
type wrapping struct {
	sojourn.Policy
	as func(target any) bool // nil: not asked
}

func (w wrapping) Unwrap() sojourn.Policy { return w.Policy }
func (w wrapping) As(target any) bool     { return w.as != nil && w.as(target) }

// opaque hides p completely.
type opaque struct{ p sojourn.Policy }

func (o opaque) Observe(ev sojourn.Event) error                      { return o.p.Observe(ev) }
func (o opaque) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) { return o.p.Assign(id) }

func TestAsFindsWakers(t *testing.T) {
	// asWaker answers As with a waker of its own, and with nothing else.
	asWaker := func(target any) bool {
		w, ok := target.(*sojourn.Waker)
		if ok {
			*w = waking{at: 5}
		}
		return ok
	}
	tests := []struct {
		name string
		p    sojourn.Policy
		want sojourn.Time // -1: none
	}{
		{"nil", nil, -1},
		{"bare", bare{}, -1},
		{"itself", waking{at: 1}, 1},
		{"behind a wrapper", wrapping{Policy: waking{at: 1}}, 1},
		{"behind two wrappers", wrapping{Policy: wrapping{Policy: waking{at: 1}}}, 1},
		{"bare behind a wrapper", wrapping{Policy: bare{}}, -1},
		{"wrapper around nil", wrapping{}, -1},
		{"method As", wrapping{Policy: bare{}, as: asWaker}, 5},
		{"method As before Unwrap", wrapping{Policy: waking{at: 1}, as: asWaker}, 5},
		{"method As of the wrapper inside", wrapping{Policy: wrapping{Policy: waking{at: 1}, as: asWaker}}, 5},
		{"itself before its method As", wakingWrapper{waking{at: 2}, wrapping{as: asWaker}}, 2},
		{"the outer of two", wakingWrapper{waking{at: 2}, wrapping{Policy: waking{at: 1}}}, 2},
		{"no method Unwrap", opaque{waking{at: 1}}, -1},
	}
	for _, tc := range tests {
		want := tc.want
		if want < 0 {
			want = 0
		}
		w, ok := sojourn.As[sojourn.Waker](tc.p)
		var got sojourn.Time
		if ok {
			got, _ = w.NextWake()
		} else if w != nil {
			t.Errorf("%s: As = %v, false, want nil, false", tc.name, w)
		}
		if ok != (tc.want >= 0) || got != want {
			t.Errorf("%s: As finds %v %v, want %v %v", tc.name, got, ok, want, tc.want >= 0)
		}
	}
}

// wakingWrapper is a waker and a wrapper at once.
type wakingWrapper struct {
	waking
	w wrapping
}

func (w wakingWrapper) Unwrap() sojourn.Policy { return w.w.Unwrap() }
func (w wakingWrapper) As(target any) bool     { return w.w.As(target) }

func TestAsFindsConcreteTypes(t *testing.T) {
	p := &wrapping{Policy: wrapping{Policy: waking{at: 3}}}
	if got, ok := sojourn.As[waking](p); !ok || got.at != 3 {
		t.Errorf("As[waking] = %+v, %v, want at 3, true", got, ok)
	}
	if got, ok := sojourn.As[bare](p); ok {
		t.Errorf("As[bare] = %+v, true, want false: it is only embedded", got)
	}
	if got, ok := sojourn.As[sojourn.Policy](p); !ok || got != p {
		t.Errorf("As[Policy] = %+v, %v, want the outermost policy itself", got, ok)
	}
}

// If a method As sets its target but reports false, the target does not count.
func TestAsForgetsWhatWasRefused(t *testing.T) {
	p := wrapping{Policy: bare{}, as: func(target any) bool {
		*target.(*sojourn.Waker) = waking{}
		return false
	}}
	if w, ok := sojourn.As[sojourn.Waker](p); ok || w != nil {
		t.Errorf("As = %v, %v, want nil, false", w, ok)
	}
}

// several lends two policies.
type several struct {
	bare
	a, b sojourn.Policy
}

func (s several) Visit(f func(sojourn.Policy)) {
	f(s.a)
	f(s.b)
}

func TestAllFindsWhatIsInside(t *testing.T) {
	w := func(at sojourn.Time) sojourn.Policy { return waking{at: at} }
	two := several{a: w(1), b: wrapping{Policy: w(2)}}
	tests := []struct {
		name string
		p    sojourn.Policy
		want []sojourn.Time
	}{
		{"nil", nil, nil},
		{"bare", bare{}, nil},
		{"itself", w(1), []sojourn.Time{1}},
		{"behind wrappers", wrapping{Policy: wrapping{Policy: w(1)}}, []sojourn.Time{1}},
		{"itself, and not what is inside", wakingWrapper{waking{at: 2}, wrapping{Policy: w(1)}}, []sojourn.Time{2}},
		{"method As", wrapping{Policy: w(1), as: func(target any) bool { *target.(*sojourn.Waker) = waking{at: 5}; return true }}, []sojourn.Time{5}},
		{"two", two, []sojourn.Time{1, 2}},
		{"two, one of them bare", several{a: bare{}, b: w(3)}, []sojourn.Time{3}},
		{"behind a lock", sojourn.NewLocked(wrapping{Policy: two}), []sojourn.Time{1, 2}},
		{"behind two locks", several{a: sojourn.NewLocked(sojourn.NewLocked(w(4))), b: two}, []sojourn.Time{4, 1, 2}},
		{"hidden", opaque{w(1)}, nil},
	}
	for _, tc := range tests {
		for limit := range len(tc.want) + 1 {
			got := []sojourn.Time{}
			for w := range sojourn.All[sojourn.Waker](tc.p) {
				at, _ := w.NextWake()
				if got = append(got, at); len(got) == limit {
					break
				}
			}
			want := tc.want
			if limit > 0 {
				want = want[:limit]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: All finds %v when left after %d, want %v", tc.name, got, limit, want)
			}
		}
	}
	if _, ok := sojourn.As[sojourn.Waker](two); ok {
		t.Error("As finds one of several policies, which does not speak for the others")
	}
}
