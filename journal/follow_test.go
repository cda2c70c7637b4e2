package journal

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A weak store fails while it is told to, and then keeps half of what is appended.
// The states of segments that have ended wait until it lets them pass.
type weak struct {
	Store
	fails bool

	mu     sync.Mutex
	newest uint64
	pass   chan struct{} // closed while they pass
}

func newWeak(s Store) *weak {
	w := &weak{Store: s, pass: make(chan struct{})}
	close(w.pass)
	return w
}

func (w *weak) Append(segment uint64, data []byte) error {
	if w.fails {
		_ = w.Store.Append(segment, data[:len(data)/2])
		return errors.New("it is weak")
	}
	return w.Store.Append(segment, data)
}

func (w *weak) Create(segment uint64, data []byte) error {
	w.mu.Lock()
	old, pass := segment < w.newest, w.pass
	if !w.fails { // otherwise there is none
		w.newest = max(w.newest, segment)
	}
	w.mu.Unlock()
	if old {
		<-pass
		return w.Store.Create(segment, data)
	}
	if w.fails {
		return errors.New("it is weak")
	}
	return w.Store.Create(segment, data)
}

// A world is a journal in a folder that one process leads and another one follows. Both are in this process: the lock is one of open files.
type world struct {
	*rapid.T
	dir     string
	options Options
	weak    *weak
	leader  *Journal
	standby *Journal
	slots   int
}

func (w *world) check(err error) {
	if err != nil {
		w.Helper()
		w.Fatal(err)
	}
}

// lead opens the journal as the first process does.
func (w *world) lead() {
	s, err := OpenFiles(w.dir)
	w.check(err)
	w.weak = newWeak(s)
	w.leader, err = Open(w.weak, newFIFO(nil), w.options)
	w.check(err)
}

// hold holds the states of segments that have ended, or lets them pass.
func (w *world) hold(states bool) {
	w.weak.mu.Lock()
	defer w.weak.mu.Unlock()
	held := true
	select {
	case <-w.weak.pass:
		held = false
	default:
	}
	switch {
	case held && !states:
		close(w.weak.pass)
	case !held && states:
		w.weak.pass = make(chan struct{})
	}
}

// writes calls what writes. If a segment is about to begin, that waits for the state of the one before, which then must not be held.
func (w *world) writes(call func() error) error {
	l := &w.leader.log
	l.mu.Lock()
	waits := l.next != nil && l.making
	l.mu.Unlock()
	if waits {
		w.hold(false)
	}
	return call()
}

// kill lets go of the folder as the end of a process does: what was not written is gone.
func (w *world) kill() {
	w.hold(false)
	l := &w.leader.log
	l.mu.Lock()
	for l.making || l.busy {
		l.cond.Wait() // this process is not killed, so its goroutine must not write any more
	}
	l.err = errors.New("killed")
	l.mu.Unlock()
	files := w.weak.Store.(*files)
	files.closeLast()
	w.check(files.locked.Close())
}

// tear leaves a part of a write, and lets the standby see it. It returns how many bytes.
func (w *world) tear() int {
	torn := rapid.SampledFrom([]string{"", "\x05", "\x05abc", strings.Repeat("\x00", 20)}).Draw(w.T, "torn")
	list, err := w.weak.Segments()
	w.check(err)
	f, err := os.OpenFile(filepath.Join(w.dir, base(list[len(list)-1])), os.O_APPEND|os.O_WRONLY, 0)
	w.check(err)
	_, err = f.WriteString(torn)
	w.check(errors.Join(err, f.Close()))
	if w.standby != nil {
		w.standby.standby.read(w.standby)
	}
	return len(torn)
}

// tell tells the leader something.
func (w *world) tell() {
	j := w.leader
	try := func(err error) {
		if err != nil && !goesOn(j, err) {
			w.Fatal(err)
		}
	}
	at := j.Account().Now() + 1
	switch rapid.IntRange(0, 9).Draw(w.T, "what") {
	case 0:
		w.slots++
		try(j.Observe(sojourn.Event{Kind: sojourn.SlotAdded, At: at, Slot: sojourn.Slot{ID: sojourn.SlotID(w.slots)}}))
	case 1:
		try(j.Keep(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(w.T, "key"), []byte(rapid.SampledFrom([]string{"", "x", strings.Repeat("long", 100)}).Draw(w.T, "data"))))
	case 2, 3, 4:
		id := j.MaxJob() + 1
		try(j.Attach(id, fmt.Append(nil, "of job ", id)))
		if rapid.IntRange(0, 4).Draw(w.T, "arrives") > 0 {
			try(j.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: at, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: rapid.IntRange(1, 3).Draw(w.T, "tasks")}}}}))
		}
	case 5, 6:
		for s := range j.Account().Slots() {
			if _, busy := j.Account().Attempt(s.ID); !busy {
				j.Assign(s.ID)
				return
			}
		}
	case 7, 8:
		for a := range j.Account().Attempts() {
			try(j.Observe(sojourn.Event{Kind: sojourn.TaskFinished, At: at, Task: a.Task, Attempt: a.Number, Slot: sojourn.Slot{ID: a.Slot.ID}}))
			return
		}
	case 9:
		if err := j.Snapshot(); !w.weak.fails {
			w.check(err)
		}
	}
}

// all returns all that a journal knows.
func all(j *Journal) string {
	kept := map[string]string{}
	for key, data := range j.Kept() {
		kept[key] = string(data)
	}
	owned := maps.Clone(j.owned)
	owned.prune(j.acc)
	return fmt.Sprint(facts(slices.Collect(j.Account().Facts())), j.MaxJob(), j.Epoch().UnixNano(), kept, owned)
}

// memoryFolder names a folder in memory, where syncs take no time; "" if there is none.
func memoryFolder() string {
	const dir = "/dev/shm"
	if s, err := os.Stat(dir); err != nil || !s.IsDir() {
		return ""
	}
	return dir
}

// Whatever a process writes, in segments of all lengths, with states that calls take or a goroutine makes, over restarts of it and while its
// disk fails at times: another one that follows it knows the same when it has gone, and goes on from there. While the first one is there, the other
// one changes nothing. What is left of a write that never ended is cut off.
func TestFollow(t *testing.T) {
	hot, runs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(memoryFolder(), "follow")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		w := &world{T: t, dir: dir, options: Options{SnapshotBytes: rapid.SampledFrom([]int64{-1, 100, 1000, 5000}).Draw(t, "bytes"), Retry: true}}
		if rapid.Bool().Draw(t, "another") {
			w.options.Another = func() (sojourn.Policy, error) { return newFIFO(nil), nil }
			w.options.inline = rapid.Bool().Draw(t, "inline")
		}
		w.options.Keep = rapid.IntRange(0, 3).Draw(t, "keep") == 0
		w.lead()
		for range rapid.IntRange(0, 60).Draw(t, "calls") {
			switch rapid.IntRange(0, 19).Draw(t, "call") {
			case 0:
				_ = w.writes(w.leader.Flush)
			case 1, 2, 3:
				_ = w.writes(w.leader.Write)
			case 4, 5, 6, 7:
				if w.standby == nil {
					s, err := FollowFiles(dir)
					w.check(err)
					w.standby, err = Open(s, newFIFO(nil), w.options)
					w.check(err)
				}
				if err := w.standby.Follow(); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
					t.Fatalf("Follow: %v", err)
				}
				if err := w.standby.Keep("k", nil); !errors.Is(err, ErrLocked) {
					t.Fatalf("a standby keeps something: %v", err)
				}
			case 8:
				if !w.weak.fails {
					w.kill()
					w.tear()
					w.lead()
				}
			case 9:
				if !w.weak.fails {
					w.hold(false)
					w.check(w.leader.Close())
					w.lead()
				}
			case 10:
				w.weak.fails = !w.weak.fails
			case 11:
				w.hold(w.options.Another != nil && !w.options.inline)
			default:
				w.tell()
			}
		}
		w.weak.fails = false
		if w.standby == nil {
			return
		}
		if rapid.Bool().Draw(t, "written") {
			w.check(w.writes(w.leader.Write))
			if err := w.standby.Follow(); !errors.Is(err, ErrLocked) {
				t.Fatal(err)
			}
		}
		w.check(w.writes(w.leader.Write))
		want := all(w.leader)
		w.kill()
		torn := w.tear()
		runs++
		if w.standby.standby.cold == nil {
			hot++
		}
		w.check(w.standby.Follow())
		if got := all(w.standby); got != want {
			t.Fatalf("after taking over\n%s\nwant\n%s", got, want)
		}
		if r := w.standby.Restored(); r.Cut != int64(torn) || r.Rebuilt != nil {
			t.Fatalf("Restored() = %+v, want %d bytes cut", r, torn)
		}
		w.leader, w.weak = w.standby, newWeak(w.standby.log.store)
		for range 20 {
			w.tell()
			w.check(w.leader.Write())
		}
		want = all(w.leader)
		w.check(w.leader.Close())
		w.lead()
		if got := all(w.leader); got != want || w.leader.Restored().Rebuilt != nil {
			t.Fatalf("after one more process\n%s\nwant\n%s, %v", got, want, w.leader.Restored().Rebuilt)
		}
		w.check(w.leader.Close())
	})
	if hot < runs {
		t.Errorf("%d of %d had the state when the other process ended", hot, runs)
	}
}

func worked(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// opened opens a journal.
func opened(t *testing.T, s Store, p sojourn.Policy, o Options) *Journal {
	t.Helper()
	j, err := Open(s, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// A backward policy serves the latest job first.
type backward struct{ *inOrder }

func newBackward() backward {
	p := backward{new(inOrder)}
	p.reset()
	return p
}

func (p backward) reset() {
	p.Jobs = queue.NewJobs(queue.JobOrder[struct{}, uint64]{
		Key:      func(j *ledger.Job[struct{}]) uint64 { return j.Seq() },
		Less:     func(a, b uint64) bool { return a > b },
		Supports: sojourn.FeatureNeeds | sojourn.FeatureHeld | sojourn.FeatureAttempts,
	})
}

func (p backward) header() snapshot.Header { return snapshot.Header{Policy: "backward", Version: 1} }

func (p backward) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) { p.Save(w, nil) })
}

func (p backward) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p.inOrder, data, p.header(), p.reset, func(r *snapshot.Reader) { p.Restore(r, nil) })
}

// A standby with another policy takes over by the facts.
func TestFollowAnother(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenFiles(dir)
	worked(t, err)
	leader := opened(t, s, newFIFO(t), Options{})
	other, err := FollowFiles(dir)
	worked(t, err)
	standby := opened(t, other, newBackward(), Options{})
	worked(t, leader.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}}))
	for id := sojourn.JobID(1); id < 4; id++ {
		worked(t, leader.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}}))
	}
	leader.Assign(1)
	worked(t, leader.Write())
	if err := standby.Follow(); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "as long as a start") {
		t.Errorf("Follow: %v, want that the policy decides otherwise", err)
	}
	worked(t, leader.Keep("k", []byte("x")))
	want := facts(slices.Collect(leader.Account().Facts()))
	worked(t, leader.Close())
	worked(t, standby.Follow())
	if got := facts(slices.Collect(standby.Account().Facts())); got != want || standby.Restored().Rebuilt == nil || len(standby.kept) != 1 {
		t.Errorf("%+v, %v, and the facts\n%s\nwant\n%s", standby.Restored(), standby.kept, got, want)
	}
	worked(t, standby.Close())
}

// While a state is made of a segment that has ended, which may take seconds, and no other one begins: a standby goes on from that segment to the next. It has the same state when it
// takes over, with all segments that there are, and reads none of them anew.
func TestFollowOn(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenFiles(dir)
	worked(t, err)
	slow := newWeak(s)
	slow.pass = make(chan struct{})
	o := Options{SnapshotBytes: 200, Another: func() (sojourn.Policy, error) { return newFIFO(nil), nil }}
	leader := opened(t, slow, newFIFO(t), o)
	other, err := FollowFiles(dir)
	worked(t, err)
	reads := &reader{shared: other.(shared)}
	standby := opened(t, reads, newFIFO(t), o)
	for id := sojourn.JobID(1); id < 100; id++ {
		worked(t, leader.Attach(id, []byte{byte(id)}))
		worked(t, leader.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: sojourn.Time(id), Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}}))
		worked(t, leader.Write())
		if id%7 == 0 {
			if err := standby.Follow(); !errors.Is(err, ErrLocked) || standby.standby.cold != nil {
				t.Fatal(err)
			}
		}
		if id == 50 && standby.standby.at.number != 2 {
			t.Fatalf("it reads segment %d, want 2", standby.standby.at.number)
		}
	}
	want := all(leader)
	leader.log.stopping.Store(true)
	close(slow.pass)
	worked(t, leader.log.settle())
	leader.log.mu.Lock()
	for leader.log.making {
		leader.log.cond.Wait()
	}
	leader.log.mu.Unlock()
	files := s.(*files)
	files.closeLast()
	worked(t, files.locked.Close())
	loaded := reads.whole
	worked(t, standby.Follow())
	if got := all(standby); got != want || standby.Restored().Segment < 2 {
		t.Errorf("after taking over\n%s\nwant\n%s", got, want)
	}
	if n := reads.whole - loaded; n > 2 {
		t.Errorf("%d segments were read as a whole, want 1 or 2", n)
	}
	worked(t, standby.Close())
}

// A reader counts segments that are read as a whole.
type reader struct {
	shared
	whole int
}

func (r *reader) Read(segment uint64) ([]byte, error) {
	r.whole++
	return r.shared.Read(segment)
}

// A byte that a standby has used already, and that is wrong when it takes over, is damage.
func TestFollowDamage(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenFiles(dir)
	worked(t, err)
	leader := opened(t, s, newFIFO(t), Options{})
	worked(t, leader.Keep("k", []byte("a long text")))
	worked(t, leader.Flush())
	other, err := FollowFiles(dir)
	worked(t, err)
	standby := opened(t, other, newFIFO(t), Options{})
	worked(t, leader.Keep("k", []byte("x")))
	worked(t, leader.Close())
	name := filepath.Join(dir, base(1))
	data, err := os.ReadFile(name)
	worked(t, err)
	data[bytes.Index(data, []byte("long"))]++
	worked(t, os.WriteFile(name, data, 0o666))
	var bad *DamageError
	if err := standby.Follow(); !errors.As(err, &bad) {
		t.Errorf("Follow: %v, want damage", err)
	}
	_ = standby.Close()
}

func folderStore(t *testing.T) Store {
	s, err := OpenFiles(t.TempDir())
	worked(t, err)
	return s
}

// A locked store has lost its lock to another process.
type locked struct{ Store }

func (locked) Append(uint64, []byte) error { return fmt.Errorf("b leads: %w", ErrLocked) }

// An error that says that another process has the journal is the last one, also with Retry.
func TestFenced(t *testing.T) {
	j := opened(t, locked{folderStore(t)}, newFIFO(t), Options{Retry: true})
	worked(t, j.Keep("k", []byte("x")))
	for range 2 {
		var s *stallError
		if err := j.Flush(); !errors.Is(err, ErrLocked) || errors.As(err, &s) {
			t.Errorf("Flush: %v, want that another process has it, and no stall", err)
		}
	}
	if err := j.Keep("k", nil); !errors.Is(err, ErrLocked) {
		t.Errorf("then Keep: %v", err)
	}
}

// Two processes that both may wait: the first has the journal, also one that does not exist yet. A standby that is closed leaves nothing, and one
// that finds the end of the journal damaged says so.
func TestFollowFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var list []*Journal
	for range 3 {
		s, err := FollowFiles(dir)
		worked(t, err)
		list = append(list, opened(t, s, newFIFO(t), Options{}))
	}
	a, b, c := list[0], list[1], list[2]
	if err := a.Follow(); err != nil {
		t.Errorf("the first: %v", err)
	}
	worked(t, a.Keep("k", []byte("x")))
	worked(t, a.Flush())
	worked(t, c.Close())
	if err := b.Follow(); !errors.Is(err, ErrLocked) {
		t.Errorf("the second: %v", err)
	}
	worked(t, a.Keep("k", []byte("y")))
	worked(t, a.Close())
	name := filepath.Join(dir, base(1))
	data, err := os.ReadFile(name)
	worked(t, err)
	data[len(data)-20] ^= 1 // before a mark
	worked(t, os.WriteFile(name, data, 0o666))
	var bad *DamageError
	if err := b.Follow(); !errors.As(err, &bad) {
		t.Errorf("Follow: %v, want damage", err)
	}
	if err := b.Keep("k", nil); !errors.As(err, &bad) {
		t.Errorf("then Keep: %v, want damage", err)
	}
	_ = b.Close()
	s, err := OpenFiles(dir) // the lock is free
	worked(t, err)
	worked(t, s.Close())
}
