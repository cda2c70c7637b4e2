package history

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// collect returns the entries before the first error, without their places.
func collect(entries iter.Seq2[Entry, error]) ([]Entry, error) {
	var list []Entry
	for e, err := range entries {
		if err != nil {
			return list, err
		}
		e.File, e.Line = "", 0
		list = append(list, e)
	}
	return list, nil
}

// write returns the history that a Writer makes of entries.
func write(t interface{ Fatalf(string, ...any) }, entries []Entry) string {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for _, e := range entries {
		switch e.Kind {
		case Header:
			w.Header(e.Name, e.Value)
		case Observe:
			w.Event(e.Event, e.Err)
		case Assign:
			w.now = e.At
			w.Assign(e.Slot, e.Assignment, e.OK)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatalf("write %+v: %v", entries, err)
	}
	return buf.String()
}

// dump shows entries with what they point to.
func dump(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%+v", e)
		if e.Event.Job != nil {
			fmt.Fprintf(&b, " job %+v", *e.Event.Job)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The values that every field is tried with besides random ones.
func number[T ~uint8 | ~uint16 | ~uint32 | ~uint64](t *rapid.T, label string) T {
	return T(rapid.OneOf(rapid.Just(uint64(0)), rapid.Just(uint64(math.MaxUint64)), rapid.Uint64Range(0, 9), rapid.Uint64()).Draw(t, label))
}

func duration(t *rapid.T, label string) time.Duration {
	return time.Duration(rapid.OneOf(
		rapid.Just(int64(0)), rapid.Just(int64(math.MaxInt64)), rapid.Just(int64(math.MinInt64)),
		rapid.Int64Range(-3, 3), rapid.Int64(),
		rapid.Map(rapid.Int64Range(-1e6, 1e6), func(ms int64) int64 { return ms * 1e6 }),
	).Draw(t, label))
}

func integer(t *rapid.T, label string) int64 {
	return rapid.OneOf(rapid.Int64Range(-2, 9), rapid.Int64(), rapid.Just(int64(math.MinInt64))).Draw(t, label)
}

func text(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.Just(""), rapid.StringMatching(`[a-zA-Z0-9_./-]{1,9}`), rapid.String(),
		rapid.StringMatching(`[ "#|!=\\\n\t,x@]{1,5}`),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	).Draw(t, label)
}

// some returns nil, an empty list, or one with runs.
func some[T any](t *rapid.T, label string, one func(*rapid.T, string) T) []T {
	if rapid.Bool().Draw(t, "no "+label) {
		return nil
	}
	list := []T{}
	for range rapid.IntRange(0, 3).Draw(t, label+" runs") {
		v := one(t, label)
		for range rapid.IntRange(1, 3).Draw(t, label+" run") {
			list = append(list, v)
		}
	}
	return list
}

func job(t *rapid.T) *sojourn.Job {
	if rapid.IntRange(0, 9).Draw(t, "nil") == 0 {
		return nil
	}
	j := &sojourn.Job{
		ID: number[sojourn.JobID](t, "id"), Name: text(t, "name"), Pool: text(t, "pool"),
		Weight:   rapid.OneOf(rapid.Just(0.0), rapid.Just(math.Inf(-1)), rapid.Float64(), rapid.Float64Range(0, 8)).Draw(t, "weight"),
		Priority: rapid.Int32().Draw(t, "priority"),
		Deadline: sojourn.Time(duration(t, "deadline")), Parallelism: number[uint32](t, "parallelism"),
		Release: sojourn.Time(duration(t, "release")), Sequence: text(t, "sequence"), Open: rapid.Bool().Draw(t, "open"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "phases") {
		nodes := some(t, "inputs", func(t *rapid.T, label string) []sojourn.NodeID {
			return some(t, label, number[sojourn.NodeID])
		})
		j.Phases = append(j.Phases, sojourn.Phase{
			Tasks: int(integer(t, "tasks")), Class: number[sojourn.Class](t, "class"),
			Estimate: duration(t, "estimate"), Estimates: some(t, "estimates", duration),
			After: int(integer(t, "after")), Needs: some(t, "needs", func(t *rapid.T, label string) int { return int(integer(t, label)) }),
			Held: rapid.Bool().Draw(t, "held"), Inputs: sojourn.MakeInputs(nodes),
			Bytes: some(t, "bytes", integer), Delays: some(t, "delays", duration),
		})
	}
	return j
}

// event returns an event with values in the fields that its kind uses, right or
// wrong.
func event(t *rapid.T) sojourn.Event {
	ev := sojourn.Event{At: sojourn.Time(duration(t, "at"))}
	ev.Kind = sojourn.EventKind(rapid.IntRange(0, int(sojourn.TaskPinned)+2).Draw(t, "kind"))
	task := func() sojourn.TaskID {
		return sojourn.TaskID{Job: number[sojourn.JobID](t, "job"), Index: number[uint32](t, "index"), Phase: number[uint16](t, "phase")}
	}
	switch ev.Kind {
	case sojourn.SlotAdded:
		ev.Slot = sojourn.Slot{
			ID: number[sojourn.SlotID](t, "slot"), Node: number[sojourn.NodeID](t, "node"),
			Rack: number[sojourn.RackID](t, "rack"), Class: number[sojourn.Class](t, "class"), Speed: number[uint16](t, "speed"),
		}
	case sojourn.SlotRemoved:
		ev.Slot.ID = number[sojourn.SlotID](t, "slot")
	case sojourn.NodeDown, sojourn.NodeUp:
		ev.Slot.Node, ev.Slot.Rack = number[sojourn.NodeID](t, "node"), number[sojourn.RackID](t, "rack")
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		if ev.Job = job(t); ev.Job != nil && ev.Kind == sojourn.JobAdopted {
			ev.Service = duration(t, "age")
		}
	case sojourn.JobCancelled:
		if rapid.Bool().Draw(t, "job") {
			ev.Job = &sojourn.Job{ID: number[sojourn.JobID](t, "id")}
		}
	case sojourn.TaskHeld, sojourn.TaskReady:
		ev.Task, ev.Attempt = task(), number[uint32](t, "attempt")
	case sojourn.TaskDone:
		ev.Task = task()
	case sojourn.OutputLost:
		ev.Task, ev.Attempt = task(), number[uint32](t, "attempt")
	case sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned:
		ev.Task, ev.Attempt, ev.Slot.ID = task(), number[uint32](t, "attempt"), number[sojourn.SlotID](t, "slot")
		if ev.Kind != sojourn.TaskRefused && ev.Kind != sojourn.TaskPinned {
			ev.Service = duration(t, "service")
		}
		if ev.Kind == sojourn.TaskProgress {
			ev.Progress = number[uint16](t, "progress")
		}
		if ev.Kind == sojourn.TaskFailed {
			ev.Cause = number[sojourn.Cause](t, "cause")
		}
		if ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskFailed {
			ev.Cost = number[uint64](t, "cost")
		}
	}
	return ev
}

// answer returns an answer to an event, as it is read back.
func answer(t *rapid.T) error {
	switch n := rapid.IntRange(-3, len(sentinels)-1).Draw(t, "error"); n {
	case -3:
		return nil
	case -2:
		return foreignError(text(t, "error text"))
	case -1:
		return &sojourn.RejectedError{
			Job: number[sojourn.JobID](t, "rejected"), Misses: number[sojourn.JobID](t, "misses"), By: duration(t, "by"),
			Offer: sojourn.Time(duration(t, "offer")), Exact: rapid.Bool().Draw(t, "exact"),
		}
	default:
		return sentinels[n].err
	}
}

func entries(t *rapid.T) []Entry {
	var list []Entry
	for i := range rapid.IntRange(0, 3).Draw(t, "headers") {
		value := rapid.StringMatching(`([a-z"#=:@] ?)*é?`).Draw(t, "value")
		list = append(list, Entry{Kind: Header, Name: fmt.Sprintf("Name-%d", i), Value: trimBlanks(value)})
	}
	for range rapid.IntRange(0, 20).Draw(t, "calls") {
		if rapid.Bool().Draw(t, "observe") {
			list = append(list, Entry{Kind: Observe, Event: event(t), Err: answer(t)})
			continue
		}
		e := Entry{Kind: Assign, At: sojourn.Time(duration(t, "at")), Slot: number[sojourn.SlotID](t, "slot")}
		if e.OK = rapid.Bool().Draw(t, "ok"); e.OK {
			e.Assignment = sojourn.Assignment{
				Task:    sojourn.TaskID{Job: number[sojourn.JobID](t, "job"), Index: number[uint32](t, "index"), Phase: number[uint16](t, "phase")},
				Attempt: number[uint32](t, "attempt"), Slot: number[sojourn.SlotID](t, "answered slot"),
				Source: number[sojourn.NodeID](t, "source"), Locality: number[sojourn.Locality](t, "locality"),
			}
		}
		list = append(list, e)
	}
	return list
}

// A written history reads as it was, and a read one writes the same bytes.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := entries(t)
		text := write(t, want)
		got, err := collect(Read(strings.NewReader(text), ""))
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		if !equal(got, want) {
			t.Fatalf("%s\nreads as\n%s\nwant\n%s", text, dump(got), dump(want))
		}
		if again := write(t, got); again != text {
			t.Fatalf("%s\nread and written becomes\n%s", text, again)
		}
	})
}

// equal compares entries; a weight that is not a number equals itself.
func equal(a, b []Entry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if p, q := x.Event.Job, y.Event.Job; p != nil && q != nil && math.Float64bits(p.Weight) == math.Float64bits(q.Weight) ||
			p != nil && q != nil && math.IsNaN(p.Weight) && math.IsNaN(q.Weight) {
			jx, jy := *p, *q
			jx.Weight, jy.Weight = 0, 0
			x.Event.Job, y.Event.Job = &jx, &jy
		}
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

// Policies return wrapped errors; the Writer writes the error inside.
func TestWrappedErrors(t *testing.T) {
	rejected := &sojourn.RejectedError{Job: 7, Misses: 3, By: 3 * time.Second, Offer: sojourn.Time(time.Minute), Exact: true}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&sojourn.EventError{Err: fmt.Errorf("%w: phase 0: no", sojourn.ErrInvalidJob)}, "@0s Tick !ErrInvalidJob"},
		{&sojourn.EventError{Err: rejected}, "@0s Tick !ErrRejected job=7 misses=3 by=3s offer=60s exact=true"},
		{&sojourn.EventError{Err: sojourn.ErrRejected}, "@0s Tick !ErrRejected"},
		{errors.New("out of paper"), `@0s Tick !"out of paper"`},
	} {
		if got := (Entry{Kind: Observe, Event: sojourn.Event{Kind: sojourn.Tick}, Err: tc.err}).String(); got != tc.want {
			t.Errorf("%v: got %q, want %q", tc.err, got, tc.want)
		}
	}
}

// The table of errors is that of package sojourn, in its order.
func TestSentinels(t *testing.T) {
	src, err := os.ReadFile("../errors.go")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range regexp.MustCompile(`(?m)^\t(Err\w+) += errors\.New`).FindAllSubmatch(src, -1) {
		want = append(want, string(m[1]))
	}
	for _, s := range sentinels {
		got = append(got, s.name)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("errors of this package %v\nwant those of package sojourn %v", got, want)
	}
	for v := range 256 {
		named := slices.ContainsFunc(causes, func(c constant[sojourn.Cause]) bool { return c.value == sojourn.Cause(v) })
		if sojourn.Cause(v).Valid() != named {
			t.Errorf("%v: has a name here: %v", sojourn.Cause(v), named)
		}
		named = slices.ContainsFunc(localities, func(c constant[sojourn.Locality]) bool { return c.value == sojourn.Locality(v) })
		if strings.HasPrefix(sojourn.Locality(v).String(), "Locality(") == named {
			t.Errorf("%v: has a name here: %v", sojourn.Locality(v), named)
		}
	}
}

func TestDurations(t *testing.T) {
	for _, tc := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"}, {1, "1ns"}, {999_999, "999999ns"}, {time.Millisecond, "0.001s"}, {-1, "-1ns"},
		{100 * time.Second, "100s"}, {-1500 * time.Millisecond, "-1.5s"}, {1_000_000_001, "1.000000001s"},
		{math.MaxInt64, "9223372036.854775807s"}, {math.MinInt64, "-9223372036.854775808s"},
	} {
		if got := string(appendDuration(nil, tc.d)); got != tc.want {
			t.Errorf("%d ns: got %q, want %q", tc.d, got, tc.want)
		}
		p := newParser(tc.want)
		if got := p.value(0).duration(); got != tc.d || p.fault != nil {
			t.Errorf("%q: got %d ns, fault %v, want %d", tc.want, got, p.fault, tc.d)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"policy: fifo\n# a comment\n@0s SlotAdded 0 node=1 rack=2 class=1\n@0s Assign 0 -> 1/0/0#1 source=3 locality=node\n",
		`@0s JobArrived 1 name="a b" pool=x weight=0.5 deadline=1m parallelism=3 | 3x10s inputs=2x1+2,- bytes=1,2x3 | 2 after=none class=1 delays= estimates=1ns,2s` + "\n",
		"@1h TaskFailed 1/0/0#2 slot=3 cause=slot-lost service=5ns !ErrStaleAttempt\r\n@0s EventKind(77) !ErrUnknownKind\n",
		"@-1s JobRevised nil !ErrRejected job=1 misses=2 by=1s offer=2s exact=true\n@0s JobCancelled 1 !\"x\\\"y\" # so\n",
	} {
		f.Add([]byte(firstLine + "\n" + seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := collect(Read(bytes.NewReader(data), ""))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 || len(e.Reason) == 0 || len(e.Reason) > 300 {
				t.Fatalf("%q: error %v (%T), want an *Error with a place", data, err, err)
			}
			if text := strings.Split(string(data), "\n"); e.Line > len(text) || e.Column > len(text[e.Line-1])+1 {
				if !strings.HasPrefix(string(data), "\x1f\x8b") {
					t.Fatalf("%q: %v is not inside the input", data, err)
				}
			}
		}
		text := write(t, got) // what came before the error
		again, err := collect(Read(strings.NewReader(text), ""))
		if err != nil || !equal(again, got) {
			t.Fatalf("%q\nreads as\n%s\nwrites as\n%s\nreads as\n%s\nerror %v", data, dump(got), text, dump(again), err)
		}
		if more := write(t, again); more != text {
			t.Fatalf("%q is not canonical: becomes %q", text, more)
		}
		for e, err := range Check(Read(bytes.NewReader(data), "")) {
			if _, ok := err.(*Error); err != nil && !ok {
				t.Fatalf("%q: Check: %v after %v", data, err, e)
			}
		}
	})
}
