package statuspage_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// A file system gets full under a pool with its page open. The page answers, the pool says that it is broken, and when there is
// room again the jobs that were acknowledged go on. It needs the right to mount a file system.
func TestFullFileSystem(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("a small file system cannot be mounted: ", err)
		}
		t.Skip("a small file system cannot be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast, folder := filepath.Join(dir, "ballast"), filepath.Join(dir, "jobs")
	if err := errors.Join(os.WriteFile(ballast, make([]byte, 256<<10), 0o600), os.Mkdir(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	open := func() (*live.Pool, *journal.Journal) {
		store, err := journal.OpenFiles(folder)
		if err != nil {
			t.Fatal(err)
		}
		policy, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(store, policy, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := live.New(j, live.Options{Slots: 2, Handlers: map[string]live.Handler{"h": func(ctx context.Context, _ live.Task, _ []byte) error {
			select {
			case <-gate:
			case <-ctx.Done():
			}
			return context.Cause(ctx)
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return p, j
	}
	p, j := open()
	h := statuspage.Handler(p)
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for path, want := range map[string]int{"/": 200, "/status.json": 200, "/readyz": 0} {
				if w := serve(h, path); w.Code != want && want != 0 {
					t.Errorf("%s: status %d", path, w.Code)
				}
			}
		}
	})
	var acknowledged []*live.Handle
	var err error
	for err == nil {
		var hd *live.Handle
		if hd, err = p.Submit(t.Context(), live.Job{Handler: "h", Payload: make([]byte, 8<<10), Phases: []live.Phase{{Tasks: 1}}}); err == nil {
			acknowledged = append(acknowledged, hd)
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || len(acknowledged) == 0 {
		t.Errorf("Submit after %d jobs: %v", len(acknowledged), err)
	}
	for _, hd := range acknowledged {
		if err := hd.Wait(t.Context()); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Wait: %v", err)
		}
	}
	close(stop)
	all.Wait()
	if w := serve(h, "/readyz"); w.Code != http.StatusServiceUnavailable || !errors.Is(p.Err(), syscall.ENOSPC) {
		t.Errorf("/readyz: status %d, Err %v", w.Code, p.Err())
	}
	if err := p.Close(t.Context()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: %v", err)
	}
	_ = j.Close()

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p, j = open()
	again := p.Handles() // before the first of them can end
	close(gate)
	if n := len(again); n != len(acknowledged) && n != len(acknowledged)+1 { // the one that did not fit may have been written in full
		t.Errorf("%d jobs go on, and %d were acknowledged", n, len(acknowledged))
	}
	for _, hd := range again {
		if err := hd.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if w := serve(statuspage.Handler(p), "/readyz"); w.Code != 200 {
		t.Errorf("/readyz with room: status %d", w.Code)
	}
	if err := errors.Join(p.Close(t.Context()), j.Close()); err != nil {
		t.Error(err)
	}
}
