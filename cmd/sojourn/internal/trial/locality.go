package trial

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Locality says where the inputs of tasks are, and what it costs to read them
// from afar.
type Locality struct {
	Remote   RemoteFactors
	Replicas int
	All      bool
	ByName   bool
	Network  Network
}

func (f *Locality) check() error {
	switch {
	case f.Replicas < 0:
		return usage.Errorf("--place %d: want at least 1 replica", f.Replicas)
	case f.All && f.Replicas == 0:
		return usage.Errorf("--place-all needs --place")
	case f.ByName && f.Replicas == 0:
		return usage.Errorf("--place-by-name needs --place")
	}
	return f.Network.check()
}

// checkWorkload finds that there is nothing to place.
func (f *Locality) checkWorkload(w *input.Workload) error {
	if f.Replicas == 0 || f.All {
		return nil
	}
	if w.Facts().HasSizes {
		return nil
	}
	return errors.New("--place: no job of the workload says how many bytes it reads; --place-all places inputs of unknown size")
}

// place returns the jobs of a workload with the places of their inputs.
func (f *Locality) place(w *input.Workload, c *input.Cluster, seed uint64) (iter.Seq2[*sim.Job, error], error) {
	if f.Replicas == 0 {
		return w.All(), nil
	}
	return sim.Place(&c.Cluster, sim.Placement{Replicas: f.Replicas, All: f.All, ByName: f.ByName, Seed: seed}, w.All())
}

// reads returns what reading from afar costs, in one of two ways.
func (f *Locality) reads() (sim.Remote, sim.Network) {
	if f.Network.Bandwidth > 0 {
		return sim.Remote{}, f.Network.config()
	}
	return sim.Remote(f.Remote), sim.Network{}
}

// Header returns the line of a report that says where the inputs of a workload are
// and what reading them costs; "" if it has none.
func (f *Locality) Header(w *input.Workload) string {
	if f.Replicas == 0 && !w.Facts().HasPlaces {
		return ""
	}
	var parts []string
	if f.Replicas > 0 {
		text := "placed with " + format.Count(f.Replicas, "replica")
		if f.ByName {
			text += " by name"
		}
		parts = append(parts, text)
	}
	if f.Network.Bandwidth > 0 {
		parts = append(parts, f.Network.String())
	} else {
		parts = append(parts, fmt.Sprintf("tasks take %v times as long on the node, %v on the rack, %v elsewhere",
			f.Remote.Node, f.Remote.Rack, f.Remote.Remote))
	}
	return format.Hang("inputs     ", strings.Join(parts, "; "))
}

// RemoteFactors are a sim.Remote as text.
type RemoteFactors sim.Remote

// Set reads three numbers.
func (r *RemoteFactors) Set(text string) error {
	factors := strings.Split(text, ",")
	if len(factors) != 3 {
		return fmt.Errorf("%d numbers, want three: on the node, on the rack, elsewhere", len(factors))
	}
	var parsed [3]float64
	for i, text := range factors {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x > 0 && x <= math.MaxFloat64) {
			return fmt.Errorf("%q is not a number above 0", text)
		}
		parsed[i] = x
	}
	*r = RemoteFactors{Node: parsed[0], Rack: parsed[1], Remote: parsed[2]}
	return nil
}

// String returns them in the form that Set reads.
func (r *RemoteFactors) String() string {
	return fmt.Sprintf("%v,%v,%v", r.Node, r.Rack, r.Remote)
}
