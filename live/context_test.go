package live_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

// A context that somebody keeps is over for ever, whatever runs in the place of its attempt now: the next attempt of the same
// task, and tasks of other jobs.
func TestKeptContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), live.Options{Slots: 1, Retry: live.Retry{Attempts: 2}}))
		var kept []context.Context
		keep := func(ctx context.Context, task live.Task) error {
			if i := len(kept) - 1; i >= 0 && i%2 == 0 { // every second one was asked for its channel while it ran
				<-kept[i].Done()
			}
			for i, old := range kept {
				if !errors.Is(old.Err(), context.Canceled) || !errors.Is(context.Cause(old), context.Canceled) {
					t.Errorf("context %d after its task: %v because of %v, want %v", i, old.Err(), context.Cause(old), context.Canceled)
				}
				if err := live.Pin(old); !errors.Is(err, context.Canceled) {
					t.Errorf("Pin of context %d after its task = %v", i, err)
				}
			}
			if ctx.Err() != nil {
				t.Errorf("the context of %v attempt %d has ended: %v", task.TaskID, task.Attempt, ctx.Err())
			}
			if len(kept)%2 == 1 {
				ctx.Done()
			}
			if kept = append(kept, ctx); task.Attempt == 1 && task.Job%2 == 1 {
				return errors.New("try again")
			}
			return live.Pin(ctx)
		}
		for range 5 {
			if err := must(p.Submit(bg, bag(2, keep))).Wait(bg); err != nil {
				t.Error(err)
			}
		}
		gate := make(chan struct{})
		h := must(p.Submit(bg, bag(1, func(ctx context.Context, _ live.Task) error { <-gate; return ctx.Err() })))
		for _, old := range kept { // nobody takes them for the attempt that runs
			short, cancel := context.WithTimeout(old, time.Second)
			if err := h.Wait(short); !errors.Is(err, context.Canceled) {
				t.Errorf("Wait with a kept context = %v", err)
			}
			cancel()
		}
		closed := make(chan error)
		go func() { closed <- p.Close(context.WithoutCancel(kept[0])) }()
		synctest.Wait()
		close(gate)
		if err := <-closed; err != nil {
			t.Errorf("Close with a kept context = %v", err)
		}
	})
}

// A task leaves a goroutine that waits for another job, which runs in its place.
func TestWaitOutlivesTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(newFIFO(), live.Options{Slots: 1}))
		waited := make(chan error)
		must(p.Submit(bg, bag(1, func(ctx context.Context, _ live.Task) error {
			h := must(p.Submit(bg, bag(3, func(context.Context, live.Task) error { time.Sleep(time.Second); return nil })))
			go func() { waited <- h.Wait(context.WithoutCancel(ctx)) }()
			time.Sleep(time.Second)
			return nil
		})))
		if err := errors.Join(<-waited, p.Close(bg)); err != nil {
			t.Error(err)
		}
	})
}

// What is said of a phase reaches the policy, also where most jobs say nothing of it.
func TestEachFieldOfPhase(t *testing.T) {
	set := map[string]any{"Tasks": 2, "Class": sojourn.Class(1), "Estimate": time.Second, "Estimates": []time.Duration{time.Second}, "Inputs": sojourn.MakeInputs([][]sojourn.NodeID{{1}}),
		"Bytes": []int64{1}, "Timeout": time.Hour}
	var got *sojourn.Job
	p := must(live.New(newFIFO(), live.Options{Slots: 1, Observer: noteFunc(func(n live.Note) {
		if n.Kind == live.JobSubmitted || n.Kind == live.JobRefused {
			got = n.Job
		}
	})}))
	defer p.Close(bg)
	must(p.AddSlots(1, sojourn.Slot{Class: 1}))
	for _, f := range reflect.VisibleFields(reflect.TypeFor[live.Phase]()) {
		if !f.IsExported() || f.Name == "Run" || f.Name == "After" || f.Name == "Needs" {
			continue // a first phase waits for none
		}
		v := set[f.Name]
		if v == nil {
			t.Errorf("field %s: the test has no value", f.Name)
			continue
		}
		ph := live.Phase{Tasks: 1, Run: nothing}
		reflect.ValueOf(&ph).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(v))
		got = nil
		h, err := p.Submit(bg, live.Job{Phases: []live.Phase{ph}})
		if err == nil {
			err = h.Wait(bg)
		}
		if err != nil {
			t.Errorf("field %s: %v", f.Name, err)
		}
		if f.Name == "Timeout" {
			continue // the pool keeps it
		}
		if there := reflect.ValueOf(got.Phases[0]).FieldByName(f.Name); !reflect.DeepEqual(there.Interface(), v) {
			t.Errorf("field %s: the policy is told %v, want %v", f.Name, there, v)
		}
	}
}

// A job of one task costs at most 3 allocations and 900 bytes, that of its phases by the caller included.
func TestCostOfJob(t *testing.T) {
	const jobs = 4000
	run := func() (objects, bytes uint64) {
		p := must(live.New(newFIFO(), live.Options{Slots: 1}))
		defer p.Close(bg)
		gate := make(chan struct{})
		must(p.Submit(bg, bag(1, func(context.Context, live.Task) error { <-gate; return nil })))
		handles := make([]*live.Handle, jobs)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range handles {
			handles[i] = must(p.Submit(bg, bag(1, nothing)))
		}
		close(gate)
		if err := handles[jobs-1].Wait(bg); err != nil { // the last one
			t.Error(err)
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
	}
	objects, bytes := uint64(math.MaxUint64), uint64(math.MaxUint64)
	for range 3 { // other goroutines of the process allocate, too
		o, b := run()
		objects, bytes = min(objects, o), min(bytes, b)
	}
	t.Logf("%.2f allocations and %d bytes a job", float64(objects)/jobs, bytes/jobs)
	if objects > 3.3*jobs || bytes > 900*jobs {
		t.Errorf("%.2f allocations and %d bytes a job, want at most 3 and 900", float64(objects)/jobs, bytes/jobs)
	}
}
