package whatif

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/convert"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Change is what would have become of a job if something had been different. Times are those
// of the history; they are null for what did not happen, or if the policy refused.
type Change struct {
	What   string          `json:"what"`
	Start  *format.Seconds `json:"start"`
	Finish *format.Seconds `json:"finish"`

	// Sooner is by how much it would have started sooner than in the run again without a change;
	// negative if later.
	Sooner *format.Seconds `json:"sooner"`
	Error  string          `json:"error,omitempty"`

	// FinishesSooner is the same of its finish.
	FinishesSooner *format.Seconds `json:"finishes_sooner"`
}

// An Again is what becomes of the job if everything is run again as it was recorded.
type Again struct{ start, finish *format.Seconds }

// changes runs the recorded jobs again, each time with one change.
func changes(ctx context.Context, c Case, id sojourn.JobID) ([]Change, *Again, error) {
	r, err := convert.Record(c.Entries())
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(r.Jobs, func(j *sim.Job) bool { return j.ID == id })
	if at < 0 {
		return []Change{}, &Again{}, nil // nothing is known of its times
	}
	base, err := rerun(ctx, c, r, r.Jobs[at], r.Cluster)
	if err != nil {
		return nil, nil, err
	}
	var list []Change
	try := func(what string, j *sim.Job, cluster sim.Cluster) error {
		got, err := rerun(ctx, c, r, j, cluster)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		change := Change{What: what}
		if err != nil {
			change.Error = err.Error()
		} else {
			change.Start, change.Finish = got.start, got.finish
			change.Sooner, change.FinishesSooner = sooner(base.start, got.start), sooner(base.finish, got.finish)
		}
		list = append(list, change)
		return nil
	}
	j := r.Jobs[at]
	double := *j
	double.Weight = 2 * cmp.Or(j.Weight, 1)
	due := *j
	due.Deadline = j.At + max(1, alone(j)) // as early as the job could meet on an idle cluster
	for _, change := range []struct {
		what    string
		job     *sim.Job
		cluster sim.Cluster
	}{
		{"twice its weight", &double, r.Cluster},
		{"half its size", half(j), r.Cluster},
		{"a deadline", &due, r.Cluster},
		{"one slot more", j, oneMore(r.Cluster, j)},
	} {
		if err := try(change.what, change.job, change.cluster); err != nil {
			return nil, nil, err
		}
	}
	return list, base, nil
}

// sooner returns by how much sooner a time is than it was, nil unless both are known.
func sooner(was, is *format.Seconds) *format.Seconds {
	if was == nil || is == nil {
		return nil
	}
	by := *was - *is
	return &by
}

// alone returns the sum of the longest times of the phases: no cluster is faster.
func alone(j *sim.Job) sojourn.Time {
	var sum time.Duration
	for _, t := range j.Times {
		sum += t.Longest()
	}
	return sojourn.Time(sum)
}

// half returns a job whose tasks take half as long, as the policy is told.
func half(j *sim.Job) *sim.Job {
	h := *j
	halve := func(list []time.Duration) []time.Duration {
		list = slices.Clone(list)
		for i := range list {
			list[i] /= 2
		}
		return list
	}
	h.Phases = slices.Clone(j.Phases)
	for i := range h.Phases {
		h.Phases[i].Estimate /= 2
		h.Phases[i].Estimates = halve(h.Phases[i].Estimates)
	}
	h.Times = slices.Clone(j.Times)
	for i := range h.Times {
		h.Times[i].Each, h.Times[i].List = h.Times[i].Each/2, halve(h.Times[i].List)
	}
	return &h
}

// oneMore returns a cluster with one more slot for the first phase of the job, on a node of
// its own.
func oneMore(c sim.Cluster, j *sim.Job) sim.Cluster {
	class := 0
	if !c.Uniform {
		class = int(j.ClassOf(0))
	}
	slots := make([]int, class+1)
	slots[class] = 1
	c.Nodes = append(slices.Clone(c.Nodes), sim.Node{Name: fmt.Sprintf("n%d", len(c.Nodes)+1), Slots: slots})
	return c
}

// rerun runs the jobs of the record with one of them in place of the one with its ID, and
// returns what becomes of it.
func rerun(ctx context.Context, c Case, r *convert.Recorded, with *sim.Job, cluster sim.Cluster) (*Again, error) {
	p, err := c.Policy()
	if err != nil {
		return nil, err
	}
	var jobs iter.Seq2[*sim.Job, error] = func(yield func(*sim.Job, error) bool) {
		for _, j := range r.Jobs {
			if j.ID == with.ID {
				j = with
			}
			if !yield(j, nil) {
				return
			}
		}
	}
	got := &Again{}
	started := map[sojourn.JobID]bool{}
	now := sojourn.Time(0)
	_, err = sim.Run(ctx, sim.Config{
		Cluster: cluster, Jobs: jobs, Policy: p, Estimates: sim.Estimates{Mode: sim.None}, Preempt: true, NoAudit: true,
		Hooks: sim.Hooks{
			Event: func(ev sojourn.Event, _ error) { now = ev.At },
			Assigned: func(_ sojourn.SlotID, a sojourn.Assignment, ok bool) {
				if ok && a.Task.Job == with.ID && !started[with.ID] {
					started[with.ID] = true
					at := format.Seconds(now + r.Start)
					got.start = &at
				}
			},
			Job: func(j *sim.JobRecord) {
				if j.ID == with.ID && j.Outcome == sim.Finished {
					at := format.Seconds(j.Finish + r.Start)
					got.finish = &at
				}
			},
		},
	})
	return got, err
}
