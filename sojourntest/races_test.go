package sojourntest

import (
	"cmp"
	"math/bits"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
	"pgregory.net/rapid"
)

// A server serves the job with the least key of the service that its tasks have had.
type server struct {
	*queue.Jobs[uint64, [2]uint64]
	hears func(*sojourn.Event, *ledger.Job[uint64])
}

func newServer(key func(served uint64) uint64, hears func(*sojourn.Event, *ledger.Job[uint64])) func() sojourn.Policy {
	return func() sojourn.Policy {
		return &server{hears: hears, Jobs: queue.NewJobs(queue.JobOrder[uint64, [2]uint64]{
			Key:  func(j *ledger.Job[uint64]) [2]uint64 { return [2]uint64{key(j.Data), j.Seq()} },
			Less: func(a, b [2]uint64) bool { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) < 0 },
		})}
	}
}

func (p *server) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	c := p.Apply(&ev)
	if c.Job != nil {
		if ev.Kind == sojourn.TaskFinished {
			c.Job.Data += uint64(ev.Service)
		}
		p.hears(&ev, c.Job)
	}
	p.File(&ev, c)
	return nil
}

func (p *server) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	j, a := p.Take(id)
	if j == nil {
		return sojourn.Assignment{}, false
	}
	p.Update(j)
	return a, true
}

func hearsNothing(*sojourn.Event, *ledger.Job[uint64]) {}

// What is told of a job and says nothing must move it neither forward nor back.
func TestVainEvents(t *testing.T) {
	forgets := func(kind sojourn.EventKind) func(*sojourn.Event, *ledger.Job[uint64]) {
		return func(ev *sojourn.Event, j *ledger.Job[uint64]) {
			if ev.Kind == kind {
				j.Data = 0
			}
		}
	}
	charges := func(kind sojourn.EventKind) func(*sojourn.Event, *ledger.Job[uint64]) {
		return func(ev *sojourn.Event, j *ledger.Job[uint64]) {
			if ev.Kind == kind {
				j.Data += uint64(5 * time.Second)
			}
		}
	}
	for name, tc := range map[string]struct {
		hears func(*sojourn.Event, *ledger.Job[uint64])
		want  string // what the failure quotes, "" if there is none
	}{
		"hears nothing of it":                          {hearsNothing, ""},
		"forgets its service when a task is held":      {forgets(sojourn.TaskHeld), "held and released when it comes and at each end of a task, a job starts its tasks earlier"},
		"forgets its service when a task is released":  {forgets(sojourn.TaskReady), "held and released when it comes and at each end of a task, a job starts its tasks earlier"},
		"forgets its service when it is revised":       {forgets(sojourn.JobRevised), "revised when it comes and at each end of a task, a job starts its tasks earlier"},
		"is charged five seconds if a task is held":    {charges(sojourn.TaskHeld), "held and released when it comes and at each end of a task, a job starts its tasks later"},
		"is charged five seconds if it is revised":     {charges(sojourn.JobRevised), "revised when it comes and at each end of a task, a job starts its tasks later"},
		"forgets its service when a task is done":      {forgets(sojourn.TaskDone), ""},
		"is charged five seconds more for each finish": {charges(sojourn.TaskFinished), ""},
	} {
		newPolicy := newServer(func(served uint64) uint64 { return served }, tc.hears)
		for _, o := range []Options{{}, {IgnoresWeights: true}} {
			got := recorded(t, func(tb rapid.TB) { checkRaces(tb, newPolicy, o) })
			if tc.want == "" != (got == "") || tc.want != "" && (!strings.Contains(got, "law of vain events: ") || !strings.Contains(got, tc.want)) {
				t.Errorf("a job %s: sojourntest says\n%s\nwant %q", name, got, tc.want)
			}
		}
	}
}

// Numbers that wrap around are found, in whatever unit. Times that a policy knows are not held against it, nor are logarithms.
func TestLongTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		key func(served uint64) uint64
		ok  bool
	}{
		"64 bits":                        {func(served uint64) uint64 { return served }, true},
		"nothing":                        {func(served uint64) uint64 { return 0 }, true},
		"logarithm":                      {func(served uint64) uint64 { return uint64(bits.Len64(served)) }, true},
		"at most an hour":                {func(served uint64) uint64 { return min(served, uint64(time.Hour)) }, true},
		"at most 100 days":               {func(served uint64) uint64 { return min(served, 100*24*uint64(time.Hour)) }, true},
		"seconds in 32 bits":             {func(served uint64) uint64 { return uint64(uint32(served / 1e9)) }, true}, // 136 years
		"nanoseconds in 32 bits":         {func(served uint64) uint64 { return uint64(uint32(served)) }, false},
		"nanoseconds in 31 bits, signed": {func(served uint64) uint64 { return uint64(1<<31 + int64(int32(served))) }, false},
		"microseconds in 32 bits":        {func(served uint64) uint64 { return uint64(uint32(served / 1e3)) }, false},
		"milliseconds in 32 bits":        {func(served uint64) uint64 { return uint64(uint32(served / 1e6)) }, false},
		"48 bits":                        {func(served uint64) uint64 { return served & (1<<48 - 1) }, false},
	} {
		got := recorded(t, func(tb rapid.TB) { checkLong(tb, newServer(tc.key, hearsNothing), Options{}) })
		if tc.ok != (got == "") || !tc.ok && !strings.Contains(got, "law of long times: ") {
			t.Errorf("a policy that compares the service in %s: sojourntest says\n%s", name, got)
		}
	}
}
