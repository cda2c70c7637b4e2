package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func mustOpen(tb testing.TB, m *memory, p sojourn.Policy, o Options) *Journal {
	tb.Helper()
	s, err := openFiles(m, "dir")
	if err != nil {
		tb.Fatal(err)
	}
	j, err := Open(s, p, o)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

// A journal around a policy keeps the contract. The law of snapshots is that of the account; see TestUnmarshal.
func TestConformance(t *testing.T) {
	histories.Set(t, histories.Count(t)/4)
	sojourntest.Run(t, func() sojourn.Policy { return calls{mustOpen(t, newMemory(), newFIFO(t), Options{})} }, sojourntest.Options{
		KeepsHistory: true, // the store of the test keeps the whole journal in memory
	})
}

// calls hides all of a journal but its calls.
type calls struct{ j *Journal }

func (c calls) Observe(ev sojourn.Event) error                      { return c.j.Observe(ev) }
func (c calls) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) { return c.j.Assign(id) }
func (c calls) Supports() sojourn.Features                          { return sojourn.Supports(c.j) }

// A journal that is restored from a snapshot of another one goes on from there, also when it is opened again.
func TestUnmarshal(t *testing.T) {
	want := states(t)
	was := mustOpen(t, newMemory(), newFIFO(t), Options{})
	for _, call := range story()[:9] {
		if err := call(was); err != nil {
			t.Fatal(err)
		}
	}
	data, err := was.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newMemory()
	j := mustOpen(t, m, newFIFO(t), Options{})
	if err := j.Observe(sojourn.Event{Kind: sojourn.Tick, At: 1 << 50}); err != nil { // time goes back
		t.Fatal(err)
	}
	if err := j.UnmarshalBinary(data[1:]); err == nil || j.Account().Now() != 1<<50 {
		t.Errorf("UnmarshalBinary of damaged bytes: %v, and it is %v", err, j.Account().Now())
	}
	if err := j.Snapshot(); err != nil { // of what is about to be replaced; it is not written yet
		t.Fatal(err)
	}
	if err := j.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if j.MaxJob() != was.MaxJob() {
		t.Errorf("MaxJob() = %d, want %d", j.MaxJob(), was.MaxJob())
	}
	for _, call := range story()[9:14] {
		if err := call(j); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	j = mustOpen(t, m, newFIFO(t), Options{})
	if got := facts(slices.Collect(j.Account().Facts())); got != want[14] || j.Restored().Rebuilt != nil {
		t.Errorf("the facts are\n%s\nwant\n%s", got, want[14])
	}
}

// A policy that is opened again and again from its journal keeps the contract, and decides as sojourntest says. The journal
// has snapshots at some calls, and at some the policy is made anew by its facts.
func TestConformanceReopened(t *testing.T) {
	for name, o := range map[string]Options{
		"kept":    {Keep: true},
		"rebuilt": {Keep: true, Rebuild: true},
		"another": {SnapshotBytes: 100, inline: true, Another: func() (sojourn.Policy, error) { return newFIFO(t), nil }},
	} {
		t.Run(name, func(t *testing.T) {
			histories.Set(t, max(histories.Count(t)/45, 2))
			opened := 0
			sojourntest.Run(t, func() sojourn.Policy {
				m := newMemory()
				first := o
				first.Policy, first.Rebuild = "fifo", false
				return &reopened{t: t, m: m, opened: &opened, o: o, j: mustOpen(t, m, newFIFO(t), first)}
			}, sojourntest.Options{KeepsHistory: o.Keep}) // the folder is in memory
			if opened < 50 {
				t.Errorf("%d journals were opened again", opened)
			}
		})
	}
}

// A policy counts on above the largest number of an attempt that an event may tell. When the task has ended, the
// facts no longer have such a number. So a policy can be told them, and the decision before is no obstacle.
func TestRebuildAfterHugeAttempt(t *testing.T) {
	m, task := newMemory(), sojourn.TaskID{Job: 1}
	j := mustOpen(t, m, newFIFO(t), Options{})
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}},
		{Kind: sojourn.TaskAdopted, Task: task, Attempt: 1 << 31},
		{Kind: sojourn.TaskFailed, Task: task, Attempt: 1 << 31},
	} {
		if err := j.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	a, ok := j.Assign(0)
	if !ok || a.Attempt != 1<<31+1 {
		t.Fatalf("Assign(0) = %+v, %v", a, ok)
	}
	if err := j.Observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: task, Attempt: a.Attempt}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, m, newFIFO(t), Options{Rebuild: true})
	if j.Account().Live() != 0 || j.Restored().Rebuilt == nil {
		t.Errorf("%d jobs, %+v", j.Account().Live(), j.Restored())
	}
}

type reopened struct {
	t      *testing.T
	m      *memory
	j      *Journal
	calls  int
	opened *int
	o      Options
}

func (r *reopened) Supports() sojourn.Features { return sojourn.Supports(r.j) }

func (r *reopened) Observe(ev sojourn.Event) error {
	err := r.j.Observe(ev)
	r.step()
	return err
}

func (r *reopened) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := r.j.Assign(id)
	r.step()
	return a, ok
}

func (r *reopened) step() {
	r.calls++
	switch {
	case r.calls > 400: // allocations are measured
		return
	case r.calls%5 == 3:
		if err := r.j.Snapshot(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			r.t.Fatal(err)
		}
	case r.calls%7 == 6:
		was := slices.Collect(r.j.Account().Facts())
		maxJob := r.j.MaxJob()
		if err := r.j.Close(); err != nil {
			r.t.Fatal(err)
		}
		big := slices.ContainsFunc(was, func(ev sojourn.Event) bool { return ev.Attempt > 1<<31 })
		o := r.o
		o.Policy, o.Rebuild = "fifo", o.Rebuild && !big
		r.j = mustOpen(r.t, r.m, newFIFO(r.t), o)
		if now := slices.Collect(r.j.Account().Facts()); facts(now) != facts(was) || r.j.MaxJob() != maxJob {
			r.t.Fatalf("the facts were\n%s\nand are\n%s", facts(was), facts(now))
		}
		if got := r.j.Restored(); (got.Rebuilt != nil) != o.Rebuild || got.Cut > 0 {
			r.t.Fatalf("Restored() = %+v", got)
		}
		*r.opened++
	}
}

// facts returns events as lines of a history.
func facts(list []sojourn.Event) string {
	var b strings.Builder
	for _, ev := range list {
		fmt.Fprintln(&b, history.Entry{Kind: history.Observe, Event: ev})
	}
	return b.String()
}

// A story is a history of a few jobs with everything that a journal has to keep, as calls. Some calls are those of the journal.
func story() []func(j *Journal) error {
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) func(j *Journal) error {
		now += 1000
		ev.At = now
		return func(j *Journal) error { return j.Observe(ev) }
	}
	assign := func(id sojourn.SlotID) func(j *Journal) error {
		return func(j *Journal) error {
			if _, ok := j.Assign(id); !ok {
				return errors.New("nothing was assigned")
			}
			return nil
		}
	}
	task := func(j sojourn.JobID, i uint32) sojourn.TaskID { return sojourn.TaskID{Job: j, Index: i} }
	slot := func(id sojourn.SlotID) sojourn.Slot { return sojourn.Slot{ID: id} }
	wait := func(j *Journal) error { return j.Flush() }
	return []func(j *Journal) error{
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 2, Rack: 3}}),
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2, Node: 2}}),
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 7, Name: "a", Phases: []sojourn.Phase{{Tasks: 3}, {Tasks: 1}}}}),
		wait,
		assign(1),
		assign(2),
		wait,
		observe(sojourn.Event{Kind: sojourn.TaskFailed, Task: task(7, 0), Attempt: 1, Slot: slot(1), Service: 5, Cost: 1<<64 - 1}),
		observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: task(7, 2)}),
		assign(1),
		func(j *Journal) error { return j.Snapshot() },
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: task(7, 1), Attempt: 1, Slot: slot(2), Service: 5, Cost: 77}),
		wait,
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 9, Phases: []sojourn.Phase{{Tasks: 2, Estimate: time.Hour}}}}),
		func(j *Journal) error { return j.Write() },
		assign(2),
		wait,
		observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 9}}),
		observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: slot(2)}),
		observe(sojourn.Event{Kind: sojourn.TaskReady, Task: task(7, 2)}),
	}
}

// tell makes the calls of the story until one fails. It returns how many were made, how many were made before the last
// Wait that returned nil, and the error.
func tell(j *Journal, calls []func(j *Journal) error) (made, safe int, err error) {
	for _, call := range calls {
		was := stateOf(j)
		if err := call(j); err != nil && !goesOn(j, err) {
			if now := stateOf(j); now != was {
				return made, safe, fmt.Errorf("the policy changed although the call failed: %w", errChanged)
			}
			return made, safe, err
		}
		made++
		if j.opts.Another != nil { // segments are to follow one another
			if err := j.Flush(); err != nil && !goesOn(j, err) {
				return made, safe, err
			}
		}
		j.log.mu.Lock()
		if j.log.durable == j.log.end {
			safe = made
		}
		j.log.mu.Unlock()
	}
	return made, safe, nil
}

// goesOn reports whether a journal with Retry goes on after an error.
func goesOn(j *Journal, err error) bool {
	var s interface{ Stalled() bool }
	return errors.As(err, &s) && s.Stalled() && !errors.Is(err, errPower)
}

var errChanged = errors.New("half of a call")

// stateOf returns what a policy was told and decided, as text.
func stateOf(j *Journal) string {
	b, err := j.AppendBinary(nil)
	if err != nil {
		return err.Error()
	}
	return facts(slices.Collect(j.Account().Facts())) + string(b[len(b)-4:])
}

// states returns the facts after each number of calls, of a journal that nothing befalls.
func states(t *testing.T) []string {
	j := mustOpen(t, newMemory(), newFIFO(t), Options{})
	list := []string{facts(slices.Collect(j.Account().Facts()))}
	for i, call := range story() {
		if err := call(j); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		list = append(list, facts(slices.Collect(j.Account().Facts())))
	}
	return list
}

// checkReopened opens a journal, and reports whether it has the state after at least safe calls, and at most made. It goes on
// with the rest of the story, and must end where the story ends.
func checkReopened(t *testing.T, m *memory, want []string, safe, made int, what string) (cut int64) {
	t.Helper()
	m.fail = 0
	m.locked = false
	s, err := openFiles(m, "dir")
	if err != nil {
		t.Fatal(err)
	}
	j, err := Open(s, newFIFO(t), Options{})
	if err != nil {
		t.Fatalf("%s: Open: %v", what, err)
	}
	got := facts(slices.Collect(j.Account().Facts()))
	for n := made; n >= safe; n-- {
		if want[n] != got {
			continue
		}
		for i, call := range story()[n:] {
			if err := call(j); err != nil {
				t.Fatalf("%s: call %d of the story: %v", what, n+i, err)
			}
		}
		if end := facts(slices.Collect(j.Account().Facts())); end != want[len(want)-1] {
			t.Fatalf("%s: the story ends with\n%s\nwant\n%s", what, end, want[len(want)-1])
		}
		if j.MaxJob() != 9 {
			t.Fatalf("%s: MaxJob() = %d, want 9", what, j.MaxJob())
		}
		return j.Restored().Cut
	}
	t.Fatalf("%s: after a wait for %d calls of %d, the facts are\n%s", what, safe, made, got)
	return 0
}

// The power fails at every call of the file system, and leaves every part of what was not synced: each prefix, the rest gone or
// zero, names old or new. Nothing that was waited for is lost, and nothing is there that was not told.
func TestPowerLoss(t *testing.T) {
	want := states(t)
	seen := map[string]bool{} // what was left, and what had to be there
	another := func() (sojourn.Policy, error) { return newFIFO(t), nil }
	for name, o := range map[string]Options{"keep": {Keep: true}, "zero": {}, "another": {SnapshotBytes: 30, Another: another, inline: true}} {
		for fail := 1; ; fail++ {
			m := newMemory()
			s, _ := openFiles(m, "dir")
			m.fail = fail
			made, safe := 0, 0
			j, err := Open(s, newFIFO(t), o)
			if err == nil {
				if made, safe, err = tell(j, story()); err == nil {
					err = j.Flush()
				}
			}
			if errors.Is(err, errChanged) {
				t.Fatalf("call %d of the file system fails: %v", fail, err)
			}
			if err != nil && !errors.Is(err, errPower) {
				t.Fatalf("call %d of the file system fails: %v, want the error of the file system", fail, err)
			}
			for part := 0; part <= m.unsynced(); part++ {
				for _, variant := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
					what := fmt.Sprintf("%s, call %d fails, %d bytes left, zeros %v, names %v", name, fail, part, variant[0], variant[1])
					left := m.crash(part, variant[0], variant[1])
					if id := fmt.Sprint(left, safe, made); !seen[id] {
						seen[id] = true
						checkReopened(t, left, want, safe, made, what)
					}
				}
			}
			if err == nil {
				break
			}
		}
	}
	if len(seen) < 1500 {
		t.Errorf("%d crashes are too few", len(seen))
	}
}

// The store fails at every call in turn, and nothing is lost of what it did before. The journal takes nothing more and leaves
// the policy as it is.
func TestStoreFails(t *testing.T) {
	want := states(t)
	for fail := 1; ; fail++ {
		m := newMemory()
		s, _ := openFiles(m, "dir")
		m.fail = fail
		j, err := Open(s, newFIFO(t), Options{})
		if err != nil {
			checkReopened(t, m, want, 0, 0, fmt.Sprint("Open fails at call ", fail))
			continue
		}
		made, safe, err := tell(j, story())
		if err == nil {
			err = j.Flush()
		}
		if err == nil {
			break
		}
		if errors.Is(err, errChanged) {
			t.Fatal(err)
		}
		if !errors.Is(err, errPower) || !strings.Contains(err.Error(), "open the journal again") {
			t.Fatalf("call %d fails: %v", fail, err)
		}
		was := stateOf(j)
		if err := j.Observe(sojourn.Event{Kind: sojourn.Tick, At: 1 << 40}); !errors.Is(err, errPower) {
			t.Fatalf("after a failure Observe returns %v", err)
		}
		if _, ok := j.Assign(1); ok || stateOf(j) != was {
			t.Fatal("after a failure a slot is assigned, or the policy changes")
		}
		if err := j.Flush(); safe < made && !errors.Is(err, errPower) {
			t.Fatalf("after a failure Flush returns %v", err)
		}
		checkReopened(t, m, want, safe, made, fmt.Sprint("call ", fail, " fails"))
	}
}

// Each byte of a journal that was closed is flipped: Open reports the place, or the byte belongs to what Close wrote last. No
// record is skipped in silence.
func TestFlippedBytes(t *testing.T) {
	m := newMemory()
	j := mustOpen(t, m, newFIFO(t), Options{})
	if _, _, err := tell(j, story()); err != nil {
		t.Fatal(err)
	}
	want := facts(slices.Collect(j.Account().Facts()))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	name := base(2)
	data := m.names[name].data
	last := lastMark(t, m, 2)
	for i := range data {
		for _, mask := range []byte{1, 0x80, 0xff} {
			data[i] ^= mask
			s, _ := openFiles(m.crash(0, false, true), "dir")
			j, err := Open(s, newFIFO(t), Options{})
			var bad *DamageError
			switch {
			case err == nil && i < last:
				t.Fatalf("byte %d of %d is flipped, and nobody notices", i, len(data))
			case err == nil:
				if got := facts(slices.Collect(j.Account().Facts())); got != want || j.Restored().Cut != int64(len(data)-last) {
					t.Fatalf("byte %d of the last mark is flipped: %+v, and the facts are\n%s", i, j.Restored(), got)
				}
			case errors.As(err, &bad):
				if bad.Offset > int64(i) || !strings.Contains(err.Error(), fmt.Sprintf("%s: byte %d", name, bad.Offset)) {
					t.Fatalf("byte %d is flipped: %v", i, err)
				}
			case !errors.Is(err, ErrVersion):
				t.Fatalf("byte %d is flipped: %v", i, err)
			}
			data[i] ^= mask
		}
	}
}

// lastMark returns where the last record of a segment begins.
func lastMark(t *testing.T, m *memory, number uint64) int {
	s := &files{folder: m}
	g, err := openSegment(s, number)
	if err != nil {
		t.Fatal(err)
	}
	last := g.at
	for g.at < int64(len(g.data)) {
		_, size := g.record(g.at)
		last = g.at
		g.at += size
	}
	return int(last)
}

// Random bytes, and records with a right checksum that make no sense, are an error or the end, and no panic.
func TestForgedRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	was := newMemory()
	j := mustOpen(t, was, newFIFO(t), Options{})
	for _, call := range story()[:9] {
		if err := call(j); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	for range 1000 {
		m := was.crash(0, false, true)
		c := m.names[base(1)]
		e := encoder{buf: c.data}
		for range 1 + rng.IntN(3) {
			at := e.begin(byte(1 + rng.IntN(70)))
			for range rng.IntN(9) {
				e.buf = append(e.buf, byte(rng.IntN(8)))
			}
			e.end(at)
		}
		c.data = e.buf
		s, _ := openFiles(m, "dir")
		if j, err := Open(s, newFIFO(t), Options{Rebuild: rng.IntN(2) == 0}); err == nil {
			j.Flush()
		} else if !final(err) && !errors.Is(err, ErrMissing) {
			t.Fatalf("an error without a place: %v", err)
		}
	}
}

// A head with any byte changed, truncated or not, and a right checksum is read or refused, and no panic.
func TestForgedHead(t *testing.T) {
	was := newMemory()
	mustOpen(t, was, newFIFO(t), Options{}).Close()
	data := was.names[base(1)].data
	g, refused := &segment{data: data, at: int64(len(firstLine))}, 0
	_, size := g.record(g.at)
	head := data[g.at : g.at+size]
	const body = room + sumSize + 1 // where what follows the kind of the record begins
	for at := body; at < len(head); at++ {
		for value := range 256 {
			for end := at + 1; end <= len(head); end++ {
				forged := append(slices.Clone(data[:g.at]), head[:end]...)
				forged[int(g.at)+at] = byte(value)
				forged[g.at] = byte(end - room - sumSize)
				forged = append(forged, data[g.at+size:]...)
				if (&segment{data: forged, at: g.at}).seal() == 0 {
					t.Fatalf("%d bytes of a head are no record", end)
				}
				m := newMemory()
				m.names[base(1)] = &content{data: forged}
				s, _ := openFiles(m, "dir")
				if j, err := Open(s, newFIFO(t), Options{}); err == nil {
					j.Close()
				} else if refused++; !final(err) {
					t.Fatalf("byte %d is %d: an error without a place: %v", at, value, err)
				}
			}
		}
	}
	if refused == 0 {
		t.Fatal("no forgery was refused")
	}
}

// Errors say what to do.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFiles(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("a second OpenFiles: %v, want ErrLocked", err)
	}
	j, err := Open(s, newFIFO(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Observe(sojourn.Event{Kind: sojourn.Tick}); !errors.Is(err, ErrClosed) {
		t.Errorf("Observe of a closed journal: %v, want ErrClosed", err)
	}
	if s, err = OpenFiles(dir); err != nil {
		t.Errorf("after Close: %v", err)
	}
	s.Close()
	if s, err = ReadFiles(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s, newFIFO(t), Options{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Open of a journal that was opened for reading: %v", err)
	}
	for what, err := range map[string]error{
		"Create": s.Create(2, nil), "Append": s.Append(1, []byte("x")), "Remove": s.Remove(1),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s of a store that was opened for reading: %v, want ErrReadOnly", what, err)
		}
	}

	m := newMemory()
	m.names[base(1)] = &content{data: []byte("sojourn journal 2\nwhatever")}
	s, _ = openFiles(m, "dir")
	if _, err := Open(s, newFIFO(t), Options{}); !errors.Is(err, ErrVersion) {
		t.Errorf("a journal of a later version: %v, want ErrVersion", err)
	}

	m = newMemory()
	j = mustOpen(t, m, newFIFO(t), Options{Keep: true})
	if _, _, err := tell(j, story()); err != nil {
		t.Fatal(err)
	}
	j.Close()
	delete(m.names, base(2))
	s, _ = openFiles(m, "dir")
	if _, err := Open(s, newFIFO(t), Options{Keep: true}); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), base(2)) {
		t.Errorf("without the last segment: %v, want ErrMissing and %s", err, base(2))
	}
}

// A policy of another kind takes over, and the next Open restores it. Without snapshots, a policy that decides otherwise is
// refused, unless it is to be rebuilt.
func TestAnotherPolicy(t *testing.T) {
	m := newMemory()
	j := mustOpen(t, m, newFIFO(t), Options{})
	if _, _, err := tell(j, story()); err != nil {
		t.Fatal(err)
	}
	was := facts(slices.Collect(j.Account().Facts()))
	j.Close()
	for i, rebuilt := range []bool{true, false} {
		j = mustOpen(t, m, other{newFIFO(t)}, Options{})
		if got := facts(slices.Collect(j.Account().Facts())); got != was || (j.Restored().Rebuilt != nil) != rebuilt {
			t.Fatalf("open %d under another policy: %+v, and the facts are\n%s\nwant\n%s", i, j.Restored(), got, was)
		}
		j.Close()
	}

	m = newMemory()
	j = mustOpen(t, m, newFIFO(t), Options{})
	for _, call := range story()[:5] { // the last one assigns
		if err := call(j); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	s, _ := openFiles(m, "dir")
	if _, err := Open(s, bare{backwards{newFIFO(t)}}, Options{}); !errors.Is(err, ErrDiffers) {
		t.Errorf("a policy that decides otherwise in the last record: %v, want ErrDiffers", err)
	}
	s.Close()

	m = newMemory()
	j = mustOpen(t, m, bare{newFIFO(t)}, Options{})
	if err := j.Snapshot(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Snapshot of a policy that cannot be saved: %v", err)
	}
	for _, call := range append(append([]func(*Journal) error{}, story()[:10]...), story()[11:]...) {
		if err := call(j); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	j = mustOpen(t, m, bare{newFIFO(t)}, Options{})
	if j.Restored().Rebuilt != nil {
		t.Errorf("a policy without snapshots is asked again: %+v", j.Restored())
	}
	j.Close()
	s, _ = openFiles(m, "dir")
	if _, err := Open(s, bare{backwards{newFIFO(t)}}, Options{}); !errors.Is(err, ErrDiffers) {
		t.Errorf("a policy that decides otherwise, and cannot be saved: %v, want ErrDiffers", err)
	}
	s.Close()
	j = mustOpen(t, m, bare{backwards{newFIFO(t)}}, Options{Rebuild: true})
	j.Close()
	if j = mustOpen(t, m, bare{backwards{newFIFO(t)}}, Options{}); j.Restored().Rebuilt == nil {
		t.Errorf("facts alone rebuild a policy: %+v", j.Restored())
	}
}

// other is in order, but its snapshots are of another policy.
type other struct{ *inOrder }

func (o other) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, "other"...)
	return o.inOrder.AppendBinary(dst)
}

func (o other) UnmarshalBinary(data []byte) error {
	rest, ok := strings.CutPrefix(string(data), "other")
	if !ok {
		return sojourn.ErrForeignSnapshot
	}
	return o.inOrder.UnmarshalBinary([]byte(rest))
}

// bare has no snapshots.
type bare struct{ sojourn.Policy }

func (b bare) Supports() sojourn.Features {
	if s, ok := b.Policy.(sojourn.Supporter); ok {
		return s.Supports()
	}
	return sojourn.FeatureAttempts
}

// backwards never starts anything.
type backwards struct{ sojourn.Policy }

func (backwards) Assign(sojourn.SlotID) (sojourn.Assignment, bool) {
	return sojourn.Assignment{}, false
}

// Time goes on from the epoch that the journal keeps, and never back.
func TestTime(t *testing.T) {
	m := newMemory()
	epoch := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
	j := mustOpen(t, m, newFIFO(t), Options{Epoch: epoch})
	at := j.Time(epoch.Add(time.Hour))
	if err := j.Observe(sojourn.Event{Kind: sojourn.Tick, At: at}); err != nil || at != sojourn.Time(time.Hour) {
		t.Fatal(at, err)
	}
	j.Close()
	j = mustOpen(t, m, newFIFO(t), Options{Epoch: epoch.Add(time.Minute)})
	if !j.Epoch().Equal(epoch) {
		t.Errorf("Epoch() = %v, want %v", j.Epoch(), epoch)
	}
	for wall, want := range map[time.Duration]time.Duration{time.Minute: time.Hour, -time.Hour: time.Hour, 2 * time.Hour: 2 * time.Hour} {
		if got := j.Time(epoch.Add(wall)); got != sojourn.Time(want) {
			t.Errorf("%v after the epoch it is %v, want %v", wall, got, want)
		}
	}
}

// A kept journal is a history that the policy answers alike.
func TestHistory(t *testing.T) {
	m := newMemory()
	j := mustOpen(t, m, newFIFO(t), Options{Keep: true, Policy: "fifo"})
	if _, _, err := tell(j, story()); err != nil {
		t.Fatal(err)
	}
	j.Close()
	s := &files{folder: m, dir: "dir"}
	n, costs := 0, []uint64{}
	err := history.Replay(newFIFO(t), history.Check(func(yield func(history.Entry, error) bool) {
		for e, err := range History(s) {
			if e.Event.Cost != 0 {
				costs = append(costs, e.Event.Cost)
			}
			if n++; !yield(e, err) {
				return
			}
		}
	}))
	if want := len(story()) - 6 + 1; err != nil || n != want {
		t.Errorf("the journal has %d entries, want %d; %v", n, want, err)
	}
	if !slices.Equal(costs, []uint64{1<<64 - 1, 77}) {
		t.Errorf("ends cost %d, want 2^64-1 and 77", costs)
	}
	var list []Segment
	for i, err := range Inspect(s) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, i)
	}
	if len(list) != 2 || list[0].Events != 5 || list[0].Decisions != 3 || list[1].Events != 5 || list[1].Decisions != 1 ||
		list[1].Snapshot == 0 || list[1].MaxJob != 9 || list[0].Policy != "fifo" {
		t.Errorf("Inspect: %+v", list)
	}
}

// The bytes of each kind of record stay: other versions read them.
func TestFormat(t *testing.T) {
	e := encoder{}
	e.head(&head{segment: 3, epoch: -1, maxJob: 5, name: "p"})
	e.numbers(kindBegin, 0)
	e.event(&sojourn.Event{Kind: sojourn.SlotAdded, At: 300, Slot: sojourn.Slot{ID: 1, Node: 2, Rack: 3, Class: 4}})
	e.event(&sojourn.Event{Kind: sojourn.SlotAdded, At: 300, Slot: sojourn.Slot{ID: 1, Node: 2, Rack: 3, Class: 4, Speed: 200}})
	e.event(&sojourn.Event{Kind: sojourn.TaskPinned, At: 301, Task: sojourn.TaskID{Job: 1, Phase: 2, Index: 3}, Attempt: 4, Slot: sojourn.Slot{ID: 5}})
	e.event(&sojourn.Event{Kind: sojourn.TaskFailed, At: 301, Task: sojourn.TaskID{Job: 1, Phase: 2, Index: 3}, Attempt: 4, Slot: sojourn.Slot{ID: 5}, Service: 6, Cause: 2})
	e.event(&sojourn.Event{Kind: sojourn.TaskFinished, At: 301, Task: sojourn.TaskID{Job: 1, Phase: 2, Index: 3}, Attempt: 4, Slot: sojourn.Slot{ID: 5}, Service: 6, Cost: 500})
	e.assign(&sojourn.Assignment{Task: sojourn.TaskID{Job: 1, Phase: 2, Index: 3}, Attempt: 5, Slot: 6, Source: 7, Locality: 2})
	e.numbers(kindMark, 200, 100)
	e.numbers(kindEnd, 4)
	const want = "062aaccd7a410301050170024f19913a430007fdd0478901ac020102030408892a51cd010001020304c80107147773661301010203040509834e03f70f00010203040506020a8e6f7f360e00010203040506f40308a991148140010203050607020486700e5944c801640262dfc4944504"
	if got := fmt.Sprintf("%x", e.buf); got != want {
		t.Errorf("the records are %s, want %s", got, want)
	}
}
