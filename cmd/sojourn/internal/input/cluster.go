package input

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/sojourn-sched/sojourn/trace"
)

// A Cluster is a cluster with what its owner calls it.
type Cluster struct {
	sim.Cluster
	Name  string
	nodes map[string]sojourn.NodeID
}

// shortForm matches what is meant to be the short form of a cluster.
var shortForm = regexp.MustCompile(`^([0-9x+,]*$|[0-9]+x)`)

// ReadCluster reads a cluster from its short form, or else from the file of that
// name. What looks like a short form with an error, and is no file, is one.
func ReadCluster(spec string) (*Cluster, error) {
	c := &Cluster{Name: spec, nodes: map[string]sojourn.NodeID{}}
	file, err := (*os.File)(nil), error(fs.ErrNotExist)
	if strings.Trim(spec, "0123456789x+,") != "" {
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

// Classes returns the names of the classes that the cluster has slots of.
func (c *Cluster) Classes() []string {
	if c.Uniform {
		return []string{"uniform"}
	}
	return []string{"map", "reduce"}
}

// Describe returns the size of the cluster, such as "10 nodes, 20 map and 10
// reduce slots".
func (c *Cluster) Describe() string {
	n := c.Capacity()
	slots := fmt.Sprintf("%s map and %s slots", format.Thousands(n[0]), format.Thousands(n[1])+" reduce")
	if c.Uniform {
		slots = format.Count(n[0], "uniform slot")
	}
	return format.Count(len(c.Nodes), "node") + ", " + slots
}
