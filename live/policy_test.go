package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// A policy that is somebody else's is refused in words, and stays as it is.
func TestPolicyInUse(t *testing.T) {
	policies := common()
	policies["locked"] = func() sojourn.Policy { return sojourn.NewLocked(newFIFO()) }
	policies["forecast"] = func() sojourn.Policy { return forecast.New(newFIFO()) }
	copied := func(t *testing.T, p sojourn.Policy, make func() sojourn.Policy, user *live.Pool) sojourn.Policy {
		user.Status() // takes the lock of the pool, as what the pool does before and after the copy
		defer user.Status()
		s, ok := sojourn.As[sojourn.Snapshotter](p)
		if !ok {
			t.Skip("no snapshots")
		}
		data, err := s.AppendBinary(nil)
		if err != nil {
			t.Skip("no snapshots: ", err)
		}
		q := make()
		s, _ = sojourn.As[sojourn.Snapshotter](q)
		if err := s.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		return q
	}
	ahead := func() sojourn.Time { return sojourn.Time(time.Hour) }
	job := &sojourn.Job{ID: 9, Phases: []sojourn.Phase{{Tasks: 1}}}
	for name, newPolicy := range policies {
		for use, tc := range map[string]struct {
			use  func(t *testing.T, p sojourn.Policy) (sojourn.Policy, *live.Pool)
			now  func() sojourn.Time
			word string
		}{
			"in another pool": {func(t *testing.T, p sojourn.Policy) (sojourn.Policy, *live.Pool) {
				return p, must(live.New(p, live.Options{Slots: 1}))
			}, nil, "used before"},
			"in another pool, later": {func(t *testing.T, p sojourn.Policy) (sojourn.Policy, *live.Pool) {
				return p, must(live.New(p, live.Options{Slots: 1}))
			}, ahead, "another pool has it"},
			"restored": {func(t *testing.T, p sojourn.Policy) (sojourn.Policy, *live.Pool) {
				pool := must(live.New(p, live.Options{Slots: 1}))
				time.Sleep(time.Second)
				must(pool.Submit(bg, bag(3, sleep(ms))))
				return copied(t, p, newPolicy, pool), pool
			}, nil, "used before"},
			"restored, later": {func(t *testing.T, p sojourn.Policy) (sojourn.Policy, *live.Pool) {
				pool := must(live.New(p, live.Options{Slots: 1}))
				must(pool.Submit(bg, bag(3, sleep(ms))))
				return copied(t, p, newPolicy, pool), pool
			}, ahead, "snapshot"},
			"has a slot": {func(t *testing.T, p sojourn.Policy) (sojourn.Policy, *live.Pool) {
				return p, observed(t, p, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 77}})
			}, nil, "slot 77"},
			"has a job": {func(t *testing.T, p sojourn.Policy) (sojourn.Policy, *live.Pool) {
				return p, observed(t, p, sojourn.Event{Kind: sojourn.JobArrived, Job: job})
			}, nil, "job 9"},
		} {
			t.Run(name+"/"+use, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, other := tc.use(t, newPolicy())
					if other != nil {
						defer func() { wantError(t, "Close of the other", other.Close(bg), nil) }()
						time.Sleep(time.Minute) // it has reported something
						if err := must(other.Submit(bg, bag(1, sleep(ms)))).Wait(bg); err != nil {
							t.Error(err)
						}
					}
					for range 2 { // it is not taken by the first
						pool, err := live.New(p, live.Options{Slots: 2, Now: tc.now})
						if pool != nil || !errors.Is(err, live.ErrInUse) || !strings.Contains(err.Error(), tc.word) {
							t.Fatalf("New = %v, %v; want ErrInUse and %q", pool, err, tc.word)
						}
					}
				})
			})
		}
		// A policy that a pool has let go of is free, if time goes on.
		for how, end := range map[string]func(*live.Pool) error{
			"Close":   func(p *live.Pool) error { return p.Close(bg) },
			"Suspend": func(p *live.Pool) error { return p.Suspend(bg) },
			"hard": func(p *live.Pool) error {
				ctx, cancel := context.WithCancel(bg)
				cancel()
				_ = p.Close(ctx)
				return nil
			},
		} {
			t.Run(name+"/after "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, start := newPolicy(), time.Now()
					now := func() sojourn.Time { return sojourn.Time(time.Since(start)) }
					for range 2 {
						pool := must(live.New(p, live.Options{Slots: 1, Now: now}))
						for range 3 {
							must(pool.Submit(bg, bag(2, sleep(ms))))
						}
						time.Sleep(ms)
						wantError(t, how, end(pool), nil)
					}
				})
			})
		}
	}
}

// observed reports an event to a policy that no pool has.
func observed(t *testing.T, p sojourn.Policy, ev sojourn.Event) *live.Pool {
	if err := p.Observe(ev); err != nil {
		t.Fatal(err)
	}
	return nil
}

// bare hides all that a policy can do besides to observe and to assign.
type bare struct{ sojourn.Policy }

// A job that New cannot see is a mistake of the driver.
func TestForeignJob(t *testing.T) {
	p := bare{newFIFO()}
	observed(t, p, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 9, Phases: []sojourn.Phase{{Tasks: 1}}}})
	defer func() {
		if x := recover(); !strings.Contains(fmt.Sprint(x), "starts task 9/0/0") {
			t.Errorf("panic %v", x)
		}
	}()
	must(live.New(p, live.Options{Slots: 1}))
}

// What New cannot do costs no job: the journal can be opened again, and has all.
func TestNewThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		handle := func(ctx context.Context, t live.Task, _ []byte) error { return sleep(time.Hour)(ctx, t) }
		j := openFIFO(dir)
		p := must(live.New(j, live.Options{Slots: 1, Handlers: map[string]live.Handler{"sleep": handle, "gone": handle}}))
		job := live.Job{Handler: "sleep", Payload: []byte("1h"), Timeout: 90 * time.Minute, Phases: []live.Phase{{Tasks: 2}}}
		must(p.Submit(bg, job))
		job.Handler = "gone"
		must(p.Submit(bg, job))
		stop, cancel := context.WithCancel(bg)
		cancel()
		_ = p.Suspend(stop)
		wantError(t, "Close", j.Close(), nil)

		j = openFIFO(dir)
		var tally live.Tally
		if _, err := live.New(fewSlots{j}, live.Options{Slots: 5, Observer: &tally, Handlers: map[string]live.Handler{"sleep": handle, "gone": nil}}); err == nil {
			t.Error("a handler that is nil was accepted")
		}
		time.Sleep(10 * time.Hour) // no timer is left
		if n := j.Account().Live(); n != 2 {
			t.Errorf("%d jobs in the journal after a pool without a handler, want 2", n)
		}
		wantError(t, "Close", j.Close(), nil)
		j = openFIFO(dir)
		_, err := live.New(fewSlots{j}, live.Options{Slots: 5, Observer: &tally, Handlers: map[string]live.Handler{"sleep": handle, "gone": handle},
			Now: func() sojourn.Time { return j.Account().Now() }}) // before the time of the jobs is over
		wantError(t, "New with too many slots", err, errFewSlots)
		if g := tally.Read(); g != (live.Gauges{}) {
			t.Errorf("gauges of a pool that is not there: %+v", g)
		}
		time.Sleep(10 * time.Hour)
		if n := j.Account().Live(); n != 2 {
			t.Errorf("%d jobs in the journal, want 2", n)
		}
		wantError(t, "Close", j.Close(), nil)
	})
}

var errFewSlots = errors.New("not more than two slots")

// fewSlots refuses more than two slots.
type fewSlots struct{ *journal.Journal }

func (f fewSlots) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.SlotAdded && ev.Slot.ID > 1 {
		return &sojourn.EventError{Event: ev, Err: errFewSlots}
	}
	return f.Journal.Observe(ev)
}
