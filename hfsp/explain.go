package hfsp

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// AppendRanking implements [sojourn.Explainer]: class after class, jobs by the phase
// of theirs that is served first. While there are training slots left, the jobs that
// have training tasks to start come first.
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	listed := make(map[sojourn.JobID]bool)
	list := func(j *job) {
		if id := j.Spec.ID; !listed[id] {
			listed[id] = true
			dst = append(dst, id)
		}
	}
	for i := range p.classes {
		if p.classes[i].used < p.limit(sojourn.Class(i)) {
			for _, ph := range p.inTraining(sojourn.Class(i)) {
				list(ph.job)
			}
		}
		for ph := range p.classes[i].virtual.All() {
			list(ph.job)
		}
	}
	for _, j := range p.ledger.AppendJobs(nil) {
		list(j) // a job whose next phase lost its input is in no virtual cluster
	}
	return dst
}

// inTraining returns the phases of a class that have training tasks to start, the
// first one first.
func (p *Policy) inTraining(c sojourn.Class) (list []*phase) {
	for h := range p.classes[c].training.All() {
		list = append(list, p.phases[h])
	}
	slices.SortFunc(list, func(a, b *phase) int {
		if p.trainingKey(a).less(p.trainingKey(b)) {
			return -1
		}
		return 1
	})
	return list
}

// Explain implements [sojourn.Explainer]. Of guarantees it says nothing, since they
// follow from the options and not from the job: see the package comment. It tells the
// state of the job's tasks, its rank from 0, and for each phase that is ready and not finished
//
//   - stage: tiny, known beforehand, training, or trained;
//   - S_i and, once trained, S_f, the initial and the final size, in seconds of slot
//     time;
//   - s, the expected time of a task, in seconds;
//   - v, the virtual size, in seconds of slot time, and whether the phase is late:
//     complete in the virtual cluster, so that it goes before those that are not;
//   - rank, how many phases come before it for slots of its class, and waits_for, the
//     job of the first of these;
//   - held_back, if it may not start early tasks for now;
//   - no_slots, if there is no slot of its class at all;
//   - while it is being trained, how many of its t training tasks have told their time
//     and how many run, and how many of the T training slots of the class are held.
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	attrs := j.Attrs()
	if !j.Cancelled {
		attrs = append(attrs, slog.Int("rank", slices.Index(p.AppendRanking(nil), id)))
	}
	for i, ph := range j.Data.phases {
		if ph != nil {
			attrs = append(attrs, slog.Attr{Key: fmt.Sprintf("phase%d", i), Value: slog.GroupValue(p.explain(ph)...)})
		}
	}
	return attrs, true
}

func (p *Policy) explain(ph *phase) []slog.Attr {
	class := ph.spec().Class
	c := p.class(class)
	attrs := []slog.Attr{slog.String("stage", stageNames[ph.stage])}
	if ph.stage != tiny {
		attrs = append(attrs, slog.Float64("S_i", seconds(ph.initial)))
	}
	if ph.stage == trained {
		attrs = append(attrs, slog.Float64("S_f", seconds(ph.final)))
	}
	if ph.stage != tiny {
		attrs = append(attrs, slog.Float64("s", seconds(ph.mean())))
	}
	attrs = append(attrs, slog.Float64("v", seconds(p.v(ph))), slog.Bool("late", c.virtual.Late(ph)))

	rank, first := 0, sojourn.JobID(0)
	for other := range c.virtual.All() {
		if other == ph {
			break
		}
		if p.startable(other) {
			if rank == 0 {
				first = other.job.Spec.ID
			}
			rank++
		}
	}
	attrs = append(attrs, slog.Int("rank", rank))
	if rank > 0 && ph.account().Pending() > 0 {
		attrs = append(attrs, slog.Uint64("waits_for", uint64(first)))
	}
	if p.ledger.Capacity(class) == 0 {
		attrs = append(attrs, slog.String("no_slots", fmt.Sprintf("there is no slot of class %d", class)))
	}
	if p.heldBack(ph) {
		attrs = append(attrs, slog.String("held_back",
			fmt.Sprintf("waits for the phase before, as %d tasks do that hold slots, of at most %d", c.early, p.earlyLimit(class))))
	}
	if ph.stage == training {
		known, running := 0, 0
		for i := range ph.samples {
			if ph.samples[i].state == sampled {
				known++
			} else {
				running++
			}
		}
		attrs = append(attrs,
			slog.String("training", fmt.Sprintf("%d of %d tasks known, %d running", known, p.tasks, running)),
			slog.String("training_slots", fmt.Sprintf("%d of %d held", c.used, p.limit(class))))
		if ph.failures >= p.tasks {
			attrs = append(attrs, slog.String("training_priority", fmt.Sprintf("lost after %d failures", ph.failures)))
		}
	}
	return attrs
}

// seconds returns a time for people to read.
func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
