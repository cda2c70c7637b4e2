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

func FluidKinds() map[string]fluid.Kind {
	return map[string]fluid.Kind{"ps": fluid.PS, "fsp": fluid.FSP, "srpt": fluid.SRPT, "pfsp": fluid.PFSP}
}

// FluidSchedules is what fluid prints as JSON.
type FluidSchedules struct {
	Slots       int                   `json:"slots"`
	IDs         []sojourn.JobID       `json:"ids"`
	Completions map[string][]rational `json:"completions"`

	Jobs []fluid.Job `json:"-"` // as IDs
}

// A rational is an exact number of seconds.
type rational struct{ *big.Rat }

// MarshalText returns "a" or "a/b", in lowest terms.
func (r rational) MarshalText() ([]byte, error) { return []byte(r.RatString()), nil }

func NewFluidSchedules(w *input.Workload, slots int) *FluidSchedules {
	s := &FluidSchedules{Slots: slots, Completions: map[string][]rational{}}
	for _, j := range w.Jobs {
		var work time.Duration
		for i := range j.Phases {
			work += j.Times[i].Total(j.Phases[i].Tasks)
		}
		s.IDs = append(s.IDs, j.ID)
		s.Jobs = append(s.Jobs, fluid.Job{At: j.At, Work: work, Weight: j.WeightUnits()})
	}
	return s
}

// Add adds the completions under a policy, which are in nanoseconds.
func (s *FluidSchedules) Add(name string, completions []*big.Rat) {
	second := big.NewRat(int64(time.Second), 1)
	for _, c := range completions {
		s.Completions[name] = append(s.Completions[name], rational{new(big.Rat).Quo(c, second)})
	}
}

// Table returns the completions, rounded to milliseconds, and below them the mean
// sojourn time.
func (s *FluidSchedules) Table(names []string) *format.Table {
	t := &format.Table{Corner: "job"}
	arrivals, works := []string{}, []string{}
	for i, id := range s.IDs {
		t.Names = append(t.Names, strconv.FormatUint(uint64(id), 10))
		arrivals = append(arrivals, format.Time(s.Jobs[i].At))
		works = append(works, format.Duration(s.Jobs[i].Work))
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
			sum.Sub(sum, big.NewRat(int64(s.Jobs[i].At), int64(time.Second)))
		}
		mean := sum.Quo(sum, big.NewRat(int64(len(s.IDs)), 1))
		t.Add("completion (s)", name, append(cells, mean.FloatString(3)))
	}
	return t
}
