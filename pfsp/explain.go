package pfsp

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// AppendRanking implements [sojourn.Explainer]: class after class, the job whose turn it
// is to get a free slot, and then the others in the order in which their phases end
// in the virtual cluster.
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.ledger.AppendRanking(dst, func(list func(*ledger.Job[data])) {
		for _, c := range p.classes {
			if ph := p.choose(c); ph != nil {
				list(ph.job)
			}
			for it := range c.system.All() {
				list(it.Value.job)
			}
		}
	}) // and last the jobs whose next phase lost its input: they are in no system
}

// Explain implements [sojourn.Explainer]. Its keys are those of [reserve.Reserve.Explain] and
//
//	key                     unit    meaning
//	phaseN                  group   phase N, from 0, if it is in a slack system
//	phaseN.v                slot s  the work that it has left in the virtual cluster
//	phaseN.w                slot s  the work that it has left in reality
//	phaseN.s                slot s  its slack
//	phaseN.H                slot s  the work that the virtual cluster does until it ends there; 0 if it is late
//	phaseN.late             bool    whether it has ended there
//	phaseN.completable      bool    whether it may be served without delaying others beyond their ends there
//	phaseN.probes_left      tasks   those of it that may still start out of turn
//	phaseN.task_time_ratio  1       its measured task times over its estimates
//	phaseN.guards           job ID  the job of the first phase that becomes late if this one is served too
//	                                long, if it is another job
//	phaseN.bound_holds      bool    whether the bound of the package comment holds for it
//	phaseN.void             list    the hypotheses of the bound that do not hold
//	rank                    jobs    live jobs that come before it; -1 if it is cancelled
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	attrs := p.ledger.Attrs(j)
	if p.reserve != nil {
		attrs = p.reserve.Explain(attrs, func(filed func(sojourn.Class, int, bool)) { levels(j, filed) })
	}
	for i := range j.Data.phases {
		if ph := &j.Data.phases[i]; ph.item != nil {
			attrs = append(attrs, slog.GroupAttrs(fmt.Sprintf("phase%d", i), p.explain(ph)...))
		}
	}
	return append(attrs, slog.Int("rank", slices.Index(p.AppendRanking(nil), id))), true
}

func (p *Policy) explain(ph *phase) []slog.Attr {
	c := p.classOf(ph)
	it := ph.item
	s := c.system.Slack(it)
	horizon := s
	for other := range c.system.All() {
		horizon += float64(other.Work())
		if other == it {
			break
		}
	}
	if it.Late() {
		horizon = 0
	}
	attrs := []slog.Attr{
		slog.Float64("v", float64(c.system.Virtual(it))/1e9),
		slog.Float64("w", float64(it.Work())/1e9),
		slog.Float64("s", s/1e9),
		slog.Float64("H", horizon/1e9),
		slog.Bool("late", it.Late()),
		slog.Bool("completable", c.system.Completable(it)),
		slog.Int("probes_left", max(0, p.fairLimit-ph.begun)),
		slog.Float64("task_time_ratio", ph.ratioFloat()),
	}
	if g, ok := c.system.Guard(it); ok && g.Value.job != ph.job {
		attrs = append(attrs, slog.Uint64("guards", uint64(g.Value.job.Spec().ID)))
	}
	void := p.void(ph)
	return append(attrs, slog.Bool("bound_holds", len(void) == 0), slog.Any("void", void))
}

func (e *estimate) ratioFloat() float64 {
	return float64(float64(e.ratio.Hi)*(1<<32)) + float64(float64(e.ratio.Lo)/(1<<32))
}
