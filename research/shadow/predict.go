package shadow

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A record is a job, and how long its tasks took.
type record struct {
	spec    *sojourn.Job
	at      sojourn.Time
	times   [][]time.Duration // by phase and task; 0: not known
	unknown bool              // how long some task took
}

// enter records an event that the watcher has told.
func (w *watcher) enter(ev *sojourn.Event) {
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		w.records[ev.Job.ID] = &record{spec: ev.Job, at: ev.At.Add(-ev.Service), times: make([][]time.Duration, len(ev.Job.Phases))}
		return
	case sojourn.JobRevised:
		w.records[ev.Job.ID].spec = ev.Job
		w.ended(ev.Job.ID)
	case sojourn.JobCancelled:
		w.records[ev.Job.ID].unknown = true
		w.ended(ev.Job.ID)
	case sojourn.TaskDone:
		w.records[ev.Task.Job].unknown = true
		w.ended(ev.Task.Job)
	case sojourn.TaskFinished:
		w.records[ev.Task.Job].finished(ev)
		w.ended(ev.Task.Job)
	case sojourn.TaskFailed, sojourn.TaskRefused:
		w.ended(ev.Task.Job)
	}
}

func (r *record) finished(ev *sojourn.Event) {
	list := &r.times[ev.Task.Phase]
	for len(*list) <= int(ev.Task.Index) {
		*list = append(*list, 0)
	}
	(*list)[ev.Task.Index] = ev.Service
	r.unknown = r.unknown || ev.Service == 0
}

// ended forgets a job if it has ended, and keeps its record if it is complete.
func (w *watcher) ended(id sojourn.JobID) {
	if _, live := w.truth.Job(id); live {
		return
	}
	r := w.records[id]
	delete(w.records, id)
	delete(w.foreign, id)
	if r.unknown {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.done) < w.opt.Window {
		w.done = append(w.done, r)
		return
	}
	w.done[w.oldest] = r
	w.oldest = (w.oldest + 1) % len(w.done)
}

// A Prediction compares two policies on the jobs that were completed last.
type Prediction struct {
	Jobs              int // that were simulated
	Active, Candidate Outcome
}

// An Outcome is what a simulation says of one policy.
type Outcome struct {
	Response          time.Duration // mean time from arrival to completion
	Refused, Unserved int           // jobs that count for no response
}

// Gain is the share of the mean response that the candidate saves: 0.25 if it is shorter by a quarter, negative
// if it is longer. It says little if the policies refuse different numbers of jobs.
func (p *Prediction) Gain() float64 {
	if p.Active.Response == 0 {
		return 0
	}
	return 1 - float64(p.Candidate.Response)/float64(p.Active.Response)
}

// Predict simulates both policies, from the start, on the latest completed jobs, with their arrivals and
// the measured times of their tasks, on the slots that are there now. Both simulations are of package sim, so the
// comparison is fair even where the simulation differs from the cluster: it has no failures,
// no preemption and no locality, and the jobs begin on an idle cluster. Jobs of which not all times are
// known are left out.
//
// It takes the time of two simulations and holds no lock meanwhile. It returns an error if there are no such
// jobs, or a policy cannot be made or errs.
func (s *Shadow) Predict(ctx context.Context, active, candidate func() (sojourn.Policy, error)) (*Prediction, error) {
	if err := s.Wait(ctx); err != nil {
		return nil, err
	}
	s.watch.mu.Lock()
	records := slices.Clone(s.watch.done)
	s.watch.mu.Unlock()
	var slots []sojourn.Slot
	s.Visit(func(sojourn.Policy) { slots = slices.Collect(s.pair.active.Slots()) })
	if len(records) == 0 {
		return nil, fmt.Errorf("shadow: no job is complete, so there is nothing to predict from")
	}
	slices.SortStableFunc(records, func(a, b *record) int { return cmp.Compare(a.at, b.at) })
	p := &Prediction{Jobs: len(records)}
	for _, side := range []struct {
		make func() (sojourn.Policy, error)
		into *Outcome
	}{{active, &p.Active}, {candidate, &p.Candidate}} {
		policy, err := side.make()
		if err != nil {
			return nil, err
		}
		r, err := sim.Run(ctx, sim.Config{Cluster: cluster(slots), Jobs: replayed(records), Policy: policy, NoAudit: true,
			Estimates: sim.Estimates{Mode: sim.None}})
		if err != nil {
			return nil, fmt.Errorf("shadow: %w", err)
		}
		*side.into = Outcome{time.Duration(r.Sojourn.Mean * float64(time.Second)), r.Rejected + r.Unsupported, r.Unfinished}
	}
	return p, nil
}

// replayed yields the jobs of records, numbered anew. The first arrives at 0.
func replayed(records []*record) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		for i, r := range records {
			j := &sim.Job{Job: *r.spec, At: r.at - records[0].at, Times: make([]sim.Times, len(r.times))}
			j.ID = sojourn.JobID(i + 1)
			if j.Deadline > 0 {
				j.Deadline = max(j.Deadline-records[0].at, 1)
			}
			j.Phases = slices.Clone(j.Phases)
			for k := range j.Phases {
				j.Phases[k].Inputs, j.Phases[k].Held = sojourn.Inputs{}, false
				j.Times[k].List = r.times[k][:j.Phases[k].Tasks]
			}
			if !yield(j, nil) {
				return
			}
		}
	}
}

// cluster returns a cluster of one node that has the slots.
func cluster(slots []sojourn.Slot) sim.Cluster {
	var n sim.Node
	for _, s := range slots {
		for int(s.Class) >= len(n.Slots) {
			n.Slots = append(n.Slots, 0)
		}
		n.Slots[s.Class]++
	}
	return sim.Cluster{Nodes: []sim.Node{n}}
}
