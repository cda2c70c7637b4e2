package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
)

var bg = context.Background()

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// An engine is a server that can be away for a while.
type engine struct {
	options server.Options
	*server.Server
}

func newEngine(t *testing.T) *engine {
	e := &engine{options: server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}}
	e.start(t)
	t.Cleanup(func() { e.away() })
	return e
}

func (e *engine) start(t *testing.T) {
	t.Helper()
	o := e.options
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	e.Server, e.options.Port = s, o.Port
}

func (e *engine) away() {
	e.Shutdown()
	e.WaitForShutdown()
}

func (e *engine) open(t *testing.T, o Options) *store {
	t.Helper()
	conn, err := nats.Connect(e.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	s, err := Open(bg, conn, "test", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.(*store)
}

// takesOver lets a store take the one that leads for gone, lead, and append.
func takesOver(t *testing.T, s *store) {
	t.Helper()
	s.mu.Lock()
	s.heard = time.Now().Add(-2 * time.Hour)
	s.mu.Unlock()
	lead(t, s)
	if err := s.Append(1, []byte("from b")); err != nil {
		t.Fatal(err)
	}
}

// lead waits until a store leads.
func lead(t *testing.T, s *store) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		err := s.Lead()
		if err == nil {
			return
		}
		if !errors.Is(err, journal.ErrLocked) && !errors.Is(err, nats.ErrDisconnected) && !errors.Is(err, errDeaf) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// bytesOf returns so many bytes.
func bytesOf(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// Who was away while a segment was removed knows that it is gone, though a beat has taken the place of the message that said so.
func TestRemovedWhileAway(t *testing.T) {
	e := newEngine(t)
	s := e.open(t, Options{})
	lead(t, s)
	for n := range uint64(3) {
		if err := s.Create(n+1, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	reader := e.open(t, Options{})
	reader.messages.Stop()
	if err := s.Remove(2); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	err := s.write(s.says(kindBeat), "lead", nil, patience)
	s.mu.Unlock()
	if err := errors.Join(err, reader.follow(bg)); err != nil {
		t.Fatal(err)
	}
	if got, want := must(reader.Segments()), []uint64{1, 3}; !slices.Equal(got, want) {
		t.Errorf("segments %d, want %d", got, want)
	}
	if _, err := reader.ReadAt(2, make([]byte, 1), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a segment that was removed: %v", err)
	}
	reader.mu.Lock()
	defer reader.mu.Unlock()
	if reader.gap {
		t.Error("the server is asked again")
	}
}

// A store does what a map of byte strings does, whatever the lengths, and so does the next one, and one that follows and reads the ends.
func TestStore(t *testing.T) {
	e := newEngine(t)
	rng := rand.New(rand.NewPCG(1, 1))
	want := map[uint64][]byte{}
	last := uint64(0)
	for life := range 4 {
		s := e.open(t, Options{Lease: 50 * time.Millisecond})
		lead(t, s)
		reader := e.open(t, Options{})
		for range 30 {
			n := uint64(1 + rng.IntN(int(last)+1))
			data := bytesOf(rng, []int{0, 1, 100, part - 1, part, part + 1, 3*part + 7}[rng.IntN(7)])
			var err error
			switch what := rng.IntN(8); {
			case what < 2 || want[n] == nil:
				err = s.Create(n, data)
				want[n], last = data, max(last, n)
			case what == 2:
				err = s.Remove(n)
				delete(want, n)
			default:
				err = errors.Join(s.Append(n, data), s.Sync(n))
				want[n] = append(slices.Clone(want[n]), data...)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		check := func(what string, s *store) {
			if got := must(s.Segments()); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
				t.Fatalf("life %d, %s: segments %d", life, what, got)
			}
			for n, data := range want {
				if got, err := s.Read(n); err != nil || !bytes.Equal(got, data) {
					t.Fatalf("life %d, %s: segment %d has %d bytes, %v, want %d", life, what, n, len(got), err, len(data))
				}
			}
			if _, err := s.Read(1000); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a segment that there is not: %v", err)
			}
		}
		check("leads", s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { reader.mu.Lock(); defer reader.mu.Unlock(); return reader.book.free })
		check("follows", reader)
		for n, data := range want {
			at := rng.IntN(len(data) + 1)
			b := make([]byte, len(data)+1)
			if k, err := reader.ReadAt(n, b, int64(at)); err != io.EOF || !bytes.Equal(b[:k], data[at:]) {
				t.Fatalf("segment %d from %d of %d: %d bytes, %v", n, at, len(data), k, err)
			}
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
	}
}

// While one store leads, no other one does, and none but it writes. When nothing is heard of it, as of a process that is stopped, another one leads, and then the first one can
// append nothing, create nothing and remove nothing, and says who leads.
func TestFence(t *testing.T) {
	e := newEngine(t)
	a, b := e.open(t, Options{Lease: time.Hour, Who: "a"}), e.open(t, Options{Lease: time.Millisecond * 10, Who: "b"}) // the longer one counts
	lead(t, a)
	if err := a.Create(1, []byte("from a ")); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		time.Sleep(10 * time.Millisecond)
		if err := b.Lead(); !errors.Is(err, journal.ErrLocked) || !strings.Contains(err.Error(), "a leads") && !strings.Contains(err.Error(), "sequence") {
			t.Fatalf("b: %v, want that a leads", err)
		}
	}
	if err := b.Append(1, []byte("from b")); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("b appends: %v", err)
	}
	a.mu.Lock() // it is stopped
	takesOver(t, b)
	a.mu.Unlock()
	for what, err := range map[string]error{"Append": a.Append(1, []byte("late")), "Create": a.Create(2, []byte("late")), "Create of the same": a.Create(1, nil), "Remove": a.Remove(1), "Sync": a.Sync(1), "Lead": a.Lead()} {
		if !errors.Is(err, journal.ErrLocked) || !strings.Contains(err.Error(), "b leads") {
			t.Errorf("%s of the first one: %v, want that b leads", what, err)
		}
	}
	if got := string(must(b.Read(1))); got != "from a from b" {
		t.Errorf("the segment is %q", got)
	}
	if list := must(b.Segments()); !slices.Equal(list, []uint64{1}) {
		t.Errorf("segments %d", list)
	}
}

// The answer to a message is lost, or comes after the next one was sent: the store finds what is there, and goes on.
func TestLostAnswer(t *testing.T) {
	e := newEngine(t)
	s := e.open(t, Options{Lease: time.Hour})
	lead(t, s)
	if err := s.Create(1, []byte("a")); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		s.mu.Lock()
		if _, err := s.send(nats.Header{headKind: {kindAppend}, headFirst: {"1"}, headLeft: {"0"}}, "1", []byte("b"), patience); err != nil {
			t.Fatal(err)
		}
		s.unsure = i%2 == 0 // or it is only noticed by the next one
		s.mu.Unlock()
		if err := s.Append(1, []byte("c")); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := string(must(s.Read(1))), "a"+strings.Repeat("bc", 6); got != want {
		t.Errorf("the segment is %q, want %q", got, want)
	}
}

// A write that ended half-way is not there, for who writes and for who follows, and the next one is.
func TestHalf(t *testing.T) {
	e := newEngine(t)
	for i, kind := range []string{kindCreate, kindAppend} {
		s := e.open(t, Options{Lease: 50 * time.Millisecond})
		lead(t, s)
		if err := s.Create(1, []byte("whole ")); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		if err := s.write(nats.Header{headKind: {kind}, headFirst: {"1"}, headLeft: {"1"}}, "1", []byte("half"), patience); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			s.release() // as if it were killed
			s.lost = errors.New("killed")
		}
		s.mu.Unlock()
		next := s
		if i == 0 {
			next = e.open(t, Options{Lease: 50 * time.Millisecond})
			lead(t, next)
		}
		if err := next.Append(1, []byte("and more")); err != nil {
			t.Fatal(err)
		}
		if got := string(must(next.Read(1))); got != "whole and more" {
			t.Errorf("after half of %s: %q", kind, got)
		}
		_ = next.Close()
	}
}

// A journal in a stream goes on in the next process, and another one follows it, as in files.
func TestJournal(t *testing.T) {
	e := newEngine(t)
	another := func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }
	open := func() *journal.Journal {
		s := e.open(t, Options{})
		return must(journal.Open(s, must(another()), journal.Options{SnapshotBytes: 500, Another: another}))
	}
	a := open()
	b := open()
	for id := sojourn.JobID(1); id <= 200; id++ {
		if err := errors.Join(a.Attach(id, fmt.Append(nil, "of ", id)), a.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}})); err != nil {
			t.Fatal(err)
		}
		if id%10 == 0 {
			if err := a.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if id%30 == 0 {
			if err := b.Follow(); !errors.Is(err, journal.ErrLocked) {
				t.Fatal(err)
			}
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return b.Follow() == nil })
	if b.MaxJob() != 200 || b.Account().Live() != 200 || string(b.Attached(177)) != "of 177" || b.Restored().Rebuilt != nil {
		t.Errorf("%d jobs up to %d, %q, %+v", b.Account().Live(), b.MaxJob(), b.Attached(177), b.Restored())
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	c := open()
	if c.Account().Live() != 200 {
		t.Errorf("then %d jobs", c.Account().Live())
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// Bad names and options are refused.
func TestBad(t *testing.T) {
	e := newEngine(t)
	conn := must(nats.Connect(e.ClientURL()))
	defer conn.Close()
	for _, name := range []string{"", "a.b", "*", ">", "a b", "ä"} {
		if _, err := Open(bg, conn, name, Options{}); err == nil || !strings.Contains(err.Error(), "want letters") {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for _, o := range []Options{{Replicas: -1}, {Lease: -1}, {Lease: 3}} {
		if _, err := Open(bg, conn, "a", o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
