package sojourntest

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
)

// A subject is a policy and its optional interfaces, nil for those that it does not have.
type subject struct {
	sojourn.Policy
	admitter    sojourn.Admitter
	preemptor   sojourn.Preemptor
	waker       sojourn.Waker
	seeker      sojourn.Seeker
	explainer   sojourn.Explainer
	promiser    sojourn.Promiser
	snapshotter sojourn.Snapshotter

	// Options may change while a policy lives: with each arrival, it is saved and restored into
	// the policy that the next of these returns. If nothing changes, there is only one.
	options  []func() sojourn.Policy
	arrivals int   // accepted ones
	refused  error // by UnmarshalBinary of the next policy

	size  int // of the largest snapshot so far
	views int // how often it was asked
}

func newSubject(options ...func() sojourn.Policy) *subject {
	s := &subject{options: options}
	s.be(options[0]())
	return s
}

// be makes p the policy that is under test.
func (s *subject) be(p sojourn.Policy) {
	s.Policy = p
	s.admitter, _ = sojourn.As[sojourn.Admitter](p)
	s.preemptor, _ = sojourn.As[sojourn.Preemptor](p)
	s.waker, _ = sojourn.As[sojourn.Waker](p)
	s.seeker, _ = sojourn.As[sojourn.Seeker](p)
	s.explainer, _ = sojourn.As[sojourn.Explainer](p)
	s.promiser, _ = sojourn.As[sojourn.Promiser](p)
	s.snapshotter, _ = sojourn.As[sojourn.Snapshotter](p)
}

// Observe reports an event, and changes the options after an arrival.
func (s *subject) Observe(ev sojourn.Event) error {
	err := s.Policy.Observe(ev)
	if err == nil && len(s.options) > 1 && (ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted) {
		s.arrivals++
		if data, err := s.snapshotter.AppendBinary(nil); err == nil {
			s.beAfter(s.arrivals)
			s.refused = s.snapshotter.UnmarshalBinary(data)
		}
	}
	return err
}

// beAfter makes a new policy the one under test, with the options that hold after a number of
// arrivals.
func (s *subject) beAfter(arrivals int) {
	s.arrivals = arrivals
	s.be(s.options[arrivals%len(s.options)]())
}

// A view is the answers of the optional interfaces at one moment. Ranking, explaining all jobs,
// and saving take longer than the rest, so not all views are full.
type view struct {
	wake        sojourn.Time // of NextWake
	waits       bool
	seeks       []sojourn.SlotID // by index in Options.classes; none if there is nothing to offer
	preemptions []sojourn.Preemption
	voids       []sojourn.JobID

	full    bool // the rest was asked as well
	ranking []sojourn.JobID
	reasons []reason // by index in ranking
	whys    []string // by index in voids; "" where Void reports false
	state   []byte   // the snapshot
	err     error    // of AppendBinary
}

// A reason is the explanation of a job.
type reason struct {
	attrs []slog.Attr
	ok    bool
}

// none is no slot's ID.
const none sojourn.SlotID = 1<<32 - 1

// due reports whether the policy needs a Tick at t or earlier.
func (v *view) due(t sojourn.Time) bool { return v != nil && v.waits && v.wake <= t }

// dst holds the slices that the Append methods get and must leave alone.
type dst struct {
	preemptions []sojourn.Preemption
	ranking     []sojourn.JobID
	voids       []sojourn.JobID
	state       []byte
}

// something returns non-empty slices for the Append methods.
func something() dst {
	return dst{
		preemptions: []sojourn.Preemption{{Attempt: 1 << 30}},
		ranking:     []sojourn.JobID{1 << 40},
		voids:       []sojourn.JobID{1 << 41},
		state:       []byte("dst"),
	}
}

// view asks all optional interfaces.
func (s *subject) view(classes []sojourn.Class, full bool) *view {
	return s.viewAfter(dst{state: make([]byte, 0, s.size)}, classes, full)
}

// viewAfter is view with the slices to which the Append methods append; the view contains them.
// The order of the questions differs each time.
func (s *subject) viewAfter(dst dst, classes []sojourn.Class, full bool) *view {
	v := &view{full: full}
	questions := [...]func(){
		func() {
			if s.waker != nil {
				v.wake, v.waits = s.waker.NextWake()
			}
		},
		func() {
			if s.preemptor != nil {
				v.preemptions = s.preemptor.AppendPreemptions(dst.preemptions)
			}
		},
		func() { v.seeks = s.seek(classes) },
		func() {
			if s.promiser == nil {
				return
			}
			v.voids = s.promiser.AppendVoid(dst.voids)
			for _, id := range v.voids[min(len(dst.voids), len(v.voids)):] {
				if why, ok := s.promiser.Void(id); full && ok {
					v.whys = append(v.whys, why)
				} else if full {
					v.whys = append(v.whys, "")
				}
			}
		},
		func() {
			if full && s.explainer != nil {
				v.ranking = s.explainer.AppendRanking(dst.ranking)
				for _, id := range v.ranking[min(len(dst.ranking), len(v.ranking)):] {
					attrs, ok := s.explainer.Explain(id)
					v.reasons = append(v.reasons, reason{attrs, ok})
				}
			}
		},
		func() {
			if full && s.snapshotter != nil {
				v.state, v.err = s.snapshotter.AppendBinary(dst.state)
				s.size = max(s.size, len(v.state))
			}
		},
	}
	s.views++
	for i := range questions {
		k := (i + s.views) % len(questions)
		if s.views/len(questions)%2 == 1 {
			k = len(questions) - 1 - k
		}
		questions[k]()
	}
	return v
}

// seek asks Seek for each class.
func (s *subject) seek(classes []sojourn.Class) []sojourn.SlotID {
	if s.seeker == nil {
		return nil
	}
	seeks := make([]sojourn.SlotID, len(classes))
	for i, c := range classes {
		id, ok := s.seeker.Seek(c)
		if !ok {
			id = none
		}
		seeks[i] = id
	}
	return seeks
}

// differs says how v differs from want, or returns "". It compares the parts of full views if
// both are full.
func (v *view) differs(want *view) string {
	switch {
	case v.waits != want.waits || v.waits && v.wake != want.wake:
		return fmt.Sprintf("NextWake() = %v, %v, want %v, %v", v.wake, v.waits, want.wake, want.waits)
	case !slices.Equal(v.seeks, want.seeks):
		return fmt.Sprintf("Seek of each class = %d, want %d (%d: none)", v.seeks, want.seeks, none)
	case !slices.Equal(v.preemptions, want.preemptions):
		return fmt.Sprintf("AppendPreemptions(nil) = %v, want %v", v.preemptions, want.preemptions)
	case !slices.Equal(v.voids, want.voids):
		return fmt.Sprintf("AppendVoid(nil) = %d, want %d", v.voids, want.voids)
	case !v.full || !want.full:
		return ""
	case !slices.Equal(v.whys, want.whys):
		return fmt.Sprintf("Void of each of %d says %q, want %q", v.voids, v.whys, want.whys)
	case !slices.Equal(v.ranking, want.ranking):
		return fmt.Sprintf("AppendRanking(nil) = %d, want %d", v.ranking, want.ranking)
	case (v.err == nil) != (want.err == nil):
		return fmt.Sprintf("AppendBinary(nil) fails with %v, want %v", v.err, want.err)
	case !bytes.Equal(v.state, want.state):
		n := apart(v.state, want.state)
		return fmt.Sprintf("AppendBinary(nil) = %d bytes, which differ from byte %d on, %.50q, want %d bytes, %.50q",
			len(v.state), n, v.state[n:], len(want.state), want.state[n:])
	}
	for i, id := range v.ranking {
		got, want := &v.reasons[i], &want.reasons[i]
		if got.ok != want.ok || !slices.EqualFunc(got.attrs, want.attrs, sameAttr) {
			return fmt.Sprintf("Explain(%d) = %v, %v, want %v, %v", id, got.attrs, got.ok, want.attrs, want.ok)
		}
	}
	return ""
}

// sameAttr compares groups one by one. It compares values by text if slog would use ==, which
// can panic. NaN is the same as NaN, which == denies.
func sameAttr(a, b slog.Attr) bool {
	switch k := a.Value.Kind(); {
	case k == slog.KindGroup && b.Value.Kind() == k:
		return a.Key == b.Key && slices.EqualFunc(a.Value.Group(), b.Value.Group(), sameAttr)
	case k == slog.KindFloat64 && b.Value.Kind() == k && math.IsNaN(a.Value.Float64()):
		return a.Key == b.Key && math.IsNaN(b.Value.Float64())
	case k == slog.KindAny || k == slog.KindGroup || k == slog.KindLogValuer:
		return a.String() == b.String()
	}
	return a.Equal(b)
}

// panicked calls f. It returns the value and the place of a panic, or "".
func panicked(f func()) (what string) {
	defer func() {
		if r := recover(); r != nil {
			what = fmt.Sprintf("%v%s", r, origin())
		}
	}()
	f()
	return ""
}

// origin lists the functions between the panic being recovered from and panicked, one on each
// line.
func origin() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	var b strings.Builder
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			b.Reset()
		case strings.HasSuffix(f.Function, ".panicked") || !more:
			return b.String()
		case !strings.HasPrefix(f.Function, "runtime."):
			fmt.Fprintf(&b, "\n\tin %s (%s:%d)", f.Function, f.File, f.Line)
		}
	}
}
