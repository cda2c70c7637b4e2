package cli

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sim"
	"github.com/spf13/pflag"
)

// localityFlags say where the inputs of tasks are, and what it costs to read them
// from afar.
type localityFlags struct {
	remote   remoteFlag
	replicas int
	all      bool
	byName   bool
	network  networkFlags
	flags    *pflag.FlagSet
}

func (f *localityFlags) register(flags *pflag.FlagSet) {
	f.remote = remoteFlag{Node: 1, Rack: 1.5, Remote: 3} // as in Hadoop's Mumak
	flags.Var(&f.remote, "remote", "how many times longer a task takes whose input is on its node, its rack, or elsewhere: `NODE,RACK,REMOTE`; 1,1,1 if that costs nothing")
	flags.IntVar(&f.replicas, "place", 0, "spread inputs of which the workload says only the size over the cluster, as HDFS would with so many `REPLICAS` of each block")
	flags.BoolVar(&f.all, "place-all", false, "with --place, also inputs of unknown size")
	flags.BoolVar(&f.byName, "place-by-name", false, "with --place, jobs of one name read the same data: in a SWIM trace those that name the same path")
	f.network.register(flags)
	f.flags = flags
}

func (f *localityFlags) check() error {
	switch {
	case f.replicas < 0:
		return usagef("--place %d: want at least 1 replica", f.replicas)
	case f.all && f.replicas == 0:
		return usagef("--place-all needs --place")
	case f.byName && f.replicas == 0:
		return usagef("--place-by-name needs --place")
	}
	var remote *pflag.Flag
	if f.flags != nil {
		remote = f.flags.Lookup("remote")
	}
	return f.network.check(remote)
}

// checkWorkload finds that there is nothing to place.
func (f *localityFlags) checkWorkload(w *workload) error {
	if f.replicas == 0 || f.all {
		return nil
	}
	if w.facts().sized {
		return nil
	}
	return errors.New("--place: no job of the workload says how many bytes it reads; --place-all places inputs of unknown size")
}

// place returns the jobs of a workload with the places of their inputs.
func (f *localityFlags) place(w *workload, c *cluster, seed uint64) (iter.Seq2[*sim.Job, error], error) {
	if f.replicas == 0 {
		return w.all(), nil
	}
	return sim.Place(&c.Cluster, sim.Placement{Replicas: f.replicas, All: f.all, ByName: f.byName, Seed: seed}, w.all())
}

// reads returns what reading from afar costs, in one of two ways.
func (f *localityFlags) reads() (sim.Remote, sim.Network) {
	if f.network.bandwidth > 0 {
		return sim.Remote{}, f.network.network()
	}
	return sim.Remote(f.remote), sim.Network{}
}

// header returns the line of a report that says where the inputs of a workload are
// and what reading them costs; "" if it has none.
func (f *localityFlags) header(w *workload) string {
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

// A remoteFlag is a sim.Remote on the command line.
type remoteFlag sim.Remote

// Set implements [pflag.Value].
func (r *remoteFlag) Set(text string) error {
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
	*r = remoteFlag{Node: parsed[0], Rack: parsed[1], Remote: parsed[2]}
	return nil
}

// String implements [pflag.Value].
func (r *remoteFlag) String() string {
	return fmt.Sprintf("%v,%v,%v", r.Node, r.Rack, r.Remote)
}

// Type implements [pflag.Value].
func (*remoteFlag) Type() string { return "factors" }
