package jetstream

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
	"github.com/sojourn-sched/sojourn/journal"
)

// A staleStream is asked of a server that has led, does not know yet that another one does, and has no message from some number on. After so many questions the
// other one answers.
type staleStream struct {
	js.Stream
	from      uint64
	questions int
}

func (s *staleStream) GetMsg(ctx context.Context, seq uint64, o ...js.GetMsgOpt) (*js.RawStreamMsg, error) {
	m, err := s.Stream.GetMsg(ctx, seq, o...)
	if err == nil && m.Sequence >= s.from && s.questions > 0 {
		s.questions--
		return nil, js.ErrMsgNotFound
	}
	return m, err
}

// OrderedConsumer makes one on a replica that has no messages from that number on.
func (s *staleStream) OrderedConsumer(ctx context.Context, o js.OrderedConsumerConfig) (js.Consumer, error) {
	if s.questions > 0 && o.OptStartSeq < s.from {
		s.questions--
		o.OptStartSeq = 1 << 40
	}
	return s.Stream.OrderedConsumer(ctx, o)
}

// A store that was stopped while another one took over finds that out, also if it asks a server that does not know of it: it writes nothing.
func TestStoppedAndStale(t *testing.T) {
	for questions := range 4 {
		e := newEngine(t)
		a, b := e.open(t, Options{Lease: time.Hour, Who: "a"}), e.open(t, Options{Lease: time.Hour, Who: "b"})
		lead(t, a)
		if err := a.Create(1, []byte("from a ")); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.book.segments[1] != nil })
		a.mu.Lock() // it is stopped
		takesOver(t, b)
		a.stream = &staleStream{a.stream, a.book.last + 1, questions}
		a.mu.Unlock()
		for range questions + 1 {
			if err := a.Append(1, []byte("late")); err == nil {
				t.Errorf("%d questions: a goes on to append", questions)
			}
		}
		if err := a.Append(1, []byte("late")); !errors.Is(err, journal.ErrLocked) || !strings.Contains(err.Error(), "b leads") {
			t.Errorf("%d questions: %v, want that b leads", questions, err)
		}
		if got := string(must(b.Read(1))); got != "from a from b" {
			t.Errorf("the segment is %q", got)
		}
	}
}

// Who takes over has all that was acknowledged, also if a server says that there is no more which does not know of it.
func TestTakeoverOfAStaleServer(t *testing.T) {
	for questions := range 4 {
		e := newEngine(t)
		a, b := e.open(t, Options{Lease: 10 * time.Millisecond, Who: "a"}), e.open(t, Options{Lease: 10 * time.Millisecond, Who: "b"})
		lead(t, a)
		if err := a.Create(1, []byte("x")); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.book.segments[1] != nil })
		b.mu.Lock()
		b.messages.Stop() // it hears nothing more
		b.stream = &staleStream{b.stream, b.book.last + 1, questions}
		b.mu.Unlock()
		if err := errors.Join(a.Append(1, []byte("y")), a.Create(2, []byte("z")), a.Close()); err != nil {
			t.Fatal(err)
		}
		led := false
		for range 10 {
			b.mu.Lock()
			b.heard = time.Time{}
			b.mu.Unlock()
			if b.Lead() == nil {
				led = true
				break
			}
		}
		// Without a wrong answer it waits for the messages that are there.
		if led != (questions > 0) {
			t.Errorf("%d questions: b leads: %v", questions, led)
		}
		if one, err := b.Read(1); led && (err != nil || string(one) != "xy") {
			t.Errorf("%d questions: b leads and has %q, %v, want \"xy\"", questions, one, err)
		}
	}
}

// A segment is read also if the consumer was made on a replica that does not have all of it yet.
func TestReadOfAStaleReplica(t *testing.T) {
	e := newEngine(t)
	a := e.open(t, Options{Lease: time.Hour})
	lead(t, a)
	if err := errors.Join(a.Create(1, []byte("x")), a.Append(1, []byte("y"))); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	a.stream = &staleStream{a.stream, 1 << 39, 3}
	a.mu.Unlock()
	if got, err := a.Read(1); err != nil || string(got) != "xy" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := a.Read(2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a segment that there is not: %v", err)
	}
}
