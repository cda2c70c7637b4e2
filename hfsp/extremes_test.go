package hfsp_test

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// saved is an estimator that can be saved.
type saved struct {
	hfsp.Estimator
	sojourn.Snapshotter
}

func savable(e hfsp.Estimator) saved { return saved{e, e.(sojourn.Snapshotter)} }

// A witness is an estimator that keeps what it is told.
type witness struct {
	saved
	told *[]time.Duration
}

func (e witness) Final(j *sojourn.Job, phase int, samples []hfsp.Sample) time.Duration {
	for _, s := range samples {
		*e.told = append(*e.told, s.Service, s.Time())
	}
	return e.Estimator.Final(j, phase, samples)
}

func (e witness) Completed(j *sojourn.Job, phase, tasks int, service time.Duration) {
	*e.told = append(*e.told, service)
	e.Estimator.Completed(j, phase, tasks, service)
}

// A report of a task that has run for longer than the driver's clock has, and then one of
// its end that no one has measured, make a sample as long as can be told.
func TestServiceBeforeTheEpoch(t *testing.T) {
	for _, service := range []time.Duration{1, 11, math.MaxInt64 - 11, math.MaxInt64 - 10, math.MaxInt64 - 9, math.MaxInt64} {
		var told []time.Duration
		p := newWith(hfsp.Options{TrainingTasks: 1, Estimator: func() hfsp.Estimator { return witness{savable(hfsp.NewTrainer(0, 0)), &told} }})
		s := stage{t, p}
		s.slots(0, 0)
		s.arrive(0, 1, tasks(2, 0))
		a := s.assign(0, 1)
		s.observe(0, sojourn.Event{Kind: sojourn.TaskProgress, Task: a.Task, Attempt: 1, Service: service})
		s.observe(10e-9, sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: 1})
		want := service + min(10, math.MaxInt64-service)
		if !slices.Equal(told, []time.Duration{want, want}) {
			t.Errorf("a task that had run for %d ns runs for 10 ns more: the estimator is told %d, want %d", service, told, want)
		}
	}
}

// A task that was adopted before its phase was ready may be killed once it is, unless its
// slot is to leave.
func TestAdoptedTasksAreVictims(t *testing.T) {
	s := stage{t, exact(hfsp.Options{Preemption: hfsp.Kill})}
	s.slots(0, 0)
	s.observe(0, sojourn.Event{Kind: sojourn.JobAdopted, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{tasks(1, 10), tasks(3, 20)}}})
	late := sojourn.TaskID{Job: 1, Phase: 1}
	s.observe(0, sojourn.Event{Kind: sojourn.TaskAdopted, Task: late, Attempt: 1})
	s.observe(0, sojourn.Event{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: 1}})
	s.arrive(1, 2, tasks(1, 1))
	want := []sojourn.Preemption{{Task: late, Attempt: 1, For: 2}}
	if got := s.p.AppendPreemptions(nil); !slices.Equal(got, want) {
		t.Errorf("AppendPreemptions = %v, want %v", got, want)
	}
	s.observe(1, sojourn.Event{Kind: sojourn.SlotRemoved})
	if got := s.p.AppendPreemptions(nil); len(got) > 0 {
		t.Errorf("AppendPreemptions = %v after the slot was removed, want none", got)
	}
	s.slots(1, 0)
	if got := s.p.AppendPreemptions(nil); !slices.Equal(got, want) {
		t.Errorf("AppendPreemptions = %v after the slot was added again, want %v", got, want)
	}
}

// ends draws from the ends of a range of lengths, and from the middle.
var ends = rapid.SampledFrom([]time.Duration{0, 1, 2, time.Second, time.Hour, 1 << 61, 1<<62 - 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64})

// Whatever is observed, with lengths, weights, progress and instants from the ends of
// their ranges, nothing that is told or asked is negative, and the policy can be saved
// and restored after each event, and goes on alike.
func TestExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var told []time.Duration
		opts := hfsp.Options{
			TrainingTasks: rapid.IntRange(1, 3).Draw(t, "t"),
			Delta:         ends.Draw(t, "delta"),
			Xi:            rapid.SampledFrom([]float64{0, 1, 1<<32 - 1}).Draw(t, "xi"),
			EarlyDelay:    ends.Draw(t, "early delay"),
			KillFraction:  rapid.SampledFrom([]float64{0, 1, 1<<32 - 1}).Draw(t, "fraction"),

			DefaultTaskTime: ends.Draw(t, "task time"),
			Late:            rapid.SampledFrom([]vqueue.Late{vqueue.LateShare, vqueue.LateFirst}).Draw(t, "late"),
			Preemption:      rapid.SampledFrom([]hfsp.Preemption{hfsp.Wait, hfsp.Kill, hfsp.KillAny}).Draw(t, "preemption"),
		}
		if rapid.Bool().Draw(t, "delays") {
			opts.NodeDelay, opts.RackDelay = ends.Draw(t, "node delay"), ends.Draw(t, "rack delay")
		}
		oracle, xi, taskTime := rapid.Bool().Draw(t, "oracle"), opts.Xi, opts.DefaultTaskTime
		opts.Estimator = func() hfsp.Estimator {
			w := witness{savable(hfsp.NewTrainer(xi, taskTime)), &told}
			if !oracle {
				return w
			}
			return wild{savable(hfsp.NewOracle(w))}
		}
		p := newWith(opts)
		now := sojourn.Time(0)
		running := map[sojourn.SlotID]sojourn.Assignment{}
		observe := func(t *rapid.T, ev sojourn.Event) bool {
			ev.At = now
			if err := p.Observe(ev); err != nil {
				return false
			}
			saved, err := p.AppendBinary(nil)
			if err != nil {
				t.Fatalf("AppendBinary = %v", err)
			}
			q := newWith(opts)
			if err := q.UnmarshalBinary(saved); err != nil {
				t.Fatalf("after %v: UnmarshalBinary = %v", ev, err)
			}
			if again, _ := q.AppendBinary(nil); !bytes.Equal(again, saved) {
				t.Fatalf("after %v: what was restored saves something else", ev)
			}
			p = q
			if i := slices.IndexFunc(told, func(d time.Duration) bool { return d < 0 }); i >= 0 {
				t.Fatalf("after %v: the estimator is told %v", ev, told[i])
			}
			if at, ok := p.NextWake(); ok && (at < 0 || at <= now && ev.Kind == sojourn.Tick) {
				t.Fatalf("after %v: NextWake = %v", ev, at)
			}
			for _, id := range p.AppendRanking(nil) {
				p.Explain(id)
			}
			if got, want := p.AppendPreemptions(nil), p.NamedByDefinition(opts.NodeDelay+opts.RackDelay == 0); opts.Preemption == hfsp.Kill && !slices.Equal(got, want) {
				t.Fatalf("after %v: AppendPreemptions = %v, want %v", ev, got, want)
			}
			return true
		}
		busy := func(t *rapid.T) sojourn.Assignment {
			id := sojourn.SlotID(rapid.IntRange(0, 3).Draw(t, "slot"))
			if a, ok := running[id]; ok {
				return a
			}
			t.Skip("idle")
			panic("skipped")
		}
		end := func(t *rapid.T, kind sojourn.EventKind) {
			a := busy(t)
			delete(running, a.Slot)
			observe(t, sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: ends.Draw(t, "service"),
				Cause: sojourn.Cause(rapid.IntRange(0, 2).Draw(t, "cause"))})
		}
		job := func(t *rapid.T, id sojourn.JobID) *sojourn.Job {
			j := &sojourn.Job{ID: id, Weight: rapid.SampledFrom([]float64{0, 1.0 / (1 << 16), 1 << 31, 1<<32 - 1}).Draw(t, "weight")}
			for i := range rapid.IntRange(1, 2).Draw(t, "phases") {
				ph := sojourn.Phase{Tasks: rapid.IntRange(1, 4).Draw(t, "tasks"), Class: sojourn.Class(i)}
				ph.Estimate = ends.Draw(t, "estimate") / time.Duration(ph.Tasks)
				ph.After = rapid.IntRange(-1, 1).Draw(t, "after")
				if i == 0 {
					ph.After, ph.Inputs = 0, sojourn.MakeInputs(slices.Repeat([][]sojourn.NodeID{{1}}, ph.Tasks))
				}
				j.Phases = append(j.Phases, ph)
			}
			return j
		}
		for id := range sojourn.SlotID(4) {
			observe(t, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Node: sojourn.NodeID(1 + id/2), Class: sojourn.Class(id % 2)}})
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				observe(t, sojourn.Event{Kind: sojourn.JobArrived, Job: job(t, sojourn.JobID(rapid.IntRange(1, 4).Draw(t, "job")))})
			},
			"revise": func(t *rapid.T) {
				observe(t, sojourn.Event{Kind: sojourn.JobRevised, Job: job(t, sojourn.JobID(rapid.IntRange(1, 4).Draw(t, "job")))})
			},
			"cancel": func(t *rapid.T) {
				observe(t, sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: sojourn.JobID(rapid.IntRange(1, 4).Draw(t, "job"))}})
			},
			"adopt": func(t *rapid.T) {
				id := sojourn.JobID(rapid.IntRange(1, 4).Draw(t, "job"))
				observe(t, sojourn.Event{Kind: sojourn.JobAdopted, Job: job(t, id)})
				slot := sojourn.SlotID(rapid.IntRange(0, 3).Draw(t, "slot"))
				a := sojourn.Assignment{Slot: slot, Task: sojourn.TaskID{Job: id, Phase: uint16(slot % 2)}, Attempt: 1 << 31}
				if observe(t, sojourn.Event{Kind: sojourn.TaskAdopted, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: slot}, Service: ends.Draw(t, "service")}) {
					running[slot] = a
				}
			},
			"offer": func(t *rapid.T) {
				for class := range sojourn.Class(2) {
					for id, ok := p.Seek(class); ok; id, ok = p.Seek(class) {
						if running[id], ok = p.Assign(id); !ok {
							t.Fatalf("Seek names slot %d, and Assign declines it", id)
						}
					}
				}
			},
			"wait": func(t *rapid.T) {
				now += min(sojourn.Time(ends.Draw(t, "dt")), math.MaxInt64-now)
				observe(t, sojourn.Event{Kind: sojourn.Tick})
			},
			"finish": func(t *rapid.T) { end(t, sojourn.TaskFinished) },
			"fail":   func(t *rapid.T) { end(t, sojourn.TaskFailed) },
			"progress": func(t *rapid.T) {
				a := busy(t)
				observe(t, sojourn.Event{Kind: sojourn.TaskProgress, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: ends.Draw(t, "service"),
					Progress: rapid.SampledFrom([]uint16{0, 1, 5000, sojourn.MaxProgress - 1, sojourn.MaxProgress}).Draw(t, "progress")})
			},
		})
	})
}

// wild makes of each size nothing, or the most that there is.
type wild struct{ saved }

func (e wild) Initial(job *sojourn.Job, phase int) (time.Duration, bool) {
	size, known := e.Estimator.Initial(job, phase)
	return e.size(job, phase, size), known
}

func (e wild) Final(job *sojourn.Job, phase int, samples []hfsp.Sample) time.Duration {
	return e.size(job, phase, e.Estimator.Final(job, phase, samples))
}

func (wild) size(job *sojourn.Job, phase int, size time.Duration) time.Duration {
	if size == 0 || (job.ID^sojourn.JobID(phase))%2 == 0 {
		return 0
	}
	return math.MaxInt64
}
