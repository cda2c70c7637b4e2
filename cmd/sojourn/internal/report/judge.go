package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
)

// A judgement is a measure of one sample, and how it compares with the others of
// the same group.
type judgement struct {
	stats.Interval
	values []float64
	best   bool // the least mean, of equals the first
	close  bool // not best, but the paired difference to the best is not significant
}

// judge compares the values of samples that were run with the same seeds.
func judge(values [][]float64) []judgement {
	judged := make([]judgement, len(values))
	best := 0
	for i, v := range values {
		judged[i] = judgement{Interval: stats.Mean(v), values: v}
		if least := judged[best].Mean; judged[i].Mean < least || math.IsNaN(least) {
			best = i
		}
	}
	if len(values) == 1 || len(values[0]) == 1 {
		return judged // nothing to compare with, or no way to tell chance from fact
	}
	for i := range judged {
		switch gap := stats.Difference(values[i], values[best]); {
		case i == best:
			judged[i].best = true
		case gap.Contains(0):
			judged[i].close = true
		}
	}
	return judged
}

// mark returns what stands behind a number in a table.
func (j *judgement) mark() string {
	switch {
	case j.best:
		return "*"
	case j.close:
		return "~"
	}
	return " "
}

// judgedColumn formats judgements that stand below one another: two digits of the
// smallest interval, but no more than column shows of the means.
func judgedColumn(all []judgement) []string {
	means, halves := make([]float64, len(all)), make([]float64, len(all))
	whole := true
	for i, j := range all {
		means[i], halves[i] = j.Mean, j.Half
		whole = whole && j.Mean == math.Trunc(j.Mean)
	}
	digits := format.Decimals(means, 3)
	if len(all[0].values) == 1 {
		if !whole {
			return format.Column(means)
		}
		digits = 0
	} else if slices.Max(halves) > 0 {
		digits = min(digits, format.Decimals(halves, 2))
	}
	cells, width := make([]string, len(all)), 0
	for i := range all {
		cells[i] = format.Number(halves[i], digits)
		width = max(width, len(cells[i]))
	}
	for i := range all {
		mean := format.Number(means[i], digits)
		if len(all[i].values) == 1 {
			cells[i] = mean
		} else {
			cells[i] = fmt.Sprintf("%s ± %*s %s", mean, width, cells[i], all[i].mark())
		}
	}
	return cells
}

// judgedVerdict says which of several judged means is the least, and how sure that is.
func judgedVerdict(what string, names []string, all []judgement) string {
	best, close := -1, 0
	for i, j := range all {
		if math.IsNaN(j.Mean) {
			return ""
		}
		if best < 0 || j.Mean < all[best].Mean {
			best = i
		}
		if j.close {
			close++
		}
	}
	switch {
	case len(all) == 1:
		return ""
	case len(all[0].values) == 1:
		return format.Verdict(fmt.Sprintf("%s has the least %s, in one seed", names[best], what))
	case close > 0:
		return format.Verdict(fmt.Sprintf("%s has the least %s, but %s not significantly greater", names[best], what, others(close)))
	}
	return format.Verdict(fmt.Sprintf("%s has the least %s, significantly less than any other", names[best], what))
}

func others(n int) string {
	if n == 1 {
		return "that of one other is"
	}
	return fmt.Sprintf("those of %d others are", n)
}
