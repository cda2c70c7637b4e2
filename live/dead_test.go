package live_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// A payload of 64 MiB has ended its process, and the disk is full when the next one learns that, or when it tells of it. The pool says so, goes on by itself, tells once of the job, which is there
// with its payload in the next process, too, and is submitted anew by hand.
func TestLargeDeadJobAtAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("payloads of 64 MiB are written and read some twenty times, which takes seconds: left out with -short")
	}
	for _, when := range []string{"it learns that", "it tells of it"} {
		synctest.Test(t, func(t *testing.T) {
			dir, copied := t.TempDir(), t.TempDir()
			const size = 64 << 20
			runs := make(chan struct{}, 1)
			var told []live.Outcome
			var notes stallNotes
			var store *sick
			var p *live.Pool
			tells := func() {}
			begun := make(chan struct{}) // p is that of the second process
			open := func(dir string) (*live.Pool, *journal.Journal) {
				store = &sick{Store: must(journal.OpenFiles(dir))}
				j := must(journal.Open(store, newFIFO(), journal.Options{Retry: true}))
				if when == "it learns that" && dir == copied && len(told) == 0 {
					store.full.Store(true)
				}
				return must(live.New(j, live.Options{Slots: 1, Retry: live.Retry{Attempts: 1, Deaths: 1}, Observer: &notes,
					OnEnd: func(_ context.Context, e live.Ended) error {
						if len(e.Payload) != size {
							t.Errorf("told of a job whose payload has %d bytes", len(e.Payload))
						}
						<-begun
						tells()
						told = append(told, e.Outcome)
						return nil
					},
					Handlers: map[string]live.Handler{"poison": func(ctx context.Context, _ live.Task, payload []byte) error {
						runs <- struct{}{}
						<-ctx.Done()
						return ctx.Err()
					}}})), j
			}
			p, j := open(dir)
			job := live.Job{Handler: "poison", Payload: make([]byte, size), Key: "key", Phases: []live.Phase{{Tasks: 1}}}
			must(p.Submit(bg, job))
			<-runs
			must(0, os.CopyFS(copied, os.DirFS(dir))) // it is killed
			stop, cancel := context.WithCancel(bg)
			cancel()
			_ = p.Suspend(stop)
			_ = j.Close()
			notes.kinds = nil

			if when == "it tells of it" {
				tells = func() {
					tells = func() {}
					store.full.Store(true)
					ctx, cancel := context.WithTimeout(bg, time.Second)
					defer cancel()
					other := job
					other.Payload, other.Key = nil, ""
					if _, err := p.Submit(ctx, other); !errors.Is(err, live.ErrStalled) {
						t.Errorf("Submit at the full disk: %v", err)
					}
				}
			}
			p, j = open(copied)
			close(begun)
			time.Sleep(time.Second) // each try copies all of it
			if err := p.Err(); !errors.Is(err, live.ErrStalled) || !errors.Is(p.Status().Err, live.ErrStalled) {
				t.Errorf("%s: Err is %v", when, err)
			}
			store.full.Store(false)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if err := p.Err(); err != nil || fmt.Sprint(told) != "[dead]" || !slices.Equal(notes.kinds, []live.NoteKind{live.PoolStalled, live.PoolMended}) {
				t.Errorf("%s: then Err is %v; OnEnd was told of %v, the observer of %v", when, err, told, notes.kinds)
			}
			if when == "it tells of it" { // the client gave up, and the job runs
				<-runs
			}
			if err := errors.Join(p.Suspend(stop), j.Close()); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			p, j = open(copied)
			dead := slices.DeleteFunc(p.Ended(), func(e live.Ended) bool { return e.Outcome != live.Dead })
			if len(dead) != 1 || len(dead[0].Payload) != size {
				t.Errorf("%s: the next process lists %d dead jobs", when, len(dead))
			}
			h := must(p.Retry(bg, dead[0].ID))
			if n := len(h.Payload()); n != size || h.Key() != "key" {
				t.Errorf("submitted anew, it has a payload of %d bytes and key %q", n, h.Key())
			}
			if err := p.Suspend(stop); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			_ = j.Close()
			if fmt.Sprint(told) != "[dead]" {
				t.Errorf("%s: OnEnd was told of %v", when, told)
			}
		})
	}
}
