package sojourntest

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A charging policy serves jobs in the order of arrival, but a job goes to the end of the queue when
// an attempt of it ends that is charged.
type charging struct {
	*fifo
	charges func(*charging, *sojourn.Event, *sojourn.Job) bool
	starts  map[sojourn.TaskID]sojourn.Time // of live attempts
	failed  int                             // attempts by themselves
	refused map[sojourn.JobID]int           // attempts of live jobs
	waits   map[sojourn.JobID]bool          // a job was refused an attempt, and none has finished since
}

func (p *charging) Observe(ev sojourn.Event) error {
	ends := ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskRefused || ev.Kind == sojourn.TaskFailed
	var j *refJob
	if ends {
		j = p.job(&ev)
	}
	if err := p.fifo.Observe(ev); err != nil {
		return err
	}
	switch {
	case ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted:
		delete(p.refused, ev.Job.ID)
		delete(p.waits, ev.Job.ID)
	case ev.Kind == sojourn.TaskFailed && ev.Cause == sojourn.CauseTask:
		p.failed++
	case ev.Kind == sojourn.TaskRefused:
		p.refused[ev.Task.Job]++
	}
	if i := slices.Index(p.state.Jobs, j); ends && i >= 0 && (ev.Kind == sojourn.TaskFinished || p.charges(p, &ev, j.Spec)) {
		p.state.Jobs = append(slices.Delete(p.state.Jobs, i, i+1), j)
	}
	switch ev.Kind {
	case sojourn.TaskFinished:
		delete(p.waits, ev.Task.Job)
	case sojourn.TaskRefused:
		p.waits[ev.Task.Job] = true
	}
	return nil
}

func (p *charging) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.fifo.Assign(id)
	if ok {
		p.starts[a.Task] = p.state.Now
	}
	return a, ok
}

// Whatever a policy charges for that it should not, the law of lost work finds it, and nothing else.
func TestLostWork(t *testing.T) {
	caused := func(ev *sojourn.Event, cause sojourn.Cause) bool {
		return ev.Kind == sojourn.TaskFailed && ev.Cause == cause
	}
	lost := func(ev *sojourn.Event) bool {
		return ev.Kind == sojourn.TaskRefused || ev.Kind == sojourn.TaskFailed && ev.Cause != sojourn.CauseTask
	}
	for _, tc := range []struct {
		name    string
		charges func(*charging, *sojourn.Event, *sojourn.Job) bool
		o       Options
		ok      bool
	}{
		{"only successes", func(*charging, *sojourn.Event, *sojourn.Job) bool { return false }, Options{}, true},
		{"failures but the first", func(p *charging, ev *sojourn.Event, _ *sojourn.Job) bool {
			return caused(ev, sojourn.CauseTask) && p.failed > 1
		}, Options{}, true},
		{"refused starts but the first since a finish", func(p *charging, ev *sojourn.Event, _ *sojourn.Job) bool {
			return ev.Kind == sojourn.TaskRefused && p.waits[ev.Task.Job]
		}, Options{}, true},
		{"failures, and says so", func(_ *charging, ev *sojourn.Event, _ *sojourn.Job) bool { return caused(ev, sojourn.CauseTask) }, Options{ChargesFailures: true}, true},
		{"all but failures, and says so", func(_ *charging, ev *sojourn.Event, _ *sojourn.Job) bool { return lost(ev) }, Options{ChargesLostWork: true}, true},

		{"everything", func(*charging, *sojourn.Event, *sojourn.Job) bool { return true }, Options{}, false},
		{"everything, and says half of it", func(*charging, *sojourn.Event, *sojourn.Job) bool { return true }, Options{ChargesFailures: true}, false},
		{"everything, and says the other half", func(*charging, *sojourn.Event, *sojourn.Job) bool { return true }, Options{ChargesLostWork: true}, false},
		{"preemptions", func(_ *charging, ev *sojourn.Event, _ *sojourn.Job) bool { return caused(ev, sojourn.CausePreempted) }, Options{}, false},
		{"lost slots", func(_ *charging, ev *sojourn.Event, _ *sojourn.Job) bool { return caused(ev, sojourn.CauseSlotLost) }, Options{}, false},
		{"failures", func(_ *charging, ev *sojourn.Event, _ *sojourn.Job) bool { return caused(ev, sojourn.CauseTask) }, Options{}, false},
		{"refused starts", func(_ *charging, ev *sojourn.Event, _ *sojourn.Job) bool { return ev.Kind == sojourn.TaskRefused }, Options{}, false},
		{"what is lost in pools", func(_ *charging, ev *sojourn.Event, j *sojourn.Job) bool { return lost(ev) && j.Pool != "" }, Options{}, false},
		{"what is lost of jobs of several tasks", func(_ *charging, ev *sojourn.Event, j *sojourn.Job) bool { return lost(ev) && j.Phases[0].Tasks > 1 }, Options{}, false},
		{"what is lost after a while", func(p *charging, ev *sojourn.Event, _ *sojourn.Job) bool {
			return lost(ev) && p.starts[ev.Task] < ev.At
		}, Options{}, false},
		{"what is lost at once", func(p *charging, ev *sojourn.Event, _ *sojourn.Job) bool {
			return lost(ev) && p.starts[ev.Task] == ev.At
		}, Options{}, false},
		{"refused starts once one of any job was refused", func(p *charging, ev *sojourn.Event, _ *sojourn.Job) bool {
			return ev.Kind == sojourn.TaskRefused && (len(p.waits) > 1 || p.waits[ev.Task.Job])
		}, Options{}, false},
		{"refused starts but the first", func(p *charging, ev *sojourn.Event, _ *sojourn.Job) bool {
			return ev.Kind == sojourn.TaskRefused && p.refused[ev.Task.Job] > 1
		}, Options{}, false},
		{"what is lost for the second time", func(_ *charging, ev *sojourn.Event, _ *sojourn.Job) bool { return lost(ev) && ev.Attempt > 1 }, Options{}, false},
	} {
		newPolicy := func() sojourn.Policy {
			return &charging{fifo: newFIFO(correct), charges: tc.charges, starts: map[sojourn.TaskID]sojourn.Time{}, refused: map[sojourn.JobID]int{}, waits: map[sojourn.JobID]bool{}}
		}
		var found *breach
		for seed := 0; seed < 3000 && found == nil && (!tc.ok || seed < 50); seed++ {
			found = breachOf(func() {
				tr := newTrial(newPolicy, &tc.o, newChance(uint64(seed), 30))
				tr.drive()
				tr.drain()
				tr.lost()
			})
		}
		switch {
		case tc.ok && found != nil:
			t.Errorf("a policy that charges %s: sojourntest says\n%v", tc.name, found)
		case !tc.ok && (found == nil || found.law != lawLost):
			t.Errorf("a policy that charges %s: sojourntest says\n%v\nwant the law of lost work", tc.name, found)
		}
	}
}
