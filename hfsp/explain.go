package hfsp

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// AppendRanking implements [sojourn.Explainer]: class after class, it ranks jobs by their
// phase that is served first. While there are training slots left, jobs that have
// training tasks to start come first.
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.ledger.AppendRanking(dst, func(list func(*job)) {
		for _, c := range p.classes {
			if c.training.left() > 0 {
				for ph := range c.training.all {
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
// options: see the package comment. Its keys are those of [reserve.Reserve.Explain] and
//
//	key                       unit    meaning
//	void                      text    that the job was adopted, if so: it ages from then on, as if it had
//	                                  arrived, and its service before is unknown
//	rank                      jobs    live jobs that come before it, unless it is cancelled
//	phaseN                    group   phase N, from 0, if it is ready and not finished
//	phaseN.stage              text    tiny, known (beforehand), training or trained
//	phaseN.S_i                slot s  the initial size, unless it is tiny
//	phaseN.S_f                slot s  the final size, once it is trained
//	phaseN.s                  s       the expected time of a task, unless it is tiny
//	phaseN.v                  slot s  the virtual size
//	phaseN.late               bool    whether it is complete in the virtual cluster, and so goes before
//	                                  phases that are not
//	phaseN.owed               slot s  the service of its ended tasks beyond what the virtual cluster gave it,
//	                                  if any: it goes on ageing by that when it leaves
//	phaseN.rank               phases  those that come before it for slots of its class
//	phaseN.for_training       phases  those that come before it only because they are in training, if any
//	phaseN.waits_for          job ID  the job of the first phase before it, if it could use a slot
//	phaseN.locality           text    how close to its inputs a slot has to be for now, and until when or
//	                                  for how much longer, if it waits for such a slot
//	phaseN.held_back          text    why it may not start early tasks for now, if so
//	phaseN.training           text    how many of its t training tasks have told their time, and how many
//	                                  run, while it is in training
//	phaseN.training_slots     text    how many of the T training slots of the class are held, while it is
//	                                  in training
//	phaseN.training_priority  text    why it lacks the priority of training, if it has tasks to train and
//	                                  lacks it
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	attrs := p.ledger.Attrs(j)
	if p.reserve != nil {
		attrs = p.reserve.Explain(attrs, func(filed func(sojourn.Class, int, bool)) {
			for _, ph := range j.Data.phases {
				if ph != nil && ph.startable() {
					filed(ph.class.id, ph.item.Level(), false)
				}
			}
		})
	}
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
	if served, given := uint64(clamp(ph.served)), ph.given(); served > given {
		attrs = append(attrs, slog.Float64("owed", seconds(served-given)))
	}

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
		case ph.hopeless(p.tasks):
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
	if !w.any || !ph.startable() || !w.index.HasInputs(ph.job, ph.index) {
		return "", false
	}
	return ph.wait.Explain(w.delay, w.unused(ph), w.waits(ph), w.ledger.Now())
}

// seconds returns a time for people to read.
func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
