package inside_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// deaf refuses every event with an error, and is no optional interface.
type deaf struct{ err error }

func (d deaf) Observe(sojourn.Event) error                          { return d.err }
func (d deaf) Assign(sojourn.SlotID) (a sojourn.Assignment, _ bool) { return a, false }

// waker waits for an instant.
type waker struct {
	deaf
	at sojourn.Time
	ok bool
}

func (w waker) NextWake() (sojourn.Time, bool) { return w.at, w.ok }

// wrapped hides nothing of the policy inside.
type wrapped struct{ sojourn.Policy }

func (w wrapped) Unwrap() sojourn.Policy { return w.Policy }

func TestDue(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    sojourn.Policy
		want bool
	}{
		{"no waker", deaf{}, false},
		{"waits for nothing", waker{at: 5}, false},
		{"an instant to come", waker{at: 8, ok: true}, false},
		{"this very instant", wrapped{waker{at: 7, ok: true}}, true},
		{"an instant that has gone", waker{at: 6, ok: true}, true},
	} {
		g := inside.New("outer", tc.p)
		if got := g.Due(7); got != tc.want {
			t.Errorf("%s: Due = %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestMust(t *testing.T) {
	g := inside.New("outer", deaf{})
	g.Must(sojourn.Event{Kind: sojourn.Tick})
	defer func() {
		if got, want := recover(), "outer: a inside_test.deaf refuses what fits: no"; got != want {
			t.Errorf("panic %v, want %q", got, want)
		}
	}()
	g = inside.New("outer", deaf{errors.New("no")})
	g.Must(sojourn.Event{Kind: sojourn.Tick})
}

// The error is about the event of the outer policy, whatever the policy inside was told.
func TestRefused(t *testing.T) {
	ev := sojourn.Event{Kind: sojourn.JobRevised, At: 7}
	for _, in := range []error{sojourn.ErrUnsupported, &sojourn.EventError{Event: sojourn.Event{Kind: sojourn.Tick}, Err: sojourn.ErrUnsupported}} {
		var e *sojourn.EventError
		if err := inside.Refused(&ev, in); !errors.As(err, &e) || e.Event != ev || e.Err != sojourn.ErrUnsupported {
			t.Errorf("Refused(%v) = %v, want the event %v and what is wrong with it", in, err, ev)
		}
	}
}

func TestPassAndAnswer(t *testing.T) {
	var target sojourn.Waker
	if inside.Pass(deaf{}, &target) || inside.Answer[sojourn.Waker](deaf{}, &target, waker{}) || target != nil {
		t.Errorf("a policy that never waits is a Waker: %v", target)
	}
	if in := (waker{at: 3}); !inside.Pass(wrapped{in}, &target) || target != in {
		t.Errorf("Pass sets %v, want %v", target, in)
	}
	if answer := (waker{at: 4}); !inside.Answer[sojourn.Waker](wrapped{waker{at: 3}}, &target, answer) || target != answer {
		t.Errorf("Answer sets %v, want %v", target, answer)
	}
}

// text is a policy that can be saved.
type text struct {
	deaf
	s string
}

func (p *text) AppendBinary(dst []byte) ([]byte, error) { return append(dst, p.s...), nil }
func (p *text) UnmarshalBinary(data []byte) error       { p.s = string(data); return nil }

func TestSaved(t *testing.T) {
	header := snapshot.Header{Policy: "outer", Version: 1}
	data, err := snapshot.Append(nil, header, func(w *snapshot.Writer) { inside.Save(w, wrapped{&text{s: "state"}}) })
	if err != nil {
		t.Fatal(err)
	}
	var saved inside.Saved
	if err := snapshot.Restore(new(int), data, header, func() {}, func(r *snapshot.Reader) { r.Binary(&saved) }); err != nil {
		t.Fatal(err)
	}
	clear(data) // what was read is a copy
	var in text
	if err := saved.Restore(wrapped{&in}); err != nil || in.s != "state" {
		t.Errorf("Restore = %v, and the policy is %q, want %q", err, in.s, "state")
	}
	_, err = snapshot.Append(nil, header, func(w *snapshot.Writer) { inside.Save(w, deaf{}) })
	for _, err := range []error{err, saved.Restore(deaf{})} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "inside_test.deaf cannot be") {
			t.Errorf("the error is %v, want one that wraps ErrUnsupported and names the type", err)
		}
	}
}

type member = inside.Member

// tenant is a policy that may have a part of a cluster.
type tenant struct {
	deaf
	member
}

func TestJoin(t *testing.T) {
	if inside.Join(deaf{}, inside.Cluster{}) {
		t.Error("a policy without a Member keeps to the reserve of the cluster")
	}
	around := inside.Cluster{Reserve: new(reserve.Reserve)}
	for _, keeps := range []bool{false, true} {
		told := inside.Cluster{}
		p := tenant{member: inside.MemberOf(func(c inside.Cluster) bool { told = c; return keeps })}
		if got := inside.Join(wrapped{p}, around); got != keeps || told.Reserve != around.Reserve {
			t.Errorf("Join = %v, and the policy was told of %v, want %v and %v", got, told, keeps, around)
		}
	}
}
