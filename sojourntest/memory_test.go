package sojourntest

import (
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// A leaky policy keeps something of what is gone.
type leaky struct {
	sojourn.Policy
	keep func(*sojourn.Event, error)
}

func (p leaky) Observe(ev sojourn.Event) error {
	err := p.Policy.Observe(ev)
	p.keep(&ev, err)
	return err
}

func (p leaky) Unwrap() sojourn.Policy { return p.Policy }

// A policy that keeps something of each job, name, node or attempt is found, wherever it keeps it, and the report names the line.
// One that forgets, or keeps a bounded number, passes, however much it allocates.
func TestMemory(t *testing.T) {
	const (
		least, most = 64, 256
		bound       = 7 // names: a map of so few does not grow, whatever comes and goes
	)
	for _, tc := range []struct {
		name string
		keep func() func(*sojourn.Event, error)
		ok   bool
	}{
		{"a map by job", func() func(*sojourn.Event, error) {
			seen := map[sojourn.JobID]bool{}
			return func(ev *sojourn.Event, _ error) {
				if ev.Job != nil {
					seen[ev.Job.ID] = true
				}
			}
		}, false},
		{"a map by node", func() func(*sojourn.Event, error) {
			seen := map[sojourn.NodeID]struct{}{}
			return func(ev *sojourn.Event, _ error) {
				if ev.Kind == sojourn.SlotAdded {
					seen[ev.Slot.Node] = struct{}{}
				}
			}
		}, false},
		{"a map of nodes that were down", func() func(*sojourn.Event, error) {
			seen := map[sojourn.NodeID]bool{}
			return func(ev *sojourn.Event, _ error) {
				switch ev.Kind {
				case sojourn.NodeDown:
					seen[ev.Slot.Node] = true
				case sojourn.NodeUp:
					seen[ev.Slot.Node] = false
				}
			}
		}, false},
		{"a map by node of inputs", func() func(*sojourn.Event, error) {
			seen := map[sojourn.NodeID]int{}
			return func(ev *sojourn.Event, _ error) {
				if ev.Kind == sojourn.JobArrived && ev.Job.Phases[0].Inputs.Len() > 0 {
					seen[ev.Job.Phases[0].Inputs.Of(0)[0]]++
				}
			}
		}, false},
		{"a map by rack", func() func(*sojourn.Event, error) {
			seen := map[sojourn.RackID]int{}
			return func(ev *sojourn.Event, _ error) {
				if ev.Kind == sojourn.SlotAdded {
					seen[ev.Slot.Rack]++
				}
			}
		}, false},
		{"a map by name", func() func(*sojourn.Event, error) {
			seen := map[string]int{}
			return func(ev *sojourn.Event, _ error) {
				if ev.Kind == sojourn.JobArrived {
					seen[ev.Job.Name]++
				}
			}
		}, false},
		{"a map by pool", func() func(*sojourn.Event, error) {
			seen := map[string]*int{}
			return func(ev *sojourn.Event, _ error) {
				if ev.Kind == sojourn.JobArrived {
					seen[ev.Job.Pool] = new(int)
				}
			}
		}, false},
		{"a list of jobs that were adopted", func() func(*sojourn.Event, error) {
			var seen []sojourn.JobID
			return func(ev *sojourn.Event, _ error) {
				if ev.Kind == sojourn.JobAdopted {
					seen = append(seen, ev.Job.ID)
				}
			}
		}, false},
		{"the jobs that were not cancelled", func() func(*sojourn.Event, error) {
			seen := map[sojourn.JobID]*sojourn.Job{}
			return func(ev *sojourn.Event, _ error) {
				switch ev.Kind {
				case sojourn.JobArrived:
					seen[ev.Job.ID] = ev.Job
				case sojourn.JobCancelled:
					delete(seen, ev.Job.ID)
				}
			}
		}, false},
		{"attempts that failed", func() func(*sojourn.Event, error) {
			seen := map[sojourn.TaskID]uint32{}
			return func(ev *sojourn.Event, _ error) {
				if ev.Kind == sojourn.TaskFailed && ev.Cause == sojourn.CauseTask {
					seen[ev.Task] = ev.Attempt
				}
			}
		}, false},
		{"errors", func() func(*sojourn.Event, error) {
			var seen []error
			return func(_ *sojourn.Event, err error) {
				if err != nil {
					seen = append(seen, err)
				}
			}
		}, false},
		{"a map by job that is emptied when no job is live", func() func(*sojourn.Event, error) {
			live, seen := map[sojourn.JobID]int{}, map[sojourn.JobID]bool{}
			return func(ev *sojourn.Event, err error) {
				switch {
				case err != nil:
				case ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted:
					seen[ev.Job.ID], live[ev.Job.ID] = true, ev.Job.Phases[0].Tasks
				case ev.Kind == sojourn.JobCancelled:
					delete(live, ev.Job.ID)
				case ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskDone:
					if live[ev.Task.Job]--; live[ev.Task.Job] <= 0 {
						delete(live, ev.Task.Job)
					}
				}
				if len(live) == 0 {
					clear(seen)
				}
			}
		}, false},
		{"a map by job of those that came when no other was live", func() func(*sojourn.Event, error) {
			live, seen := map[sojourn.JobID]int{}, map[sojourn.JobID]bool{}
			return func(ev *sojourn.Event, err error) {
				switch {
				case err != nil:
				case ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted:
					if len(live) == 0 {
						seen[ev.Job.ID] = true
					}
					live[ev.Job.ID] = ev.Job.Phases[0].Tasks
				case ev.Kind == sojourn.JobCancelled:
					delete(live, ev.Job.ID)
				case ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskDone:
					if live[ev.Task.Job]--; live[ev.Task.Job] <= 0 {
						delete(live, ev.Task.Job)
					}
				}
			}
		}, false},
		{"the live slots", func() func(*sojourn.Event, error) {
			seen := map[sojourn.SlotID]*sojourn.Slot{}
			return func(ev *sojourn.Event, _ error) {
				if ev.Kind == sojourn.SlotAdded {
					s := ev.Slot
					seen[s.ID] = &s
				}
			}
		}, true},
		{"the latest names", func() func(*sojourn.Event, error) {
			seen, latest, n := map[string]bool{}, [bound]string{}, 0
			return func(ev *sojourn.Event, _ error) {
				if ev.Kind != sojourn.JobArrived {
					return
				}
				delete(seen, latest[n%bound])
				seen[ev.Job.Name], latest[n%bound] = true, ev.Job.Name
				n++
			}
		}, true},
	} {
		newPolicy := func() sojourn.Policy { return leaky{newFIFO(correct), tc.keep()} }
		got := recorded(t, func(tb rapid.TB) { checkMemory(tb, newPolicy, Options{}, least, most) })
		if tc.ok != (got == "") || !tc.ok && (!strings.Contains(got, "law of memory") || !strings.Contains(got, "memory_test.go:") && !strings.Contains(got, "given: ")) {
			t.Errorf("%s: sojourntest says\n%s", tc.name, got)
		}
		if got := recorded(t, func(tb rapid.TB) { checkMemory(tb, newPolicy, Options{KeepsHistory: true}, least, most) }); got != "" {
			t.Errorf("%s: with KeepsHistory, sojourntest says\n%s", tc.name, got)
		}
	}
}

// What other goroutines keep is not held against a policy.
func TestMemoryBesideOthers(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		var all [][]byte
		for {
			select {
			case <-stop:
				return
			default:
				all = append(all, make([]byte, 1<<8))
				if len(all) == 1<<16 {
					all = nil
				}
			}
		}
	}()
	got := recorded(t, func(tb rapid.TB) {
		checkMemory(tb, func() sojourn.Policy { return newFIFO(correct) }, Options{}, 64, 1024)
	})
	close(stop)
	<-stopped
	if got != "" {
		t.Errorf("sojourntest says\n%s", got)
	}
}
