package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/sojourn-sched/sojourn/journal"
)

// A leader that writes nothing, was stopped and goes on learns that another one leads.
func TestIdleLeader(t *testing.T) {
	e := newEngine(t)
	a, b := e.open(t, Options{Lease: 40 * time.Millisecond, Who: "a"}), e.open(t, Options{Lease: 40 * time.Millisecond, Who: "b"})
	lost := make(chan error, 3)
	lead(t, a)
	a.OnLost(func(err error) { lost <- err })
	a.mu.Lock() // it is stopped
	lead(t, b)
	a.mu.Unlock()
	if err := <-lost; !errors.Is(err, journal.ErrLocked) || !strings.Contains(err.Error(), "b leads") {
		t.Errorf("it learns %v, want that b leads", err)
	}
	late := make(chan error, 1)
	a.OnLost(func(err error) { late <- err })
	<-late // who asks later learns it, too
	if len(lost) > 0 {
		t.Errorf("it learns it twice: %v", <-lost)
	}
	if err := b.Create(1, []byte("x")); err != nil {
		t.Fatal(err)
	}
	a.Yield() // it follows
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	lead(t, a)
	if got := string(must(a.Read(1))); got != "x" {
		t.Errorf("then it has %q, want x", got)
	}
}

// A store that leads again as soon as it can has all that it has written.
func TestLeadAgain(t *testing.T) {
	e := newEngine(t)
	a := e.open(t, Options{Lease: time.Hour})
	want := 0
	for range 5 {
		lead(t, a)
		if want == 0 {
			if err := a.Create(1, nil); err != nil {
				t.Fatal(err)
			}
		}
		for range 40 {
			if err := a.Append(1, []byte("y")); err != nil {
				t.Fatal(err)
			}
			want++
		}
		if data, err := a.Read(1); err != nil || len(data) != want {
			t.Fatalf("%d bytes, %v, want %d", len(data), err, want)
		}
		a.Yield()
	}
	if err := a.Close(); err != nil { // while it begins to follow
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// A store that gave the lead away follows the next one, knows all that there is, and leads again, whether or not the server was away meanwhile.
func TestYield(t *testing.T) {
	e := newEngine(t)
	a, b := e.open(t, Options{Lease: time.Hour, Who: "a"}), e.open(t, Options{Lease: time.Hour, Who: "b"})
	want := []byte("x")
	lead(t, a)
	if err := a.Create(1, want); err != nil {
		t.Fatal(err)
	}
	for i, s := range []*store{b, a, b, a} {
		other := a
		if s == a {
			other = b
		}
		if i == 2 {
			e.away()
			e.start(t)
			waitFor(t, func() bool { return b.conn.IsConnected() && other.Append(1, nil) == nil })
		}
		other.Yield()
		other.Yield() // it does nothing
		if err := other.Append(1, want); !errors.Is(err, journal.ErrLocked) {
			t.Errorf("%d: Append after Yield: %v", i, err)
		}
		lead(t, s) // at once: nobody waits for an hour
		more := []byte(fmt.Sprint(i))
		want = append(want, more...)
		if err := s.Append(1, more); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(1); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d: %q, %v, want %q", i, got, err, want)
		}
		waitFor(t, func() bool {
			buf := make([]byte, 10)
			n, _ := other.ReadAt(1, buf, 0)
			return bytes.Equal(buf[:n], want)
		})
	}
	a.Yield()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	a.Yield() // it is closed
}

// What is read of a segment that is gone ends at once, and says so, before this store has heard of that.
func TestPurged(t *testing.T) {
	e := newEngine(t)
	a := e.open(t, Options{Lease: time.Hour})
	lead(t, a)
	for n := uint64(1); n <= 2; n++ {
		if err := errors.Join(a.Create(n, []byte("x")), a.Append(n, []byte("y"))); err != nil {
			t.Fatal(err)
		}
	}
	b := e.open(t, Options{Lease: time.Hour})
	b.mu.Lock()
	b.messages.Stop() // it hears nothing more
	b.mu.Unlock()
	if err := a.Remove(1); err != nil {
		t.Fatal(err)
	}
	if err := a.Create(2, []byte("z")); err != nil {
		t.Fatal(err)
	}
	for n := uint64(1); n <= 2; n++ {
		if _, err := b.Read(n); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("segment %d: %v, want that it is gone", n, err)
		}
	}
}

// Segments are written in messages as small as the server wants them.
func TestSmallMessages(t *testing.T) {
	e := newEngine(t)
	e.away()
	e.options.MaxPayload = 32 << 10
	e.start(t)
	s := e.open(t, Options{})
	lead(t, s)
	data := bytesOf(rand.New(rand.NewPCG(1, 1)), 300<<10)
	if err := errors.Join(s.Create(1, data[:200<<10]), s.Append(1, data[200<<10:])); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(1); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	e.away()
	e.options.MaxPayload = 8 << 10
	e.start(t)
	conn := must(nats.Connect(e.ClientURL()))
	defer conn.Close()
	if _, err := Open(bg, conn, "test", Options{}); err == nil || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("messages of 8 KiB: %v", err)
	}
}

// A stream that somebody else has made is used if it can keep a journal; otherwise the error says why not.
func TestForeignStream(t *testing.T) {
	e := newEngine(t)
	conn := must(nats.Connect(e.ClientURL()))
	defer conn.Close()
	api := must(js.New(conn))
	n := 0 // the server does not always make a stream anew at once that it has just deleted
	for want, change := range map[string]func(*js.StreamConfig){
		"":                func(c *js.StreamConfig) { c.MaxBytes, c.Discard = 1<<20, js.DiscardNew },
		"allow them":      func(c *js.StreamConfig) { c.AllowRollup = false },
		"purges":          func(c *js.StreamConfig) { c.AllowRollup, c.DenyPurge = false, true },
		"deletions":       func(c *js.StreamConfig) { c.DenyDelete = true },
		"limits":          func(c *js.StreamConfig) { c.MaxAge = time.Hour },
		"lose messages":   func(c *js.StreamConfig) { c.MaxBytes = 1 << 20 },
		"would lose":      func(c *js.StreamConfig) { c.MaxMsgsPerSubject = 10 },
		"by which":        func(c *js.StreamConfig) { c.Retention = js.WorkQueuePolicy },
		"memory":          func(c *js.StreamConfig) { c.Storage = js.MemoryStorage },
		"forbid it":       func(c *js.StreamConfig) { c.AllowDirect = true },
		"subjects":        func(c *js.StreamConfig) { c.Subjects = []string{"sojourn.other.lead"} },
		"want 16384":      func(c *js.StreamConfig) { c.MaxMsgSize = 1000 },
		"acknowledgement": func(c *js.StreamConfig) { c.NoAck = true },
	} {
		n++
		name := fmt.Sprint("test", n)
		c := js.StreamConfig{Name: "SOJOURN_" + name, Subjects: []string{"sojourn." + name + ".>"}, AllowRollup: true}
		change(&c)
		must(api.CreateStream(bg, c))
		s, err := Open(bg, conn, name, Options{})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if err == nil {
			err = errors.Join(s.(*store).Lead(), s.Create(1, []byte("x")), s.Close())
		}
		if want == "" && err != nil {
			t.Error(err)
		}
	}
}

// Why a store cannot lead is told, and not that a process leads which is gone; a store that is closed while the server is away ends at once.
func TestAway(t *testing.T) {
	e := newEngine(t)
	a, b := e.open(t, Options{Lease: 50 * time.Millisecond}), e.open(t, Options{Lease: 50 * time.Millisecond})
	lead(t, a)
	if err := a.Create(1, []byte("x")); err != nil {
		t.Fatal(err)
	}
	e.away()
	waitFor(t, func() bool { return !a.conn.IsConnected() && !b.conn.IsConnected() })
	if err := a.Append(1, []byte("y")); err == nil || errors.Is(err, journal.ErrLocked) {
		t.Errorf("Append: %v", err)
	}
	if err := b.Lead(); errors.Is(err, journal.ErrLocked) || !errors.Is(err, nats.ErrDisconnected) {
		t.Errorf("Lead: %v, want that the server is away", err)
	}
	begun := time.Now()
	_, _ = a.Close(), b.Close()
	if took := time.Since(begun); took > patience {
		t.Errorf("Close takes %v", took)
	}
}

// Who may write nothing into the stream says so.
func TestNoStream(t *testing.T) {
	e := newEngine(t)
	a := e.open(t, Options{})
	if err := a.api.DeleteStream(context.Background(), "SOJOURN_test"); err != nil {
		t.Fatal(err)
	}
	if err := a.Lead(); err == nil || errors.Is(err, journal.ErrLocked) {
		t.Errorf("Lead without a stream: %v, want that there is none", err)
	}
}

// Who opens the store after the one that leads has removed a segment, and before its next beat, knows that it leads, and for how long.
func TestRemoveSaysWhoLeads(t *testing.T) {
	e := newEngine(t)
	a := e.open(t, Options{Lease: time.Hour, Who: "a"})
	lead(t, a)
	if err := errors.Join(a.Create(1, []byte("x")), a.Create(2, []byte("y")), a.Remove(1)); err != nil {
		t.Fatal(err)
	}
	b := e.open(t, Options{Lease: 10 * time.Millisecond, Who: "b"})
	b.mu.Lock()
	b.heard = time.Now().Add(-time.Minute)
	b.mu.Unlock()
	if err := b.Lead(); !errors.Is(err, journal.ErrLocked) || b.Leader() != "a" {
		t.Errorf("Lead: %v, while %q leads, want that a does", err, b.Leader())
	}
	if err := a.Append(2, []byte("z")); err != nil {
		t.Errorf("a: %v", err)
	}
}

// Who was stopped for a while hears the rest of a segment no more, because it has its state and its messages were purged. Until it hears that, it
// does not take the segment for whole because the next one is there.
func TestBehind(t *testing.T) {
	e := newEngine(t)
	s := e.open(t, Options{})
	s.messages.Stop()
	hears := func(seq uint64, subject, kind, data string, pending uint64) {
		s.hears(message{seq, s.prefix + subject, nats.Header{headKind: {kind}, headFirst: {"1"}, headLeft: {"0"}}, []byte(data)}, pending)
	}
	reads := func(segment uint64, offset int64) (string, error) {
		b := make([]byte, 10)
		n, err := s.ReadAt(segment, b, offset)
		return string(b[:n]), err
	}
	hears(1, "1", kindCreate, "ab", 0)
	if got, err := reads(1, 0); got != "ab" || err != io.EOF {
		t.Errorf("segment 1: %q, %v", got, err)
	}
	hears(3, "2", kindCreate, "next", 1) // message 2, which was the end of segment 1, is purged
	if got, err := reads(2, 0); got != "" || err == nil {
		t.Errorf("segment 2 is there already: %q, %v", got, err)
	}
	hears(4, "1", kindCreate, "state", 0)
	if _, err := reads(1, 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("segment 1: %v, want that it is another one", err)
	}
	if got, _ := reads(2, 0); got != "next" {
		t.Errorf("segment 2: %q", got)
	}
	hears(5, "2", kindAppend, "!", 1)
	if got, _ := reads(2, 4); got != "" {
		t.Errorf("segment 2 has %q more already", got)
	}
	s.mu.Lock()
	s.heard, s.book.free = time.Time{}, true
	s.book.last = 0 // as in the stream
	s.mu.Unlock()
	lead(t, s)
	if got, _ := reads(2, 4); got != "!" {
		t.Errorf("who leads has heard all, but reads %q", got)
	}
}

// The last message of the stream is gone before a store has heard of it: it leads all the same.
func TestLastMessageGone(t *testing.T) {
	e := newEngine(t)
	a, b := e.open(t, Options{Lease: time.Hour}), e.open(t, Options{})
	b.mu.Lock()
	b.messages.Stop()
	b.mu.Unlock()
	lead(t, a)
	if err := a.stream.DeleteMsg(bg, a.book.last); err != nil {
		t.Fatal(err)
	}
	if err := b.Lead(); !errors.Is(err, journal.ErrLocked) {
		t.Fatalf("the first try: %v", err)
	}
	b.mu.Lock()
	b.heard = time.Time{}
	b.mu.Unlock()
	if err := b.Lead(); err != nil {
		t.Errorf("the second try: %v", err)
	}
}

// The rights that the documentation lists are enough, and a client without them changes nothing.
func TestRights(t *testing.T) {
	e := newEngine(t)
	e.away()
	e.options.Users = []*server.User{
		{Username: "jobs", Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}}, Publish: &server.SubjectPermission{Allow: []string{
			"sojourn.test.>",
			"$JS.API.STREAM.INFO.SOJOURN_test", "$JS.API.CONSUMER.CREATE.SOJOURN_test.>",
			"$JS.API.STREAM.CREATE.SOJOURN_test", "$JS.API.CONSUMER.MSG.NEXT.SOJOURN_test.*",
			"$JS.API.STREAM.MSG.GET.SOJOURN_test", "$JS.API.CONSUMER.DELETE.SOJOURN_test.*",
			"$JS.API.STREAM.PURGE.SOJOURN_test",
		}}}},
		{Username: "other", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"sojourn.>", "$JS.API.>"}}}},
	}
	e.start(t)
	refused := make(chan error, 100)
	connect := func(user string) *nats.Conn {
		conn := must(nats.Connect(e.ClientURL(), nats.UserInfo(user, ""), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				refused <- err
			}
		})))
		t.Cleanup(conn.Close)
		return conn
	}
	open := func(who string) *store {
		s := must(Open(bg, connect("jobs"), "test", Options{Who: who})).(*store)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	a, b := open("a"), open("b")
	lead(t, a)
	worked := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
	worked(a.Create(1, []byte("x")), a.Append(1, []byte("y")), a.Create(2, nil), a.Create(2, []byte("z")), a.Remove(1))
	other := connect("other")
	worked(other.PublishMsg(&nats.Msg{Subject: "sojourn.test.lead", Header: nats.Header{headKind: {kindLead}, headWho: {"nobody"}, headLease: {"1h"}}}), other.Flush())
	if err := <-refused; !strings.Contains(err.Error(), "sojourn.test.lead") {
		t.Error(err)
	}
	worked(a.Append(2, []byte("!")), a.Close())
	lead(t, b)
	if got := string(must(b.Read(2))); got != "z!" {
		t.Errorf("the next one has %q, want z!", got)
	}
	worked(b.Append(2, nil), b.Close())
	for len(refused) > 0 {
		t.Errorf("a right is missing: %v", <-refused)
	}
}

// A journal that takes no more reads nothing more either, though it is not closed yet. When it is asked, it follows.
func TestBrokenReadsNothing(t *testing.T) {
	e := newEngine(t)
	a, b := e.open(t, Options{Lease: time.Hour}), e.open(t, Options{Lease: time.Hour})
	lead(t, a)
	if err := a.Create(1, []byte("x")); err != nil {
		t.Fatal(err)
	}
	a.Yield() // the journal does that
	lead(t, b)
	for range 10 {
		if err := b.Append(1, []byte("y")); err != nil {
			t.Fatal(err)
		}
	}
	knows := func() uint64 {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.reading {
			t.Error("it reads")
		}
		return a.book.last
	}
	if n := knows(); n >= b.book.last {
		t.Errorf("it knows message %d", n)
	}
	_, _ = a.Segments()
	waitFor(t, func() bool {
		buf := make([]byte, 20)
		n, _ := a.ReadAt(1, buf, 0)
		return n == 11
	})
}
