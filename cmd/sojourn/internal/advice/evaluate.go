package advice

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/paired"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
)

// quarters is how many groups of jobs by size there are.
const quarters = 4

// tail is the percentile of the sojourn time that every advice shows.
const tail = 90

// An Advice ranks the policies of a study by an objective.
type Advice struct {
	*Study
	Objective Objective
	Length    int // of a block, in jobs; 0 if there are no intervals
	Blocks    int
	Lines     []Line // the best policy first
	Use       int    // the line of the policy that is advised
}

// A Line is the part of an advice about one policy. Intervals are of effects: differences
// of the logarithm of the objective, or of the objective itself if it is a share.
type Line struct {
	Policy    string
	Values    []float64        // of the objective, load by load
	Refused   []float64        // the share of the jobs with a deadline that were refused
	Best      stats.Interval   // against the best policy, over all loads
	Fair      stats.Interval   // against fair
	FIFO      stats.Interval   // against fifo
	BestAt    []stats.Interval // against the policy advised, load by load
	Quarterly [quarters]stats.Interval
	Tail      stats.Interval // the 90th percentile of the sojourn time against fair; unknown for deadlines
	score     float64
}

// Tied reports whether a policy cannot be distinguished from the best.
func (l *Line) Tied() bool { return !(l.Best.Low() > 0) }

// Evaluate ranks the policies. The same seed gives the same.
func (st *Study) Evaluate(ctx context.Context, o Objective) (*Advice, error) {
	a := &Advice{Study: st, Objective: o}
	all := make([][]*numbers, len(st.specs))
	for p := range st.specs {
		all[p] = make([]*numbers, len(st.Loads))
	}
	a.Length = st.blockLength(o)
	if a.Length > 0 {
		a.Blocks = len(st.work) / a.Length
	}
	err := trial.Parallel(ctx, len(st.specs)*len(st.Loads), func(_ context.Context, i int) error {
		p, l := i/len(st.Loads), i%len(st.Loads)
		all[p][l] = a.numbers(p, l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for p, spec := range st.specs {
		line := Line{Policy: spec.String()}
		for l := range st.Loads {
			n := all[p][l]
			line.score += n.total.value / float64(len(st.Loads))
			line.Values = append(line.Values, n.plain)
			res := st.samples[p][l].Results[0]
			line.Refused = append(line.Refused, float64(res.Deadlines-res.Accepted)/float64(res.Deadlines))
		}
		if math.IsNaN(line.score) {
			return nil, errors.New(st.Workload.Name + ": the " + o.What + " is 0 or unknown, so that there is nothing to compare")
		}
		a.Lines = append(a.Lines, line)
	}
	best := 0
	for p := range a.Lines {
		if a.Lines[p].score < a.Lines[best].score {
			best = p
		}
	}
	total := func(n *numbers) *number { return &n.total }
	for p := range a.Lines {
		a.Lines[p].Best = a.difference(all[p], all[best], total)
	}
	use := a.simplest(best)
	for p := range a.Lines {
		a.against(&a.Lines[p], all, p, use)
	}
	advised := a.Lines[use].Policy
	slices.SortStableFunc(a.Lines, func(x, y Line) int { return cmp.Compare(x.score, y.score) })
	a.Use = slices.IndexFunc(a.Lines, func(l Line) bool { return l.Policy == advised })
	return a, nil
}

// simplest returns the policy to advise: the simplest that is tied with the best and has hardly more of the objective.
func (a *Advice) simplest(best int) int {
	if a.Length == 0 {
		return best
	}
	use := best
	for p := range a.Lines {
		line := &a.Lines[p]
		if line.Tied() && a.Objective.amount(line.Best.Mean) <= paired.Alike && plainness(a.specs[p]) < plainness(a.specs[use]) {
			use = p
		}
	}
	return use
}

// against fills in the comparisons of a policy with others, and with the one that is advised.
func (a *Advice) against(line *Line, all [][]*numbers, p, use int) {
	total := func(n *numbers) *number { return &n.total }
	yardstick := indexOf(a.specs, fair)
	line.Fair = a.difference(all[p], all[yardstick], total)
	line.FIFO = a.difference(all[p], all[indexOf(a.specs, fifo)], total)
	for l := range a.Loads {
		line.BestAt = append(line.BestAt, a.difference(all[p][l:l+1], all[use][l:l+1], total))
	}
	if a.Objective.Deadlines() {
		line.Tail.Mean = math.NaN()
	} else {
		line.Tail = a.difference(all[p], all[yardstick], func(n *numbers) *number { return &n.tail })
	}
	for q := range line.Quarterly {
		line.Quarterly[q] = a.difference(all[p], all[yardstick], func(n *numbers) *number { return &n.quarters[q] })
	}
}

// blockLength returns how many jobs a block has. It is 0 if there are too few jobs, or if
// all jobs arrive at once and are one observation.
func (st *Study) blockLength(o Objective) int {
	known := st.Workload.Facts()
	if known.Span() == 0 {
		return 0
	}
	var series [][]float64
	for p := range st.specs {
		for l := range st.Loads {
			series = append(series, st.values(p, l, o.measure))
		}
	}
	return paired.Block(series, o.percent)
}

// difference returns the mean over loads of the differences of two policies, paired.
func (a *Advice) difference(x, y []*numbers, of func(*numbers) *number) stats.Interval {
	value, resampled := 0.0, make([]float64, len(of(x[0]).resampled))
	for l := range x {
		m, n := of(x[l]), of(y[l])
		value += (m.value - n.value) / float64(len(x))
		for i := range resampled {
			resampled[i] += (m.resampled[i] - n.resampled[i]) / float64(len(x))
		}
	}
	return stats.Bootstrapped(value, resampled, a.Blocks)
}
