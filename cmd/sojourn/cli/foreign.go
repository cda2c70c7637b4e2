package cli

import (
	"io"
	"iter"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/sojourn-sched/sojourn/trace"
)

// The formats that convert reads.
var (
	foreignFormats = []string{"swim", "rumen", "sls", "jhist", "swf"}
	hadoopFormats  = []string{"rumen", "sls", "jhist"}
	loggedFormats  = []string{"rumen", "sls", "jhist", "swf"}
)

// poolKeys are the values of --pool.
var poolKeys = []string{"queue", "user", "group", "none"}

// A conversion says how to read a trace of another format, and what to make of it.
type conversion struct {
	from string // the format
	swim trace.SWIMOptions

	// Of traces that hold tasks:
	pool       string
	successful bool
	window     int
	topology   string
	slots      string
	clusterOut string
	requested  bool

	load    scaledLoad
	cluster string // that the load is for
}

// check finds values that no trace is read with, and options that need one another.
func (f *conversion) check() error {
	switch {
	case f.window < 1:
		return usagef("--window %d is not a number of jobs of at least 1", f.window)
	case f.pool == "group" && f.from != "swf":
		return usagef("--pool group says nothing about %s", f.from)
	}
	if _, err := f.poolKey(); err != nil {
		return err
	}
	if f.load.load > 0 && f.cluster == "" {
		return usagef("--load needs a cluster: give -c, such as -c 30x2+1")
	}
	if err := f.load.check(); err != nil {
		return err
	}
	return checkSWIM(&f.swim)
}

func (f *conversion) poolKey() (trace.PoolKey, error) {
	i := slices.Index(poolKeys, f.pool)
	if i < 0 {
		return 0, usagef("--pool %q is not %s", f.pool, listed(poolKeys))
	}
	return [...]trace.PoolKey{trace.PoolQueue, trace.PoolUser, trace.PoolGroup, trace.PoolNone}[i], nil
}

// hosts returns the hosts of the topology, if there is one.
func (f *conversion) hosts() (*hosts, error) {
	h := &hosts{ids: map[string]sojourn.NodeID{}}
	if f.topology == "" {
		return h, nil
	}
	return h, h.readTopology(f.topology, f.slots)
}

// jobs reads a trace. stats are complete at its end.
func (f *conversion) jobs(r io.Reader, file string, h *hosts, stats *trace.Stats) (iter.Seq2[*sim.Job, error], error) {
	pool, err := f.poolKey()
	o := trace.HadoopOptions{
		File: file, Nodes: h.id, Pool: pool, OnlySuccessful: f.successful, Window: f.window, Stats: stats,
	}
	switch f.from {
	case "swim":
		swim := f.swim
		swim.File, swim.Stats = file, stats
		return trace.ReadSWIM(r, swim), err
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
