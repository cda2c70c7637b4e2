package cli

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sim"
)

// A locality says where the inputs of tasks are, and what it costs to read them
// from afar.
type locality struct {
	remote   remoteFactors
	replicas int
	all      bool
	byName   bool
	network  network
}

func (f *locality) check() error {
	switch {
	case f.replicas < 0:
		return usagef("--place %d: want at least 1 replica", f.replicas)
	case f.all && f.replicas == 0:
		return usagef("--place-all needs --place")
	case f.byName && f.replicas == 0:
		return usagef("--place-by-name needs --place")
	}
	return f.network.check()
}

// checkWorkload finds that there is nothing to place.
func (f *locality) checkWorkload(w *workload) error {
	if f.replicas == 0 || f.all {
		return nil
	}
	if w.facts().sized {
		return nil
	}
	return errors.New("--place: no job of the workload says how many bytes it reads; --place-all places inputs of unknown size")
}

// place returns the jobs of a workload with the places of their inputs.
func (f *locality) place(w *workload, c *cluster, seed uint64) (iter.Seq2[*sim.Job, error], error) {
	if f.replicas == 0 {
		return w.all(), nil
	}
	return sim.Place(&c.Cluster, sim.Placement{Replicas: f.replicas, All: f.all, ByName: f.byName, Seed: seed}, w.all())
}

// reads returns what reading from afar costs, in one of two ways.
func (f *locality) reads() (sim.Remote, sim.Network) {
	if f.network.bandwidth > 0 {
		return sim.Remote{}, f.network.config()
	}
	return sim.Remote(f.remote), sim.Network{}
}

// header returns the line of a report that says where the inputs of a workload are
// and what reading them costs; "" if it has none.
func (f *locality) header(w *workload) string {
	if f.replicas == 0 && !w.facts().placed {
		return ""
	}
	var parts []string
	if f.replicas > 0 {
		text := "placed with " + count(f.replicas, "replica")
		if f.byName {
			text += " by name"
		}
		parts = append(parts, text)
	}
	if f.network.bandwidth > 0 {
		parts = append(parts, f.network.String())
	} else {
		parts = append(parts, fmt.Sprintf("tasks take %v times as long on the node, %v on the rack, %v elsewhere",
			f.remote.Node, f.remote.Rack, f.remote.Remote))
	}
	return hang("inputs     ", strings.Join(parts, "; "))
}

// remoteFactors are a sim.Remote as text.
type remoteFactors sim.Remote

// Set reads three numbers.
func (r *remoteFactors) Set(text string) error {
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
	*r = remoteFactors{Node: parsed[0], Rack: parsed[1], Remote: parsed[2]}
	return nil
}

// String returns them in the form that Set reads.
func (r *remoteFactors) String() string {
	return fmt.Sprintf("%v,%v,%v", r.Node, r.Rack, r.Remote)
}
