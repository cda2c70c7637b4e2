package sojourntest

import (
	"cmp"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// The history shown for a broken policy is small, although the history that found it has
// names and times from the ends of their ranges; and it is found within a number of
// calls.
func TestFailureIsSmall(t *testing.T) {
	const (
		most   = 1_000_000          // calls of all policies that the shrinker makes
		length = 7                  // of a history
		names  = sojourn.JobID(3)   // of jobs
		jobs   = 2                  // that are told of
		last   = 5 * 1e9            // the greatest time, which one of them needs
		large  = sojourn.JobID(1e9) // what it starts from has a greater name
	)
	for _, tc := range []struct {
		name      string
		newPolicy func() sojourn.Policy
		o         Options
	}{
		{"the attempt number does not advance", func() sojourn.Policy { return newFIFO(attemptStuck) }, Options{}},
		{"a refused task never runs again", func() sojourn.Policy { return newFIFO(refusedTaskLost) }, Options{}},
		{"a cancelled job stays when its last attempt has ended", func() sojourn.Policy { return newFIFO(keepsCancelled) }, Options{}},
		{"ties go by job ID", func() sojourn.Policy { return newFIFO(lowestID) }, Options{}},
		{"NextWake does not move on", func() sojourn.Policy { return newFull(wakeStuck) }, fullOptions()},
		{"snapshots lack the nodes that are down", func() sojourn.Policy { return newFull(snapshotLacks) }, fullOptions()},
	} {
		for seed, found := uint64(1), false; !found; seed++ {
			if seed == 10_000 {
				t.Fatalf("%s: none of the first %d histories shows it", tc.name, seed)
			}
			b := try(tc.newPolicy, &tc.o, newChance(seed, 30))
			if b == nil || b.shown.timeBefore(len(b.shown)) < lastTime/2 || !b.shown.names(large) {
				continue
			}
			found = true
			calls := 0
			count := func() sojourn.Policy { return counted{tc.newPolicy(), &calls} }
			least := b.shrink(count, &tc.o)
			if least.law != b.law {
				t.Errorf("%s, seed %d: another law is broken:\n%v\n%v", tc.name, seed, b, least)
			}
			h := least.shown
			if len(h) > length || h.names(names) || h.crowd() > jobs || h.timeBefore(len(h)) > last || calls > most {
				t.Errorf("%s, seed %d: %d calls became %d, of %d jobs, in %d calls:\n%v", tc.name, seed, len(b.shown), len(h), h.crowd(), calls, h)
			}
			t.Logf("%s, seed %d: %d calls became %d, in %d calls until %v", tc.name, seed, len(b.shown), len(h), calls, time.Duration(h.timeBefore(len(h))))
		}
	}
}

// So is a history that only its replays show to be broken, some time after what is wrong: a policy takes the time for
// the time since an attempt began, and serves the job that has had the least.
func TestFailureOfReplaysIsSmall(t *testing.T) {
	const length = 16
	newPolicy := func() sojourn.Policy {
		return &attained{queue.NewJobs(queue.JobOrder[sojourn.Time, [2]uint64]{
			Key:  func(j *ledger.Job[sojourn.Time]) [2]uint64 { return [2]uint64{uint64(j.Data), j.Seq()} },
			Less: func(a, b [2]uint64) bool { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) < 0 },
		})}
	}
	o := Options{ChargesLostWork: true, ChargesFailures: true}
	for seed, found := uint64(1), false; !found; seed++ {
		if seed == 1000 {
			t.Fatalf("none of the first %d histories shows it", seed)
		}
		b := try(newPolicy, &o, newChance(seed, 60))
		if b == nil || b.law != lawEpoch {
			continue
		}
		found = true
		least := b.shrink(newPolicy, &o)
		if least.law != b.law || len(least.shown) > length {
			t.Errorf("seed %d: %d calls became %d, want %d at most:\n%v\n%v", seed, len(b.shown), len(least.shown), length, least, least.shown)
		}
		t.Logf("seed %d: %d calls became %d", seed, len(b.shown), len(least.shown))
	}
}

type attained struct {
	*queue.Jobs[sojourn.Time, [2]uint64]
}

func (p *attained) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	c := p.Apply(&ev)
	if ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskFailed {
		c.Job.Data += min(ev.At, 1<<50)
	}
	p.File(&ev, c)
	return nil
}

func (p *attained) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	j, a := p.Take(id)
	if j == nil {
		return sojourn.Assignment{}, false
	}
	p.Update(j)
	return a, true
}

// names reports whether a job with a name above most is told of.
func (h history) names(most sojourn.JobID) bool {
	for i := range h {
		if j := h[i].ev.Job; j != nil && j.ID > most {
			return true
		}
	}
	return false
}

// crowd returns how many jobs are told of.
func (h history) crowd() int {
	seen := map[sojourn.JobID]bool{}
	for i := range h {
		if j := h[i].ev.Job; j != nil {
			seen[j.ID] = true
		}
	}
	return len(seen)
}

// counted counts calls.
type counted struct {
	sojourn.Policy
	calls *int
}

func (p counted) Observe(ev sojourn.Event) error {
	*p.calls++
	return p.Policy.Observe(ev)
}

func (p counted) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	*p.calls++
	return p.Policy.Assign(id)
}

func (p counted) Unwrap() sojourn.Policy { return p.Policy }
