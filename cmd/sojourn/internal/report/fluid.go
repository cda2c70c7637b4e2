package report

import (
	"math/big"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/internal/fluid"
)

// FluidSchedules is what fluid prints as JSON.
type FluidSchedules struct {
	Slots       int                   `json:"slots"`
	IDs         []sojourn.JobID       `json:"ids"`
	Completions map[string][]rational `json:"completions"`
	Schema      int                   `json:"schema"`

	jobs []fluid.Job // as IDs
}

// A rational is an exact number of seconds.
type rational struct{ *big.Rat }

// MarshalText returns "a" or "a/b", in lowest terms.
func (r rational) MarshalText() ([]byte, error) { return []byte(r.RatString()), nil }

// NewFluid returns the schedules of a workload. jobs are its jobs, and ends when each
// completes, in nanoseconds, by policy.
func NewFluid(slots int, w *input.Workload, jobs []fluid.Job, ends map[string][]*big.Rat) *FluidSchedules {
	s := &FluidSchedules{Slots: slots, Completions: map[string][]rational{}, Schema: format.Schema, jobs: jobs}
	for _, j := range w.Jobs {
		s.IDs = append(s.IDs, j.ID)
	}
	second := big.NewRat(int64(time.Second), 1)
	for name, completions := range ends {
		for _, c := range completions {
			s.Completions[name] = append(s.Completions[name], rational{new(big.Rat).Quo(c, second)})
		}
	}
	return s
}

// Table returns the completions, rounded to milliseconds, and below them the mean
// sojourn time.
func (s *FluidSchedules) Table(names []string) *format.Table {
	t := &format.Table{Corner: "job"}
	arrivals, works := []string{}, []string{}
	for i, id := range s.IDs {
		t.Names = append(t.Names, strconv.FormatUint(uint64(id), 10))
		arrivals = append(arrivals, format.Time(s.jobs[i].At))
		works = append(works, format.Duration(s.jobs[i].Work))
	}
	t.Names = append(t.Names, "mean sojourn time")
	t.Add("", "arrival", append(arrivals, ""))
	t.Add("", "size", append(works, ""))
	for _, name := range names {
		var cells []string
		sum := new(big.Rat)
		for i, c := range s.Completions[name] {
			cells = append(cells, c.FloatString(3))
			sum.Add(sum, c.Rat)
			sum.Sub(sum, big.NewRat(int64(s.jobs[i].At), int64(time.Second)))
		}
		mean := sum.Quo(sum, big.NewRat(int64(len(s.IDs)), 1))
		t.Add("completion (s)", name, append(cells, mean.FloatString(3)))
	}
	return t
}
