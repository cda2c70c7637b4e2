package nats_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// A diary is a log that may be read while it is written.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

func (d *diary) has(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Contains(d.text.String(), text)
}

// Somebody deletes, purges or limits what the queue is made of, or the server forgets everything. What is missing is made anew, the log says so, and
// tasks that are put in later run, each once, by the gate and the workers that were there. Tasks that are still there then run, too.
func TestOperator(t *testing.T) {
	const old, later = 40, 8
	limit := func(change func(*js.StreamConfig)) func(*host, js.JetStream) error {
		return func(h *host, api js.JetStream) error {
			s, err := api.Stream(h.t.Context(), "SOJOURN_jobs_HELD")
			if err != nil {
				return err
			}
			was, is := s.CachedInfo().Config, s.CachedInfo().Config
			change(&is)
			if _, err = api.UpdateStream(h.t.Context(), is); err != nil {
				return err
			}
			time.Sleep(300 * time.Millisecond)
			_, err = api.UpdateStream(h.t.Context(), was)
			return err
		}
	}
	remove := func(names ...string) func(*host, js.JetStream) error {
		return func(h *host, api js.JetStream) error {
			for _, name := range names {
				if err := api.DeleteStream(h.t.Context(), name); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, tc := range []struct {
		name  string
		deed  func(h *host, api js.JetStream) error
		lost  int    // of the old tasks, at most
		again bool   // those that run in this moment may run once more
		said  string // in the log
	}{
		{"held stream purged", func(h *host, api js.JetStream) error {
			s, err := api.Stream(h.t.Context(), "SOJOURN_jobs_HELD")
			if err != nil {
				return err
			}
			return s.Purge(h.t.Context())
		}, old, false, ""},
		{"held stream with a largest number", limit(func(c *js.StreamConfig) { c.MaxMsgs = 5 }), old, false, ""},
		{"held stream with an age", limit(func(c *js.StreamConfig) { c.Duplicates, c.MaxAge = 100*time.Millisecond, 100*time.Millisecond }), old, false, ""},
		{"held stream deleted", remove("SOJOURN_jobs_HELD"), old, false, "SOJOURN_jobs_HELD is another one"},
		{"work stream deleted", remove("SOJOURN_jobs_WORK"), 2, false, "SOJOURN_jobs_WORK is another one"},
		{"both deleted, and made by somebody else", func(h *host, api js.JetStream) error {
			for _, name := range []string{"SOJOURN_jobs_HELD", "SOJOURN_jobs_WORK"} {
				s, err := api.Stream(h.t.Context(), name)
				if err == nil {
					err = api.DeleteStream(h.t.Context(), name)
				}
				if err == nil {
					_, err = api.CreateStream(h.t.Context(), s.CachedInfo().Config)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}, old, false, "is another one"},
		{"bucket deleted", remove("KV_SOJOURN_jobs"), 0, false, ""}, // who makes it anew first, gate or worker, is chance
		{"consumer deleted", func(h *host, api js.JetStream) error {
			return api.DeleteConsumer(h.t.Context(), "SOJOURN_jobs_WORK", "workers")
		}, 0, true, ""},
		{"all deleted", remove("KV_SOJOURN_jobs", "SOJOURN_jobs_WORK", "SOJOURN_jobs_HELD", "SOJOURN_jobs_GONE"), old, false, ""},
		{"the server forgets", func(h *host, _ js.JetStream) error {
			h.e.stop(0)
			if err := os.RemoveAll(h.e.options[0].StoreDir); err != nil {
				return err
			}
			return h.e.start(0)
		}, old, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, newEngine(t, 1), options)
			log := &diary{}
			g, _ := h.gate(gate.Options{Compare: quick.Compare, Log: slog.New(slog.NewTextHandler(log, nil))})
			h.serve(2)
			h.enqueue("old", old, 20*time.Millisecond)
			h.wait(8)
			if err := tc.deed(h, must(js.New(h.conn))); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			put := h.tasks("new", later, 5*time.Millisecond)
			until(t, "tasks can be put in", func() bool { return h.queue.Enqueue(t.Context(), gate.Job{ID: "new"}, put...) == nil })
			until(t, "the new tasks have ended", func() bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				n := 0
				for i := range put {
					n += h.ends[put[i].ID]
				}
				return n >= later
			})
			t.Logf("the new tasks have ended %v later", time.Since(start))
			until(t, "the log says "+tc.said, func() bool { return log.has(tc.said) })
			until(t, "the gate is idle and sees nothing amiss", func() bool { s := g.Status(); return s.Held+s.Released == 0 && len(s.Fails) == 0 })
			h.mu.Lock()
			defer h.mu.Unlock()
			if n := len(h.ends); n < old+later-tc.lost {
				t.Errorf("%d tasks have ended, want at least %d", n, old+later-tc.lost)
			}
			twice := 0
			for id, n := range h.runs {
				if twice += n - 1; n > 1 && !tc.again {
					t.Errorf("task %s has run %d times, want once", id, n)
				}
			}
			if twice > 2 {
				t.Errorf("%d runs too many, want at most one for each worker", twice)
			}
		})
	}
}

// The gate of a queue whose server is away, or whose streams are gone, says so and ends when it is told to.
func TestEndsWithoutServer(t *testing.T) {
	t.Parallel()
	h := newHost(t, newEngine(t, 1), options)
	g, stop := h.gate(quick)
	h.enqueue("a", 5, 0)
	until(t, "the gate decides", func() bool { s := g.Status(); return s.Decides && s.Held == 5 && len(s.Fails) == 0 })
	h.e.stop(0)
	until(t, "the gate says what is wrong", func() bool { return len(g.Status().Fails) > 0 })
	start := time.Now()
	stop()
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("the gate has ended %v after it was told to", took)
	}
	if fails := fmt.Sprint(g.Status().Fails); fails != "[]" {
		t.Errorf("it says %s after its end, want nothing", fails)
	}
}
