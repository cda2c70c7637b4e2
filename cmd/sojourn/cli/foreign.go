package cli

import (
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/sojourn-sched/sojourn/trace"
	"github.com/spf13/pflag"
)

// The formats that convert reads.
var (
	foreignFormats = []string{"swim", "rumen", "sls", "jhist", "swf"}
	hadoopFormats  = []string{"rumen", "sls", "jhist"}
	loggedFormats  = []string{"rumen", "sls", "jhist", "swf"}
)

// poolKeys are the values of --pool.
var poolKeys = []string{"queue", "user", "group", "none"}

// foreignFlags say how to read a trace that holds tasks, of another format.
type foreignFlags struct {
	pool       string
	successful bool
	window     int
	topology   string
	slots      string
	clusterOut string
	requested  bool
}

func (f *foreignFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.pool, "pool", "queue", "`WHAT` becomes the pool of a job: queue, user, group (swf) or none")
	flags.IntVar(&f.window, "window", 100, "`JOBS` that are held back to bring them into the order of submission")
	flags.BoolVar(&f.successful, "only-successful", false, "drop jobs that failed or were killed (rumen, sls, jhist)")
	flags.StringVar(&f.topology, "topology", "", "`FILE` of Rumen with the hosts and racks (rumen, sls, jhist)")
	flags.StringVar(&f.slots, "slots", "2+2", "`SLOTS` of each host of the topology: map+reduce, or uniform ones")
	flags.StringVar(&f.clusterOut, "cluster-out", "", "write the topology to `FILE`, as a cluster for -c")
	flags.BoolVar(&f.requested, "requested-time", false, "the time that users requested is the estimate (swf)")
}

// check returns what is wrong with the flags that are given, for a format.
func (f *foreignFlags) check(flags *pflag.FlagSet, from string) error {
	if !slices.Contains(foreignFormats, from) {
		return usagef("--from %q is not a known format: %s", from, strings.Join(foreignFormats, ", "))
	}
	var err error
	flags.Visit(func(flag *pflag.Flag) {
		formats := foreignFormats
		switch flag.Name {
		case "pool", "window":
			formats = loggedFormats
		case "only-successful", "topology", "slots", "cluster-out":
			formats = hadoopFormats
		case "requested-time":
			formats = []string{"swf"}
		}
		if strings.HasPrefix(flag.Name, "swim-") {
			formats = []string{"swim"}
		}
		if err == nil && !slices.Contains(formats, from) {
			err = usagef("--%s says nothing about %s", flag.Name, from)
		}
	})
	switch {
	case err != nil:
		return err
	case f.window < 1:
		return usagef("--window %d is not a number of jobs of at least 1", f.window)
	case f.topology == "" && (f.clusterOut != "" || flags.Changed("slots")):
		return usagef("--cluster-out and --slots are about a topology: give --topology, too")
	case f.pool == "group" && from != "swf":
		return usagef("--pool group says nothing about %s", from)
	}
	_, err = f.poolKey()
	return err
}

func (f *foreignFlags) poolKey() (trace.PoolKey, error) {
	i := slices.Index(poolKeys, f.pool)
	if i < 0 {
		return 0, usagef("--pool %q is not %s", f.pool, listed(poolKeys))
	}
	return [...]trace.PoolKey{trace.PoolQueue, trace.PoolUser, trace.PoolGroup, trace.PoolNone}[i], nil
}

// hosts returns the hosts of the topology, if there is one.
func (f *foreignFlags) hosts() (*hosts, error) {
	h := &hosts{ids: map[string]sojourn.NodeID{}}
	if f.topology == "" {
		return h, nil
	}
	return h, h.readTopology(f.topology, f.slots)
}

// jobs reads a trace of a format. stats are complete at its end.
func (f *foreignFlags) jobs(from string, r io.Reader, file string, h *hosts, swim *trace.SWIMOptions, stats *trace.Stats) (iter.Seq2[*sim.Job, error], error) {
	pool, err := f.poolKey()
	o := trace.HadoopOptions{
		File: file, Nodes: h.id, Pool: pool, OnlySuccessful: f.successful, Window: f.window, Stats: stats,
	}
	switch from {
	case "swim":
		swim.File, swim.Stats = file, stats
		return trace.ReadSWIM(r, *swim), err
	case "rumen":
		return trace.ReadRumen(r, o), err
	case "sls":
		return trace.ReadSLS(r, o), err
	case "jhist":
		return trace.ReadJHist(r, o), err
	}
	return trace.ReadSWF(r, trace.SWFOptions{File: file, Pool: pool, Requested: f.requested, Window: f.window, Stats: stats}), err
}

// hosts numbers the hosts of a trace: those of a topology first, if there is one,
// and then others as they appear, as nodes without slots: what they hold is read
// from afar.
type hosts struct {
	cluster sim.Cluster
	ids     map[string]sojourn.NodeID
}

// readTopology reads the hosts of a topology, each with slots in the form 2+2 or
// 4.
func (h *hosts) readTopology(name, slots string) error {
	one, err := trace.ParseCluster("1x" + slots)
	if err != nil || len(one.Nodes) != 1 {
		return usagef("--slots %q is not of the form 2+2 (map and reduce slots) or 4 (uniform slots)", slots)
	}
	file, err := openFile(name)
	if err != nil {
		return err
	}
	defer file.Close()
	h.cluster, err = trace.ReadTopology(file, trace.TopologyOptions{File: name, Slots: one.Nodes[0].Slots, Uniform: one.Uniform})
	for i, n := range h.cluster.Nodes {
		h.ids[n.Name] = sojourn.NodeID(i + 1)
	}
	return err
}

func (h *hosts) id(name string) sojourn.NodeID {
	id := h.ids[name]
	if id == 0 {
		h.cluster.Nodes = append(h.cluster.Nodes, sim.Node{Name: name})
		id = sojourn.NodeID(len(h.cluster.Nodes))
		h.ids[name] = id
	}
	return id
}

func (h *hosts) name(id sojourn.NodeID) string { return h.cluster.Nodes[id-1].Name }

// write writes the cluster to a file.
func (h *hosts) write(name string) error {
	return replaceFile(name, func(w io.Writer) error { return trace.WriteCluster(w, h.cluster) })
}
