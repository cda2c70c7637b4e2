package live_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// A job of two phases goes on without as many failed tasks as it allows, under several policies, also if the process ends between.
// What it is told of its progress, and what a tally counts, fits what has happened.
func TestMaxFailedTasks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, m := rapid.IntRange(1, 5).Draw(rt, "tasks"), rapid.IntRange(1, 3).Draw(rt, "tasks of the second phase")
		bad := rapid.SliceOfN(rapid.Bool(), n+m, n+m).Draw(rt, "bad")
		allowed := rapid.IntRange(0, n+m).Draw(rt, "allowed")
		ends := rapid.Bool().Draw(rt, "the process ends")
		cut := time.Duration(rapid.IntRange(0, 6000).Draw(rt, "ms")) * ms
		failing := 0
		for _, b := range bad {
			if b {
				failing++
			}
		}
		synctest.Test(t, func(t *testing.T) {
			w := newDisk()
			var tally live.Tally
			given, succeeded, running := 0, 0, 0
			o := live.Options{Slots: 2, Remember: -1, Retry: live.Retry{Attempts: 2}, Observer: fan{&tally, noteFunc(func(n live.Note) {
				switch n.Kind {
				case live.TaskStarted:
					running++
				case live.TaskEnded:
					if running--; n.Err == nil {
						succeeded++
					}
				case live.TaskGivenUp:
					given++
					if g := tally.Read(); !ends && g.Queued != len(bad)-succeeded-given-running {
						t.Errorf("a tally of %d tasks, of which %d have succeeded, %d were given up and %d run: %+v", len(bad), succeeded, given, running, g)
					}
				}
			})}}
			o.Handlers = map[string]live.Handler{"work": func(ctx context.Context, task live.Task, _ []byte) error {
				if err := sleep(time.Second)(ctx, task); err != nil {
					return err
				}
				if bad[int(task.Phase)*n+int(task.Index)] {
					return errors.New("bad")
				}
				return nil
			}}
			p, j := openDisk(w, o)
			h := must(p.Submit(bg, live.Job{Handler: "work", MaxFailedTasks: allowed, Phases: []live.Phase{{Tasks: n}, {Tasks: m}}}))
			if ends {
				time.Sleep(cut)
				w.end()
				hardStop(p)
				_ = j.Close()
				tally, given = live.Tally{}, 0
				p, j = openDisk(w, o)
				hs := p.Handles()
				if len(hs) == 0 { // it had ended
					_, _ = p.Close(bg), j.Close()
					return
				}
				h = hs[0]
			}
			err := h.Wait(bg)
			pr := h.Progress()
			var failed *live.TaskError
			switch {
			case failing > allowed:
				if !errors.As(err, &failed) || failed.Failures != 2 || pr.FailedTasks != allowed {
					t.Errorf("%d bad ones, %d allowed: %v, %+v", failing, allowed, err, pr)
				}
			case err != nil || pr.FailedTasks != failing || pr.Done != n+m-failing || pr.Failed != 2*failing:
				t.Errorf("%d bad ones, %d allowed: %v, %+v", failing, allowed, err, pr)
			}
			if !ends && given != pr.FailedTasks {
				t.Errorf("%d tasks were given up, and the observer was told of %d", pr.FailedTasks, given)
			}
			if g := tally.Read(); g.Jobs != 0 || g.Queued != 0 || g.Running != 0 {
				t.Errorf("a tally after the end: %+v", g)
			}
			synctest.Wait()
			for key := range j.Kept() {
				t.Errorf("%q is kept after the end of the job", key)
			}
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Error(err)
			}
		})
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

// Policies of all kinds go on after a task was given up.
func TestGivenUpUnderPolicies(t *testing.T) {
	all := common()
	all["srpt"] = constructors.SRPT.With(baseline.SRPTOptions{})
	for name, policy := range all {
		synctest.Test(t, func(t *testing.T) {
			p := must(live.New(policy(), live.Options{Slots: 2}))
			job := live.Job{MaxFailedTasks: 2, Phases: []live.Phase{{Tasks: 4, Run: func(_ context.Context, task live.Task) error {
				if task.Index < 2 {
					return errors.New("bad")
				}
				return nil
			}}, {Tasks: 1, Run: nothing}}}
			h := must(p.Submit(bg, job))
			if err := h.Wait(bg); err != nil || h.Progress().FailedTasks != 2 {
				t.Errorf("%s: %v, %+v", name, err, h.Progress())
			}
			if err := p.Close(bg); err != nil {
				t.Error(err)
			}
		})
	}
}

// A job fails when as many attempts have failed as its budget allows, wherever they did, and whatever process they were in.
func TestBudget(t *testing.T) {
	for budget := 1; budget < 12; budget++ {
		for _, restart := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk()
				failures, tried := 0, map[uint32]int{}
				o := live.Options{Slots: 1, Retry: live.Retry{Attempts: 100, Budget: budget}}
				// Each task fails twice, and then succeeds: five tasks have ten failures.
				o.Handlers = map[string]live.Handler{"work": func(ctx context.Context, task live.Task, _ []byte) error {
					if err := sleep(time.Second)(ctx, task); err != nil {
						return err
					}
					if tried[task.Index]++; tried[task.Index] <= 2 {
						failures++
						return errors.New("bad")
					}
					return nil
				}}
				p, j := openDisk(d, o)
				h := must(p.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: 5}}}))
				for i := 0; restart && i < 4; i++ {
					time.Sleep(2500 * ms)
					d.end()
					hardStop(p)
					_ = j.Close()
					if p, j = openDisk(d, o); len(p.Handles()) == 0 {
						_, _ = p.Close(bg), j.Close()
						if failures != budget {
							t.Errorf("a budget of %d: the job has ended after %d failures", budget, failures)
						}
						return
					}
					h = p.Handles()[0]
				}
				err := h.Wait(bg)
				if budget <= 10 && (!errors.Is(err, live.ErrBudget) || failures != budget) || budget > 10 && err != nil {
					t.Errorf("a budget of %d: %d failures, %v", budget, failures, err)
				}
				if err := errors.Join(p.Close(bg), j.Close()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A process may end at any byte: a job whose tasks fail for good, or fail and then succeed, ends as it would have, and nothing is
// kept of it then.
func TestTornTroubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := live.Options{Slots: 1, Remember: -1, Retry: live.Retry{Attempts: 2}}
		o.Handlers = map[string]live.Handler{"work": func(ctx context.Context, task live.Task, _ []byte) error {
			if task.Index == 0 || task.Index == 1 && task.Attempt == 1 {
				return errors.New("bad")
			}
			return sleep(time.Second)(ctx, task)
		}}
		d := newDisk()
		p, j := openDisk(d, o)
		_ = must(p.Submit(bg, live.Job{Handler: "work", MaxFailedTasks: 1, Phases: []live.Phase{{Tasks: 3}}})).Wait(bg)
		if err := errors.Join(p.Close(bg), j.Close()); err != nil || len(d.segments) != 1 {
			t.Fatalf("%v, %d segments", err, len(d.segments))
		}
		whole := d.segments[1]
		for end := range whole {
			d := newDisk()
			d.segments[1] = whole[:end:end]
			j, err := journal.Open(d, newFIFO(), journal.Options{})
			if err != nil {
				continue // the segment was never made
			}
			p := must(live.New(j, o))
			for _, h := range p.Handles() {
				if err := h.Wait(bg); err != nil || h.Progress().FailedTasks != 1 || h.Progress().Done != 2 || h.Progress().Failed != 2 {
					t.Errorf("%d of %d bytes: %v, %+v", end, len(whole), err, h.Progress())
				}
			}
			synctest.Wait()
			for key := range j.Kept() {
				t.Errorf("%d of %d bytes: %q is kept after the end of the job", end, len(whole), key)
			}
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Errorf("%d of %d bytes: %v", end, len(whole), err)
			}
		}
	})
}
