package paper

import (
	"fmt"
	"math"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
)

// A verdict says how close our number is to the paper's.
type verdict struct {
	is  string // "" if the paper says nothing
	why string // unless it is reproduced

	// needed is about how many seeds make the interval narrow enough for a verdict; 0 if
	// there is one, or that cannot be told.
	needed int
}

// The verdicts.
const (
	reproduced    = "reproduced"
	shapeOnly     = "shape only"
	notReproduced = "not reproduced"
	tooFewSeeds   = "too few seeds"
)

// judge compares the results of some seeds with the paper. Distance comes before width: what is off by
// more than the tolerance with all of its interval is refuted, however wide that is. A number is reproduced
// if ours is within the tolerance, and so is half of our interval. What is said to be more or less is
// reproduced if all of our interval is on that side of the limit.
func (r *paperRow) judge(ours stats.Interval, seeds int) verdict {
	switch {
	case r.value == 0 && r.claim == noClaim:
		return verdict{}
	case math.IsNaN(ours.Mean):
		return r.refuted("There is no such number.")
	case math.IsNaN(ours.Half):
		return verdict{is: tooFewSeeds, why: "One seed tells nothing of chance."}
	case r.value > 0:
		return r.judgeNumber(ours, seeds)
	}
	limit := r.bound()
	margin := r.allowed() * limit
	switch found := sideOf(ours, limit); {
	case found == r.claim:
		return verdict{is: reproduced}
	case found != noClaim:
		return r.refuted(fmt.Sprintf("Ours is on the other side of %v.", limit))
	case ours.Half > margin:
		needed := ours.Needed(seeds, max(margin, math.Abs(ours.Mean-limit)))
		return verdict{tooFewSeeds, r.tooWide(ours, margin, needed), needed}
	}
	return r.refuted(fmt.Sprintf("Our interval contains %v.", limit))
}

func (r *paperRow) judgeNumber(ours stats.Interval, seeds int) verdict {
	margin := r.allowed() * r.value
	distance := math.Abs(ours.Mean - r.value)
	switch {
	case ours.Half > margin && distance-ours.Half <= margin:
		needed := ours.Needed(seeds, margin)
		return verdict{tooFewSeeds, r.tooWide(ours, margin, needed), needed}
	case distance <= margin:
		return verdict{is: reproduced}
	}
	off := 100 * (ours.Mean/r.value - 1)
	why := fmt.Sprintf("Ours is %.0f %% above.", off)
	if off < 0 {
		why = fmt.Sprintf("Ours is %.0f %% below.", -off)
	}
	said := noClaim // a ratio of 1 has no side
	switch {
	case r.over != "" && r.value > 1:
		said = above
	case r.over != "" && r.value < 1:
		said = below
	}
	if said != noClaim && said == sideOf(ours, 1) {
		return verdict{is: shapeOnly, why: strings.TrimSpace(why + " " + r.reason)}
	}
	return r.refuted(why)
}

// refuted returns the verdict of what did not come out.
func (r *paperRow) refuted(why string) verdict {
	return verdict{is: notReproduced, why: strings.TrimSpace(why + " " + r.reason)}
}

// sideOf returns on which side of a limit all of an interval is.
func sideOf(ours stats.Interval, limit float64) claim {
	switch {
	case ours.Low() > limit:
		return above
	case ours.High() < limit:
		return below
	}
	return noClaim
}

// tooWide says that an interval is too wide for a verdict, and how many seeds would do.
func (r *paperRow) tooWide(ours stats.Interval, margin float64, needed int) string {
	digits := format.Decimals([]float64{margin}, 2)
	text := fmt.Sprintf("± %s is more than the tolerance of ± %s", format.Number(ours.Half, digits), format.Number(margin, digits))
	if r.value == 0 {
		text += fmt.Sprintf(", and our interval contains %v", r.bound())
	}
	switch {
	case needed == 0:
		return text + "."
	case needed > trial.MaxSeeds:
		return fmt.Sprintf("%s; more than --seeds %d would be needed.", text, trial.MaxSeeds)
	}
	return fmt.Sprintf("%s; about --seeds %d would do.", text, needed)
}
