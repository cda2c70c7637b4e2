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
	return p.ledger.AppendRanking(dst, func(list func(*job)) {
		for _, c := range p.classes {
			if c.training.left() > 0 {
				for _, ph := range c.training.all() {
					list(ph.job)
				}
			}
			for it := range c.aging.All() {
				list(it.Value.job)
			}
		}
	}) // and last the jobs whose next phase lost its input: they are in no virtual cluster
}

// Explain implements [sojourn.Explainer]. Which guarantees there are follows from the
// options: see the package comment. It tells the state of the job's tasks; its rank from
// 0; void, if the job was adopted: it ages from then on, as if it had arrived, and
// nothing is known of what it was served before. And for each phase that is ready and not
// finished
//
//   - stage: tiny, known beforehand, training, or trained;
//   - S_i and, once trained, S_f, the initial and the final size, in seconds of slot
//     time;
//   - s, the expected time of a task, in seconds;
//   - v, the virtual size, in seconds of slot time, and whether the phase is late:
//     complete in the virtual cluster, so that it goes before those that are not;
//   - rank, how many phases come before it for slots of its class; for_training, how many
//     of these only because they are in training; and waits_for, the job of the first;
//   - locality, if it takes only slots close to its inputs for now, how close, and until
//     when or for how much longer;
//   - held_back, if it may not start early tasks for now;
//   - no_slots, if there is no slot of its class at all;
//   - while it is being trained, how many of its t training tasks have told their time
//     and how many run; how many of the T training slots of the class are held; and why
//     it has not the priority of training, if it has tasks to train and all the same not.
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	attrs := j.Attrs()
	if j.Data.adopted {
		attrs = append(attrs, slog.String("void",
			fmt.Sprintf("the job was adopted at %v: it has aged since then, and what it was served before is not known", j.Data.since)))
	}
	if !j.Cancelled() {
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
	c := ph.class
	attrs := []slog.Attr{slog.String("stage", stageNames[ph.stage])}
	if ph.stage != stageTiny {
		attrs = append(attrs, slog.Float64("S_i", seconds(ph.initial)))
	}
	if ph.stage == stageTrained {
		attrs = append(attrs, slog.Float64("S_f", seconds(ph.final)))
	}
	if ph.stage != stageTiny {
		attrs = append(attrs, slog.Float64("s", seconds(ph.mean())))
	}
	attrs = append(attrs, slog.Float64("v", seconds(ph.remaining())), slog.Bool("late", ph.item.Late()))

	ahead, trained := c.ahead(ph)
	attrs = append(attrs, slog.Int("rank", len(ahead)))
	if trained > 0 {
		attrs = append(attrs, slog.Int("for_training", trained))
	}
	if len(ahead) > 0 && ph.tasks.Pending() > 0 {
		attrs = append(attrs, slog.Uint64("waits_for", uint64(ahead[0].job.Spec().ID)))
	}
	if text, waits := p.patience.explain(ph); waits {
		attrs = append(attrs, slog.String("locality", text))
	}
	if p.ledger.Capacity(c.id) == 0 {
		attrs = append(attrs, slog.String("no_slots", fmt.Sprintf("there is no slot of class %d", c.id)))
	}
	if ph.early && c.gate.shut() {
		attrs = append(attrs, slog.String("held_back",
			fmt.Sprintf("waits for the phase before, as %d tasks do that hold slots, of at most %d", c.gate.held, c.gate.limit())))
	}
	if ph.stage == stageTraining {
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
			slog.String("training_slots", fmt.Sprintf("%d of %d held", c.training.used, c.training.limit())))
		switch {
		case ph.failures >= p.tasks:
			attrs = append(attrs, slog.String("training_priority", fmt.Sprintf("lost after %d failures", ph.failures)))
		case len(ph.samples) == p.tasks || ph.tasks.Pending() == 0: // nothing more to train
		case ph.early:
			attrs = append(attrs, slog.String("training_priority", "none before the phase before has finished"))
		case c.training.left() <= 0:
			attrs = append(attrs, slog.String("training_priority", "waits for a training slot"))
		}
	}
	return attrs
}

// explain tells what a phase waits for that takes only slots close to its inputs.
func (w *patience) explain(ph *phase) (text string, waits bool) {
	if !ph.startable() || !w.index.HasInputs(ph.job, ph.index) {
		return "", false
	}
	switch w.reach(ph) {
	case sojourn.NodeLocal:
		text = "takes only slots on the nodes of its inputs"
	case sojourn.RackLocal:
		text = "takes only slots on the racks of its inputs"
	default:
		return "", false
	}
	counts, now := w.waits(ph) || ph.wait.Runs(), w.ledger.Now()
	wait := ph.wait
	wait.Start(now)
	switch at, ok := wait.Next(w.delay, now); {
	case !ok:
	case counts:
		text += fmt.Sprintf(", until %v", at)
	default:
		text += fmt.Sprintf(", for %v more in which a slot is free", at.Sub(now))
	}
	return text, true
}

// seconds returns a time for people to read.
func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
