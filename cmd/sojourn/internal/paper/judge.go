package paper

import (
	"cmp"
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

// judge compares the results of some seeds with the paper. A number has a verdict if
// our interval is no wider than the tolerance on each side. A claim has a verdict if
// our interval is on one side of the limit, or no wider than the tolerance.
func (r *paperRow) judge(ours stats.Interval, seeds int) verdict {
	claimed := r.claim
	switch {
	case r.value > 1:
		claimed = above
	case r.value > 0:
		claimed = below
	case r.claim == noClaim:
		return verdict{}
	}
	limit := r.bound()
	found := noClaim
	switch {
	case ours.Low() > limit:
		found = above
	case ours.High() < limit:
		found = below
	}
	margin := r.allowed() * cmp.Or(r.value, limit)
	not := func(why string) verdict {
		return verdict{is: notReproduced, why: strings.TrimSpace(why + " " + r.reason)}
	}
	switch {
	case math.IsNaN(ours.Mean):
		return not("There is no such number.")
	case math.IsNaN(ours.Half):
		return verdict{is: tooFewSeeds, why: "One seed tells nothing of chance."}
	case r.value == 0 && found == claimed:
		return verdict{is: reproduced}
	case r.value == 0 && found != noClaim:
		return not(fmt.Sprintf("Ours is on the other side of %v.", limit))
	case ours.Half > margin:
		enough := margin
		if r.value == 0 {
			enough = max(margin, math.Abs(ours.Mean-limit))
		}
		needed := ours.Needed(seeds, enough)
		return verdict{tooFewSeeds, r.tooWide(ours, margin, needed), needed}
	case r.value == 0:
		return not(fmt.Sprintf("Our interval contains %v.", limit))
	}
	off := ours.Mean/r.value - 1
	if math.Abs(off) <= r.allowed() {
		return verdict{is: reproduced}
	}
	why := fmt.Sprintf("Ours is %.0f %% above.", 100*off)
	if off < 0 {
		why = fmt.Sprintf("Ours is %.0f %% below.", -100*off)
	}
	if r.over != "" && found == claimed {
		return verdict{is: shapeOnly, why: why}
	}
	return not(why)
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
