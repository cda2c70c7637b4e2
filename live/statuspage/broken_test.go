package statuspage_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// A disk fails at a call that writes, and at all after it.
type disk struct {
	journal.Store
	mu   sync.Mutex
	left int
}

var errFull = errors.New("no space left")

func (d *disk) write(call func() error) error {
	d.mu.Lock()
	d.left--
	full := d.left < 0
	d.mu.Unlock()
	if full {
		return errFull
	}
	return call()
}

func (d *disk) Create(segment uint64, data []byte) error {
	return d.write(func() error { return d.Store.Create(segment, data) })
}

func (d *disk) Append(segment uint64, data []byte) error {
	return d.write(func() error { return d.Store.Append(segment, data) })
}

func (d *disk) Sync(segment uint64) error {
	return d.write(func() error { return nil }) // nothing is lost with the power here
}

// A listener hears that the pool is broken, and counts.
type listener struct {
	live.Tally
	broken []error
}

func (l *listener) Note(n live.Note) {
	l.Tally.Note(n)
	if n.Kind == live.PoolBroken {
		l.broken = append(l.broken, n.Err)
	}
}

func serve(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

// The disk is full from each call on in turn, while the page is open and questions are asked: all are answered, before
// and after. The pool says that it is broken, in each way that there is, and in none of them before.
func TestFullDisk(t *testing.T) {
	for n, whole := 0, false; !whole; n++ {
		synctest.Test(t, func(t *testing.T) {
			files, err := journal.OpenFiles(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			store := &disk{Store: files, left: n}
			policy, err := leastwork.New(leastwork.Options{})
			if err != nil {
				t.Fatal(err)
			}
			w := forecast.New(policy)
			j, err := journal.Open(store, w, journal.Options{SnapshotBytes: 2000})
			if err != nil {
				return // the journal tells
			}
			var heard listener
			run := func(ctx context.Context, task live.Task, _ []byte) error {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				if task.Attempt == 1 && task.Index == 1 {
					return errors.New("it fails at first")
				}
				return nil
			}
			p, err := live.New(j, live.Options{Slots: 2, Observer: &heard, Handlers: map[string]live.Handler{"h": run},
				Retry: live.Retry{Attempts: 2, Backoff: time.Second}})
			if err != nil {
				if !errors.Is(err, errFull) {
					t.Errorf("New: %v", err)
				}
				_ = j.Close()
				return
			}
			h := statuspage.Handler(p, statuspage.WithForecast(w, func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }))
			ask := func() {
				before := p.Err()
				ready := serve(h, "/readyz")
				after := p.Err()
				if (before != nil) != (ready.Code == 503) && (after != nil) != (ready.Code == 503) || ready.Code != 503 && ready.Code != 200 {
					t.Errorf("Err %v, then /readyz %d %q", before, ready.Code, ready.Body)
				}
				html, data := serve(h, "/?jobs=2"), serve(h, "/status.json")
				var pg statuspage.Page
				if err := json.Unmarshal(data.Body.Bytes(), &pg); err != nil || html.Code != 200 || data.Code != 200 {
					t.Errorf("the page: %d, as JSON %d: %v", html.Code, data.Code, err)
				}
				if after != nil && (pg.Broken != after.Error() || !strings.Contains(html.Body.String()+serve(h, "/").Body.String(), "The pool is broken")) {
					t.Errorf("the page of a broken pool: %+v", pg)
				}
				for _, job := range p.Handles() {
					job.Explain()
					job.Progress()
				}
				for id := range sojourn.JobID(8) {
					p.Explain(id)
				}
				if g := heard.Read(); after != nil && !g.Broken {
					t.Errorf("the gauges of a broken pool: %+v", g)
				}
			}
			stop := make(chan struct{})
			var all sync.WaitGroup
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(330 * time.Millisecond):
						ask()
					}
				}
			})
			var handles []*live.Handle
			for range 3 {
				hd, err := p.Submit(t.Context(), live.Job{Name: "n", Handler: "h", Phases: []live.Phase{{Tasks: 2}, {Tasks: 1}}})
				if err == nil {
					handles = append(handles, hd)
				} else if !errors.Is(err, errFull) {
					t.Errorf("Submit: %v", err)
				}
				time.Sleep(700 * time.Millisecond)
			}
			bad := false
			for _, hd := range handles {
				if err := hd.Wait(t.Context()); err != nil {
					bad = true
					if !errors.Is(err, errFull) {
						t.Errorf("Wait: %v", err)
					}
				}
			}
			ask()
			broken := p.Err()
			if (bad || len(handles) < 3) && broken == nil {
				t.Errorf("%d jobs of 3 were accepted, one has failed: %v; and the pool is not broken", len(handles), bad)
			}
			if broken != nil {
				if ids, err := p.AddSlots(1, sojourn.Slot{}); !errors.Is(err, errFull) {
					t.Errorf("AddSlots = %v, %v", ids, err)
				}
				for _, leave := range []func(sojourn.SlotID) error{p.Drain, p.Remove} {
					if err := leave(0); !errors.Is(err, errFull) {
						t.Errorf("a slot leaves: %v", err)
					}
				}
				if g := heard.Read(); g.Jobs != 0 || g.Queued != 0 || g.Running != 0 {
					t.Errorf("all jobs have ended, and the gauges are %+v", g)
				}
				if st := p.Status(); len(st.Jobs) != 0 || !errors.Is(st.Err, errFull) {
					t.Errorf("all jobs have ended, and the status is %+v", st)
				}
			}
			err = p.Close(t.Context())
			close(stop)
			all.Wait()
			ask()
			switch {
			case p.Err() == nil && err == nil && len(heard.broken) == 0:
				whole = len(handles) == 3
			case !errors.Is(p.Err(), errFull) || !errors.Is(err, errFull) || len(heard.broken) != 1 || !errors.Is(heard.broken[0], errFull):
				t.Errorf("Err %v, Close %v, notes %v", p.Err(), err, heard.broken)
			}
			_ = j.Close()
			ask()
		})
		if t.Failed() {
			t.Fatalf("the disk is full from call %d on", n)
		}
		if n > 1000 {
			t.Fatal("the store never works")
		}
	}
}

// A pool that works, works no more, or was closed in order is ready, unless it is broken.
func TestReady(t *testing.T) {
	inPool(t, func(t *testing.T, p *live.Pool) {
		for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": http.StatusMethodNotAllowed} {
			if w := get(p, method, "/readyz"); w.Code != want {
				t.Errorf("%s /readyz: status %d, want %d", method, w.Code, want)
			}
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if w := get(p, "GET", "/readyz"); w.Code != 200 || p.Err() != nil {
			t.Errorf("/readyz of a pool that was closed: status %d, %v", w.Code, p.Err())
		}
	})
}
