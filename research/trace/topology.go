package trace

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/research/sim"
)

// TopologyOptions say how to read a topology. The zero value is the plain case.
type TopologyOptions struct {
	// File is what errors call the input. Empty means "-".
	File string

	// Slots is the number of slots of each host, by class, since a topology does not
	// say it. With Uniform, the first entry is the number of uniform slots. If it is
	// empty, each host has 2 map and 2 reduce slots, as in the Mumak simulator, or 4
	// slots with Uniform.
	Slots   []int
	Uniform bool
}

// ReadTopology reads the topology that Rumen extracted from job histories, as a
// cluster whose nodes are the hosts, in the order of the file. The package
// comment describes the format; the input may be compressed by gzip. An error is
// an [*Error] if the input is bad, else what r returned, wrapped, or says that
// the options are out of range.
func ReadTopology(r io.Reader, o TopologyOptions) (sim.Cluster, error) {
	if !slices.ContainsFunc(o.Slots, func(n int) bool { return n != 0 }) {
		o.Slots = []int{2, 2}
		if o.Uniform {
			o.Slots = []int{4}
		}
	}
	if reason := checkSlots(o.Slots, o.Uniform); reason != "" {
		return sim.Cluster{}, errors.New("trace: topology options: " + reason)
	}
	in := open(r, o.File, limits{bytes: maxFile}.withDefaults())
	text, err := io.ReadAll(in)
	if err != nil {
		line, column := place(text, len(text))
		return sim.Cluster{}, in.fail(err, line, column)
	}
	cluster, fault := parseTopology(text, o, &in.limits)
	if fault != nil {
		line, column := place(text, fault.off)
		return sim.Cluster{}, errorAt(in.file, line, column, fault.reason)
	}
	return cluster, nil
}

// The keys of a place in a topology.
var topologyKeys = []string{"name", "children"}

// A topologyReader collects the hosts of a topology.
type topologyReader struct {
	c       *cursor
	o       TopologyOptions
	cluster sim.Cluster
	names   map[string]bool
	bounds  clusterBounds
}

func parseTopology(text []byte, o TopologyOptions, limits *limits) (sim.Cluster, *fault) {
	if f := checkNesting(text, limits); f != nil {
		return sim.Cluster{}, f
	}
	r := topologyReader{c: newCursor(text), o: o, names: map[string]bool{}}
	r.cluster.Uniform = o.Uniform
	r.place(nil)
	if len(r.cluster.Nodes) == 0 {
		r.c.fail(0, "no hosts")
	}
	if r.c.fault != nil {
		return sim.Cluster{}, r.c.fault
	}
	return r.cluster, nil
}

// place reads a place. above names the places that it is in, without the
// outermost one, which is nil before that. A place without a list of children is
// a host; the names of those above it make its rack.
func (r *topologyReader) place(above []string) {
	var (
		c           = r.c
		start, list = c.pos, 0
		name        string
	)
	c.fields(topologyKeys, func(key string) {
		if key == "name" {
			name = unescape(c.text())
			return
		}
		// The name may follow, and is needed for what is in here.
		list = c.pos
		c.skip()
	})
	switch {
	case c.fault != nil:
	case name == "":
		c.fail(start, `"name" is missing or empty`)
	case list > 0:
		inner := []string{}
		if above != nil {
			inner = append(append(inner, above...), name)
		}
		end := c.pos
		c.pos = list
		c.list(func() { r.place(inner) })
		c.pos = end
	case r.names[name]:
		c.fail(start, "duplicate host %q", brief(name))
	default:
		if reason := r.bounds.add(1, r.o.Slots); reason != "" {
			c.fail(start, "%s", reason)
			return
		}
		r.names[name] = true
		r.cluster.Nodes = append(r.cluster.Nodes, sim.Node{Name: name, Rack: strings.Join(above, "/"), Slots: r.o.Slots})
	}
}
