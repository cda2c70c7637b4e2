package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/kit/release"
	"github.com/sojourn-sched/sojourn/live"
)

// A job starts at its release time, and jobs of a sequence run one after the other, also while one waits for its
// retry. Both hold over a restart.
func TestReleaseAndSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, start := t.TempDir(), time.Now()
		var mu sync.Mutex
		var ran []string
		open := func() (*live.Pool, *journal.Journal) {
			j := must(journal.Open(must(journal.OpenFiles(dir)), release.New(newFIFO()), journal.Options{}))
			return must(live.New(j, live.Options{Slots: 4, Retry: live.Retry{Attempts: 2, Backoff: 30 * time.Second}, Handlers: map[string]live.Handler{
				"work": func(ctx context.Context, task live.Task, payload []byte) error {
					mu.Lock()
					ran = append(ran, fmt.Sprintf("%s.%d at %v", payload, task.Attempt, time.Since(start)))
					mu.Unlock()
					if err := sleep(10*time.Second)(ctx, task); err != nil {
						return err
					}
					if string(payload) == "a1" && task.Attempt == 1 {
						return errors.New("once")
					}
					return nil
				},
			}})), j
		}
		p, j := open()
		submit := func(name string, after time.Duration, sequence string) {
			job := live.Job{Handler: "work", Payload: []byte(name), Release: after, Sequence: sequence, Phases: []live.Phase{{Tasks: 1}}}
			if _, err := p.Submit(bg, job); err != nil {
				t.Fatal(err)
			}
		}
		submit("later", 100*time.Second, "")
		submit("a1", 0, "a")
		submit("a2", 0, "a")
		submit("b1", 20*time.Second, "b")
		submit("a3", 90*time.Second, "a")
		submit("b2", 0, "b")
		time.Sleep(45 * time.Second) // a1 was tried once more
		if why, _ := p.Explain(3); fmt.Sprint(why[0]) != `why=waits for job 2, the one before it in sequence "a"` {
			t.Errorf("job 3: %v", why)
		}
		time.Sleep(14 * time.Second)
		if err := errors.Join(p.Suspend(bg), j.Close()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		p, j = open()
		for _, h := range p.Handles() {
			if err := h.Wait(bg); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Error(err)
		}
		want := []string{"a1.1 at 0s", "b1.1 at 20s", "b2.1 at 30s", "a1.2 at 40s", "a2.1 at 50s", "a3.1 at 1m30s", "later.1 at 1m40s"}
		if !slices.Equal(ran, want) {
			t.Errorf("ran %q, want %q", ran, want)
		}
	})
}

// Without the wrapper a policy refuses such jobs by name, and wrong times are refused by all.
func TestReleaseIsRefused(t *testing.T) {
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		one := []live.Phase{{Tasks: 1, Run: sleep(0)}}
		_, err := p.Submit(bg, live.Job{Release: time.Second, Phases: one})
		wantError(t, "a release time", err, sojourn.ErrUnsupported)
		_, err = p.Submit(bg, live.Job{Sequence: "a", Phases: one})
		wantError(t, "a sequence", err, sojourn.ErrUnsupported)
		if _, err = p.Submit(bg, live.Job{Release: -1, Phases: one}); err == nil {
			t.Error("a negative release time is accepted")
		}
	})
}

// With Drop, a policy that knows no releases, sequences and priorities runs the job as if it had none, and what it knows stays. The observer
// is told of the same job.
func TestDrop(t *testing.T) {
	all := sojourn.FeatureRelease | sojourn.FeatureSequence | sojourn.FeaturePriority | sojourn.FeatureParallelism
	told := sojourn.Features(0)
	watch := observerFunc(func(n live.Note) {
		if n.Job != nil {
			told |= n.Job.Features() & all
		}
	})
	inPool(t, live.Options{Slots: 2, Drop: all, Observer: watch}, func(t *testing.T, p *live.Pool) {
		at := time.Now()
		h, err := p.Submit(bg, live.Job{Release: time.Hour, Sequence: "a", Priority: 7, Parallelism: 1, Phases: []live.Phase{{Tasks: 2, Run: sleep(time.Second)}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(h.SetPriority(9), h.Wait(bg)); err != nil {
			t.Error(err)
		}
		if took := time.Since(at); took != 2*time.Second {
			t.Errorf("two tasks of 1 s of a job of parallelism 1 took %v, want 2s", took)
		}
	})
	if told != sojourn.FeatureParallelism {
		t.Errorf("the observer is told of jobs that have %v", told)
	}
}
