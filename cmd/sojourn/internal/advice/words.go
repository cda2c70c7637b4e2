package advice

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/paired"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
)

// scale says how effects are told.
func (o *Objective) scale() paired.Scale {
	if o.Deadlines() {
		return paired.Points
	}
	return paired.Ratios
}

// amount returns by how much an effect changes the objective: in percent, or in points of a
// share.
func (o *Objective) amount(effect float64) float64 { return o.scale().Amount(effect) }

// change says how a number is changed by an effect, such as "44 % lower (31 to 55 %)".
func (o *Objective) change(i stats.Interval) string { return o.scale().Change(i) }

// loadName returns a load with its number, such as "recorded (0.89)".
func (a *Advice) loadName(l int) string {
	load := slices.Max(a.samples[0][l].Loads[0])
	if a.Loads[l] != Recorded || math.IsInf(load, 0) {
		return a.Loads[l]
	}
	return Recorded + " (" + format.Number(load, 2) + ")"
}

// quarterName says which jobs a quarter has.
func (a *Advice) quarterName(q int) string {
	span := func(q int) string { return format.Span(time.Duration(a.bounds[q] * float64(time.Second))) }
	switch q {
	case 0:
		return "those of the least work (at most " + span(0) + ")"
	case quarters - 1:
		return "those of the most work (above " + span(q-1) + ")"
	}
	return "those of " + span(q-1) + " to " + span(q)
}

// Sentences returns five sentences: which policy to use, what it gains, for which jobs it is
// worse, whether the loads agree, and how certain this is.
func (a *Advice) Sentences() []string {
	return []string{a.what(), a.gain(), a.worse(), a.agreement(), a.sureness()}
}

func (a *Advice) what() string {
	best := &a.Lines[0]
	var ties []string
	var more []float64
	for i := range a.Lines[1:] {
		if l := &a.Lines[1+i]; l.Tied() && 1+i != a.Use {
			ties, more = append(ties, l.Policy), append(more, l.Best.Mean)
		}
	}
	switch {
	case a.Length == 0:
		return fmt.Sprintf("Use %s, whose %s is the least here, though nothing can be said of chance.", best.Policy, a.Objective.What)
	case a.Use > 0:
		use := a.Lines[a.Use].Policy
		return fmt.Sprintf("Use %s: the %s of %s is the least, but %s, and %s is the simplest of those within %d %s.",
			use, a.Objective.What, best.Policy, a.Objective.scale().Tie(append([]string{use}, ties...), append([]float64{a.Lines[a.Use].Best.Mean}, more...)), use, paired.Alike, a.Objective.scale().Unit())
	case len(ties) == 0:
		return fmt.Sprintf("Use %s: its %s is the least, and %s.", best.Policy, a.Objective.What, paired.Sure)
	}
	return fmt.Sprintf("Use %s: its %s is the least, but %s.", best.Policy, a.Objective.What, a.Objective.scale().Tie(ties, more))
}

func (a *Advice) gain() string {
	best := &a.Lines[a.Use]
	var parts []string
	for _, with := range []struct {
		name   string
		effect stats.Interval
	}{{fair, best.Fair}, {fifo, best.FIFO}} {
		if with.name != best.Policy {
			parts = append(parts, a.Objective.change(with.effect)+" than under "+with.name)
		}
	}
	text := fmt.Sprintf("Its %s is %s", a.Objective.What, strings.ReplaceAll(format.Joined(parts, "and"), "the same than", "the same as"))
	if len(a.Loads) > 1 {
		text += ", on average over the loads"
	}
	if a.Objective.Deadlines() {
		refused := 0.0
		for _, share := range best.Refused {
			refused += 100 * share / float64(len(a.Loads))
		}
		text += fmt.Sprintf("; it refuses %s %% of the jobs that have one, which counts as missed", paired.AmountText(refused, 1))
	}
	return text + "."
}

func (a *Advice) worse() string {
	best, what := &a.Lines[a.Use], "mean sojourn time"
	if a.Objective.Deadlines() {
		what = a.Objective.What
	}
	if best.Policy == fair {
		return "Nobody is worse off than under fair, which it is."
	}
	var parts []string
	rest := ""
	if a.Objective.percent != tail && a.Objective.amount(best.Tail.Mean) >= 0.05 {
		rest = " Its 90th percentile of the sojourn time is " + a.Objective.change(best.Tail) + " than under fair"
		if !(best.Tail.Low() > 0) {
			rest += ", which may be chance"
		}
		rest += "."
	}
	for q, effect := range best.Quarterly {
		if a.Objective.amount(effect.Mean) < 0.05 || math.IsNaN(effect.Mean) {
			continue
		}
		text := a.quarterName(q) + ", whose " + what + " is " + a.Objective.change(effect)
		if !(effect.Low() > 0) {
			text += ", which may be chance"
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return fmt.Sprintf("It is worse than fair for none of the quarters of the jobs by their work: no quarter has a higher %s.", what) + rest
	}
	return "It is worse than fair for these quarters of the jobs by their work: " + strings.Join(parts, "; ") + "." + rest
}

func (a *Advice) agreement() string {
	best := &a.Lines[a.Use]
	if len(a.Loads) == 1 {
		return fmt.Sprintf("Only one load was tried, %s, so that nothing is known of others.", a.loadName(0))
	}
	var agree, differ []string
	for l := range a.Loads {
		ahead := -1
		for i := range a.Lines {
			line := &a.Lines[i]
			if line.BestAt[l].High() < 0 && (ahead < 0 || line.Values[l] < a.Lines[ahead].Values[l]) {
				ahead = i
			}
		}
		if ahead < 0 {
			agree = append(agree, a.loadName(l))
			continue
		}
		differ = append(differ, fmt.Sprintf("at %s, that of %s is %s", a.loadName(l), a.Lines[ahead].Policy, a.Objective.change(a.Lines[ahead].BestAt[l])))
	}
	switch {
	case a.Length == 0:
		return fmt.Sprintf("What each load says stands in the table: %s.", format.Joined(agree, "and"))
	case len(differ) == 0:
		return fmt.Sprintf("The loads agree: at none of %s is another policy ahead of %s by more than chance.", format.Joined(agree, "and"), best.Policy)
	}
	return fmt.Sprintf("The loads do not agree: %s.", strings.Join(differ, "; "))
}

func (a *Advice) sureness() string {
	known := a.Workload.Facts()
	jobs := format.Count(known.Jobs, "job")
	switch {
	case known.Jobs == 1:
		return "One job is no evidence: take this for a test of the command."
	case known.Span() == 0:
		return fmt.Sprintf("All %s arrive at one instant, which is one observation: another batch may say otherwise.", jobs)
	case a.Length == 0:
		return fmt.Sprintf("There are %s over %s, too few for intervals, which take %d or more.", jobs, format.Span(known.Span()), stats.MinBlocks)
	}
	text := fmt.Sprintf("How sure: %s over %s make %s of %s in a row for the %.0f %% intervals", jobs,
		format.Span(known.Span()), format.Count(a.Blocks, "block"), format.Count(a.Length, "job"), 100*stats.Confidence)
	if beyond := known.Jobs * (100 - a.Objective.percent) / 100; a.Objective.percent > 0 && beyond < 20 {
		return text + fmt.Sprintf(", but the percentile hangs on the last %s of all: a longer workload may say otherwise.", format.Count(max(beyond, 1), "job"))
	}
	if a.Blocks < 20 {
		return text + ", which is few: a longer workload may say otherwise."
	}
	return text + ", which tell what is chance within this workload, not whether other times are like it."
}
