package browsertest

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// A faulty store is on a disk that is full at times.
type faulty struct {
	journal.Store
	full atomic.Bool
}

var errFull = errors.New("write jobs/000001: no space left on device")

func (s *faulty) Append(segment uint64, data []byte) error {
	if s.full.Load() {
		return errFull
	}
	return s.Store.Append(segment, data)
}

func (s *faulty) Create(segment uint64, data []byte) error {
	if s.full.Load() {
		return errFull
	}
	return s.Store.Create(segment, data)
}

// over returns a pool over a store that open returns, and its dashboard.
func over(t *testing.T, open func() (journal.Store, error), o journal.Options) *board {
	t.Helper()
	store, err := open()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(store, policy, o)
	if err != nil {
		t.Fatal(err)
	}
	rec := statuspage.NewRecorder()
	p, err := live.New(j, live.Options{Slots: 4, Observer: rec, Handlers: map[string]live.Handler{"h": func(ctx context.Context, _ live.Task, _ []byte) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.Suspend(ctx)
		_ = j.Close() // the store is at fault
	})
	server := httptest.NewServer(statuspage.Handler(p, statuspage.WithRecorder(rec)))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return &board{t, p, server.URL + "/", nil}
}

// One submits a job of one task. It may take so long.
func (b *board) one(within time.Duration) error {
	ctx, stop := context.WithTimeout(b.Context(), within)
	defer stop()
	_, err := b.pool.Submit(ctx, live.Job{Name: "build", Pool: "web", Handler: "h", Phases: []live.Phase{{Tasks: 1}}})
	return err
}

// The page of a pool whose store is full, or is broken, or has another process that leads, says so, and what to do.
func TestDashboardOfStores(t *testing.T) {
	v, phone := view{1280, 800, false}, view{390, 844, true}
	full := &faulty{}
	open := func() (_ journal.Store, err error) {
		full.Store, err = journal.OpenFiles(t.TempDir())
		return full, err
	}
	stalls := over(t, open, journal.Options{Retry: true})
	full.full.Store(true)
	if err := stalls.one(time.Second); !errors.Is(err, live.ErrStalled) {
		t.Fatal(err)
	}
	stalls.look(t, "", v).state("stalled", "Nothing new starts: ")

	full = &faulty{}
	breaks := over(t, open, journal.Options{})
	if err := breaks.one(time.Minute); err != nil {
		t.Fatal(err)
	}
	full.full.Store(true)
	if err := breaks.one(time.Minute); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	breaks.look(t, "", v).state("broken", "Put right what is wrong with the store, then start the program again: jobs that were acknowledged go on.")
	breaks.look(t, "", phone).state("broken-phone", "No job is left.")

	dir := t.TempDir()
	follow := func() (journal.Store, error) { return journal.FollowFiles(dir) }
	if err := over(t, follow, journal.Options{}).one(time.Minute); err != nil {
		t.Fatal(err)
	}
	standby := over(t, follow, journal.Options{})
	standby.look(t, "", v).state("standby", "This one takes over when the other has gone.")
	standby.look(t, "", phone).state("standby-phone", "This process has no job: the one that leads has them.")
}
