package input

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"regexp"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// A Cluster is a cluster with what its owner calls it.
type Cluster struct {
	sim.Cluster
	Name  string
	nodes map[string]sojourn.NodeID
}

// shortForm matches what is meant to be the short form of a cluster.
var shortForm = regexp.MustCompile(`^([-0-9x+,]*$|-?[0-9]+x)`)

// IsShort reports whether a text can be nothing but the short form of a cluster.
func IsShort(spec string) bool { return strings.Trim(spec, "0123456789x+,") == "" }

// ReadCluster reads a cluster from its short form, or else from the file of that
// name. What looks like a short form with an error, and is no file, is one.
func ReadCluster(spec string) (*Cluster, error) {
	c := &Cluster{Name: spec, nodes: map[string]sojourn.NodeID{}}
	file, err := (*os.File)(nil), error(fs.ErrNotExist)
	if !IsShort(spec) {
		file, err = files.Open(spec)
	}
	switch {
	case err == nil:
		defer file.Close()
		if c.Cluster, err = trace.ReadCluster(file, spec); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case !shortForm.MatchString(spec):
		return nil, fmt.Errorf("cluster %q is neither of the form 20x4+1 nor a file", spec)
	default:
		if c.Cluster, err = trace.ParseCluster(spec); err != nil {
			var bad *trace.Error
			if errors.As(err, &bad) {
				err = fmt.Errorf("cluster %q: column %d: %s", spec, bad.Column, bad.Reason)
			}
			return nil, usage.Wrap(err)
		}
	}
	for i, n := range c.Nodes {
		c.nodes[n.Name] = sojourn.NodeID(i + 1)
	}
	return c, nil
}

// NodeName returns the name of a node, "" for none.
func (c *Cluster) NodeName(id sojourn.NodeID) string {
	if id == 0 {
		return ""
	}
	return c.Nodes[id-1].Name
}

// Classes yields the classes of slot that results are told of, in their order, and their
// names: uniform; or map, reduce, and of the others those that the cluster has slots of,
// such as "class 2".
func (c *Cluster) Classes() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		if c.Uniform {
			yield(0, "uniform")
			return
		}
		for class, slots := range c.Capacity() {
			if (slots > 0 || class <= int(sojourn.ReduceClass)) && !yield(class, c.ClassName(sojourn.Class(class))) {
				return
			}
		}
	}
}

// ClassName returns the name that results use for a class of slots.
func (c *Cluster) ClassName(class sojourn.Class) string {
	switch {
	case c.Uniform:
		return "uniform"
	case class > sojourn.ReduceClass:
		return "class " + trace.ClassName(class)
	}
	return trace.ClassName(class)
}

// Describe returns the size of the cluster, such as "10 nodes, 20 map and 10
// reduce slots".
func (c *Cluster) Describe() string {
	slots, nodes := c.Capacity(), format.Count(len(c.Nodes), "node")
	if c.Uniform {
		return nodes + ", " + format.Count(slots[0], "uniform slot")
	}
	var parts []string
	for class, name := range c.Classes() {
		parts = append(parts, format.Thousands(slots[class])+" "+name)
	}
	last := len(parts) - 1
	return nodes + ", " + strings.Join(parts[:last], ", ") + " and " + parts[last] + " slots"
}
