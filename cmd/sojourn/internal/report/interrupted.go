package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// An Interrupted prints what policies have done that were stopped: how far each is, and the comparison of those that have ended.
type Interrupted struct {
	*trial.Scenario
	Specs   []catalog.Spec
	Results []*sim.Result // nil for a policy that has not ended
}

// An interruption says how far each policy is, in JSON.
type interruption struct {
	Common   int       `json:"common_jobs"` // that have finished under each policy that has begun
	Policies []reached `json:"policies"`
}

// A reached says how far a policy is. Its times are of the common jobs, in seconds.
type reached struct {
	Policy   string      `json:"policy"`
	Ended    bool        `json:"ended"`
	Finished int         `json:"finished"`
	Mean     format.Real `json:"mean"`
	P90      format.Real `json:"p90"`
	Max      format.Real `json:"max"`
}

// reached returns how far each policy is.
func (r *Interrupted) reached() *interruption {
	jobs := r.Workload.Facts().Jobs
	under := make([]uint16, jobs) // how many policies each job has finished under
	begun := 0
	all := make([]reached, len(r.Specs))
	for i, sojourns := range r.Sojourns {
		all[i] = reached{Policy: r.Specs[i].String(), Ended: r.Results[i] != nil}
		for rank, v := range sojourns {
			if !math.IsNaN(v) {
				under[rank]++
				all[i].Finished++
			}
		}
		if all[i].Finished > 0 {
			begun++
		}
	}
	common := 0
	for _, n := range under {
		if n > 0 && int(n) == begun {
			common++
		}
	}
	values := make([]float64, 0, common)
	for i, sojourns := range r.Sojourns {
		all[i].Mean, all[i].P90, all[i].Max = format.Real(math.NaN()), format.Real(math.NaN()), format.Real(math.NaN())
		if all[i].Finished == 0 || common == 0 {
			continue
		}
		values = values[:0]
		sum := 0.0
		for rank, v := range sojourns {
			if int(under[rank]) == begun {
				values = append(values, v)
				sum += v
			}
		}
		all[i].Mean = format.Real(sum / float64(common))
		all[i].P90, all[i].Max = format.Real(nth(values, (9*common+9)/10)), format.Real(slices.Max(values))
	}
	return &interruption{common, all}
}

// nth returns the k-th least of some values, from 1, and changes their order: an interrupted program has no time to sort millions.
func nth(values []float64, k int) float64 {
	for len(values) > 1 {
		pivot := values[len(values)/2]
		i, j := 0, len(values)-1
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j+1:
			values = values[:j+1]
		case k > i:
			values, k = values[i:], k-i
		default:
			return pivot
		}
	}
	return values[0]
}

// ended returns the comparison of the policies that have ended. Nothing is said of chance, which takes too long.
func (r *Interrupted) ended() *Comparison {
	s := *r.Scenario
	s.Rolls, s.Sojourns = nil, nil
	c := &Comparison{Scenario: &s}
	for i, res := range r.Results {
		if res != nil {
			c.Specs, c.Results = append(c.Specs, r.Specs[i]), append(c.Results, res)
			s.Rolls = append(s.Rolls, r.Rolls[i])
		}
	}
	return c
}

// Summary returns what is done in JSON.
func (r *Interrupted) Summary() ComparisonSummary {
	sum := r.ended().Summary()
	sum.Interrupted = r.reached()
	if sum.Policies == nil {
		sum.Policies = []Summary{}
	}
	return sum
}

// Write says what is missing first.
func (r *Interrupted) Write(w io.Writer) error {
	ended, so := r.ended(), r.reached()
	text := "interrupted: no policy has ended"
	switch n := len(ended.Specs); {
	case n == len(r.Specs):
		text = "interrupted: all policies have ended"
	case n > 0:
		var names []string
		for _, s := range ended.Specs {
			names = append(names, s.String())
		}
		text = fmt.Sprintf("interrupted: %d of %d policies have ended (%s)", n, len(r.Specs), strings.Join(names, ", "))
		if n == 1 {
			text = fmt.Sprintf("interrupted: only %s has ended, of %d policies", names[0], len(r.Specs))
		}
	}
	t := &format.Table{Corner: "policy"}
	var jobs []string
	var mean, p90, most []float64
	for i, p := range so.Policies {
		t.Names = append(t.Names, p.Policy)
		if finished := format.Thousands(p.Finished); r.Sojourns[i] != nil {
			jobs = append(jobs, finished)
		} else {
			jobs = append(jobs, "-") // it has not begun, or was in a call of its policy
		}
		mean, p90, most = append(mean, float64(p.Mean)), append(p90, float64(p.P90)), append(most, float64(p.Max))
	}
	t.Add("jobs finished", "of "+format.Thousands(r.Workload.Facts().Jobs), jobs)
	if so.Common > 0 {
		group := "sojourn time (s) of " + format.Count(so.Common, "job")
		t.Add(group, "mean", format.Column(mean))
		t.Add(group, "p90", format.Column(p90))
		t.Add(group, "max", format.Column(most))
	}
	blocks := []string{format.Verdict(text), t.String()}
	if so.Common > 0 {
		blocks[1] += format.Hang("", "The times are of the jobs that have finished under each policy that has begun. Jobs that wait longest come last, so that whole runs may have greater times.")
	}
	if len(ended.Specs) > 0 {
		var whole strings.Builder
		if err := ended.Write(&whole); err != nil {
			return err
		}
		blocks = append(blocks, whole.String())
	} else {
		blocks = slices.Insert(blocks, 1, Header(r.Scenario))
	}
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}
