package statuspage_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// fullAtTimes is a store on a disk that is full at times.
type fullAtTimes struct {
	journal.Store
	full atomic.Bool
}

func (s *fullAtTimes) Append(segment uint64, data []byte) error {
	if s.full.Load() {
		return errFull
	}
	return s.Store.Append(segment, data)
}

func (s *fullAtTimes) Create(segment uint64, data []byte) error {
	if s.full.Load() {
		return errFull
	}
	return s.Store.Create(segment, data)
}

// While the disk is full, the page says that nothing new starts, and why, /readyz answers 503, and streams go on. Then all is well again.
func TestStalledPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files, err := journal.OpenFiles(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		store := &fullAtTimes{Store: files}
		policy, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(store, policy, journal.Options{Retry: true})
		if err != nil {
			t.Fatal(err)
		}
		r := statuspage.NewRecorder()
		p, err := live.New(j, live.Options{Slots: 1, Observer: r, Handlers: map[string]live.Handler{"h": func(context.Context, live.Task, []byte) error { return nil }}})
		if err != nil {
			t.Fatal(err)
		}
		store.full.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Submit(ctx, live.Job{Handler: "h", Phases: []live.Phase{{Tasks: 1}}}); !errors.Is(err, live.ErrStalled) {
			t.Fatalf("Submit: %v", err)
		}
		h := statuspage.Handler(p, statuspage.WithRecorder(r))
		ready, page := serve(h, "/readyz"), serve(h, "/")
		if text := page.Body.String(); ready.Code != http.StatusServiceUnavailable || !strings.Contains(text, "Nothing new starts") || !strings.Contains(text, errFull.Error()) || strings.Contains(text, "The pool is broken") {
			t.Errorf("the disk is full: /readyz %d; the page is\n%s", ready.Code, text)
		}
		begun := time.Now()
		if serve(h, "/events"); time.Since(begun) != 30*time.Second {
			t.Errorf("the disk is full: a stream ends after %v, want 30 s", time.Since(begun))
		}
		store.full.Store(false)
		time.Sleep(10 * time.Second)
		ready, page = serve(h, "/readyz"), serve(h, "/")
		if text := page.Body.String(); ready.Code != http.StatusOK || strings.Contains(text, "Nothing new starts") {
			t.Errorf("there is room: /readyz %d; the page is\n%s", ready.Code, text)
		}
		if err := errors.Join(p.Close(t.Context()), j.Close()); err != nil {
			t.Error(err)
		}
	})
}
