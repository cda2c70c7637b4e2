package statuspage_test

import (
	"context"
	"encoding/json"
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

// A sharedStore is one that several processes have open.
type sharedStore interface {
	journal.Store
	Lead() error
	Leader() string
	Yield()
	ReadAt(segment uint64, b []byte, offset int64) (int, error)
}

// A sharedDisk is full at times.
type sharedDisk struct {
	sharedStore
	full *atomic.Bool
}

func (d sharedDisk) Create(segment uint64, data []byte) error {
	if d.full.Load() {
		return errFull
	}
	return d.sharedStore.Create(segment, data)
}

// The page of a standby says that it is one and who leads, /leadz answers 503 with the same and /readyz 200, and streams go on. When it leads, the page is
// that of the jobs, and both answer 200. A standby that finds that it cannot take over is not ready.
func TestStandbyPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var full atomic.Bool // for the process that follows
		open := func(full *atomic.Bool) (*journal.Journal, *live.Pool, http.Handler) {
			store, err := journal.FollowFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			policy, err := fifo.New(fifo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			j, err := journal.Open(sharedDisk{store.(sharedStore), full}, policy, journal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r := statuspage.NewRecorder()
			p, err := live.New(j, live.Options{Slots: 1, Observer: r, Handlers: map[string]live.Handler{"h": func(ctx context.Context, _ live.Task, _ []byte) error {
				<-ctx.Done()
				return ctx.Err()
			}}})
			if err != nil {
				t.Fatal(err)
			}
			return j, p, statuspage.Handler(p, statuspage.WithRecorder(r))
		}
		ja, a, _ := open(new(atomic.Bool))
		if _, err := a.Submit(t.Context(), live.Job{Name: "a job", Handler: "h", Phases: []live.Phase{{Tasks: 1}}}); err != nil {
			t.Fatal(err)
		}
		jb, b, h := open(&full)
		page, data := serve(h, "/"), serve(h, "/status.json")
		for path, code := range map[string]int{"/readyz": http.StatusOK, "/leadz": http.StatusServiceUnavailable} {
			if w := serve(h, path); w.Code != code || !strings.Contains(w.Body.String(), "leads") {
				t.Errorf("%s: %d %s, want %d and who leads", path, w.Code, w.Body, code)
			}
		}
		if text := page.Body.String(); page.Code != http.StatusOK || !strings.Contains(text, "Standby: ") || !strings.Contains(text, "leads") || strings.Contains(text, "The pool is broken") {
			t.Errorf("the page is\n%s", text)
		}
		var status struct{ Broken, Standby string }
		if err := json.Unmarshal(data.Body.Bytes(), &status); err != nil || status.Broken != "" || !strings.Contains(status.Standby, "leads") {
			t.Errorf("status: %+v, %v", status, err)
		}
		begun := time.Now()
		if serve(h, "/events"); time.Since(begun) != 30*time.Second {
			t.Errorf("a stream ends after %v, want 30 s", time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = a.Suspend(ctx)
		full.Store(true)
		if err := ja.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, path := range []string{"/readyz", "/leadz"} {
			if w := serve(h, path); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), errFull.Error()) {
				t.Errorf("nobody leads, and the disk is full: %s %d %s", path, w.Code, w.Body)
			}
		}
		full.Store(false)
		time.Sleep(time.Hour)
		ready, page := serve(h, "/readyz"), serve(h, "/")
		if text := page.Body.String(); ready.Code != http.StatusOK || serve(h, "/leadz").Code != http.StatusOK || strings.Contains(text, "Standby: ") || !strings.Contains(text, "a job") {
			t.Errorf("it leads: /readyz %d; the page is\n%s", ready.Code, text)
		}
		_ = b.Suspend(ctx)
		if err := jb.Close(); err != nil {
			t.Error(err)
		}
	})
}
