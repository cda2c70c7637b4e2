package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Bounds of a cluster. The bound on speeds keeps quotients of times in the range of
// integers.
const (
	maxNodes = 1 << 20
	maxSpeed = 1 << 16
	maxFile  = 256 << 20 // bytes of text of a cluster file
)

// ParseCluster reads the short form of a cluster, such as "20x4+1,10x2+1" or
// "50x2", which the package comment describes. An error is an [*Error] in the
// file "cluster", line 1.
func ParseCluster(spec string) (sim.Cluster, error) {
	var (
		c   sim.Cluster
		b   = clusterBounds{}
		off int
	)
	bad := func(off int, format string, args ...any) (sim.Cluster, error) {
		return sim.Cluster{}, errorAt("cluster", 1, off+1, fmt.Sprintf(format, args...))
	}
	for i, item := range strings.Split(spec, ",") {
		count, slots, found := strings.Cut(item, "x")
		if !found {
			return bad(off, "want NODESxSLOTS or NODESxMAP+REDUCE, found %q", brief(item))
		}
		nodes, err := strconv.ParseUint(count, 10, 64)
		if err != nil || nodes < 1 || nodes > maxNodes {
			return bad(off, "want a number of nodes from 1 to %d, found %q", maxNodes, brief(count))
		}
		node := sim.Node{}
		numbers := strings.SplitN(slots, "+", sojourn.MaxClasses+1)
		at := off + len(count) + 1
		if len(numbers) > sojourn.MaxClasses {
			return bad(at, "slots of more than %d classes", sojourn.MaxClasses)
		}
		for _, text := range numbers {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil || n > sojourn.MaxSlots {
				return bad(at, "want a number of slots from 0 to %d, found %q", sojourn.MaxSlots, brief(text))
			}
			node.Slots = append(node.Slots, int(n))
			at += len(text) + 1
		}
		uniform := len(numbers) == 1
		if i > 0 && uniform != c.Uniform {
			return bad(off, mixedSlots)
		}
		c.Uniform = uniform
		if reason := b.add(int(nodes), node.Slots); reason != "" {
			return bad(off, "%s", reason)
		}
		for range nodes {
			node.Name = "n" + strconv.Itoa(len(c.Nodes)+1)
			c.Nodes = append(c.Nodes, node)
		}
		off += len(item) + 1
	}
	if b.slots == 0 {
		return bad(0, noSlots)
	}
	return c, nil
}

const (
	mixedSlots = "some nodes have uniform slots, others slots by class"
	noSlots    = "no slots"
)

// clusterBounds adds up the nodes and slots of a cluster.
type clusterBounds struct{ nodes, slots int }

// add adds n equal nodes, and returns what is wrong with that, or "". n and
// slots are within the bounds of a cluster themselves.
func (b *clusterBounds) add(n int, slots []int) string {
	if n > maxNodes-b.nodes {
		return fmt.Sprintf("more than %d nodes", maxNodes)
	}
	each := 0
	for _, count := range slots {
		if each += count; each > (sojourn.MaxSlots-b.slots)/n {
			return fmt.Sprintf("more than %d slots", sojourn.MaxSlots)
		}
	}
	b.nodes += n
	b.slots += n * each
	return ""
}

// ReadCluster reads a cluster file, which the package comment describes and
// which may be compressed by gzip. An error is an [*Error] in file if the input
// is bad. Otherwise it wraps the error of r.
func ReadCluster(r io.Reader, file string) (sim.Cluster, error) {
	return readCluster(r, file, maxFile)
}

// readCluster is ReadCluster with a limit on the bytes of text.
func readCluster(r io.Reader, file string, most int64) (sim.Cluster, error) {
	in := open(r, file, limits{bytes: most}.withDefaults())
	text, err := io.ReadAll(in)
	if err != nil {
		line, column := place(text, len(text))
		return sim.Cluster{}, in.fail(err, line, column)
	}
	cluster, fault := parseCluster(text)
	if fault != nil {
		line, column := place(text, fault.off)
		return sim.Cluster{}, errorAt(in.file, line, column, fault.reason)
	}
	return cluster, nil
}

// place returns the line and column of an offset in text.
func place(text []byte, off int) (line, column int) {
	before := string(text[:off])
	return strings.Count(before, "\n") + 1, off - strings.LastIndex(before, "\n")
}

// The keys of a cluster file, those that are required first.
var (
	clusterKeys = []string{"nodes"}
	nodeKeys    = []string{"name", "slots", "rack", "speed"}
)

func parseCluster(text []byte) (sim.Cluster, *fault) {
	var (
		cluster sim.Cluster
		names   = map[string]bool{}
		bounds  clusterBounds
	)
	c := newCursor(text)
	c.object(clusterKeys, 1, func(string) {
		off := c.pos
		c.list(func() {
			start := c.pos
			node, uniform := readNode(c, names)
			if len(cluster.Nodes) > 0 && uniform != cluster.Uniform {
				c.fail(start, mixedSlots)
			}
			cluster.Uniform = uniform
			if reason := bounds.add(1, node.Slots); reason != "" {
				c.fail(start, "%s", reason)
			}
			cluster.Nodes = append(cluster.Nodes, node)
		})
		if bounds.slots == 0 {
			c.fail(off, noSlots)
		}
	})
	if c.fault != nil {
		return sim.Cluster{}, c.fault
	}
	return cluster, nil
}

// readNode reads a node, and whether its slots are uniform. It adds the name to
// names.
func readNode(c *cursor, names map[string]bool) (node sim.Node, uniform bool) {
	c.object(nodeKeys, 2, func(key string) {
		off := c.pos
		switch key {
		case "name":
			node.Name = string(c.text())
			switch {
			case node.Name == "":
				c.fail(off, "empty name of a node")
			case names[node.Name]:
				c.fail(off, "duplicate node %q", brief(node.Name))
			}
			names[node.Name] = true
		case "rack":
			node.Rack = string(c.text())
		case "speed":
			node.Speed = c.float()
			if !isSpeed(node.Speed) {
				c.fail(off, "speed %v is not in [2^-16, 2^16]", node.Speed)
			}
		case "slots":
			node.Slots, uniform = readSlots(c)
		}
	})
	return node, uniform
}

func isSpeed(f float64) bool { return f >= 1.0/maxSpeed && f <= maxSpeed }

// WriteCluster writes a cluster file, one node on each line. [ReadCluster] reads
// back the same cluster, except for zeros at the end of Slots. It writes nothing
// and returns an error if the file cannot hold the cluster: if there is no slot or
// there are too many, a name is empty or used twice, a name or a rack is not UTF-8,
// a speed is out of range, or a uniform cluster has slots of another class than 0.
func WriteCluster(w io.Writer, c sim.Cluster) error {
	type node struct {
		Name  string          `json:"name"`
		Rack  string          `json:"rack,omitempty"`
		Speed float64         `json:"speed,omitempty"`
		Slots json.RawMessage `json:"slots"`
	}
	var (
		text   strings.Builder
		names  = map[string]bool{}
		bounds clusterBounds
	)
	bad := func(format string, args ...any) error {
		return fmt.Errorf("trace: write cluster: %s", fmt.Sprintf(format, args...))
	}
	text.WriteString(`{"nodes":[`)
	for i, n := range c.Nodes {
		switch {
		case n.Name == "" || names[n.Name]:
			return bad("node %d: name %q is empty or used twice", i, n.Name)
		case !utf8.ValidString(n.Name) || !utf8.ValidString(n.Rack):
			return bad("node %d: name %q or rack %q is not UTF-8", i, n.Name, n.Rack)
		case !isSpeed(cmp.Or(n.Speed, 1)):
			return bad("node %d: speed %v is not in [2^-16, 2^16]", i, n.Speed)
		}
		if reason := checkSlots(n.Slots, c.Uniform); reason != "" {
			return bad("node %d: %s", i, reason)
		}
		names[n.Name] = true
		if reason := bounds.add(1, n.Slots); reason != "" {
			return bad("node %d: %s", i, reason)
		}
		line, err := json.Marshal(node{n.Name, n.Rack, n.Speed, appendSlots(nil, n.Slots, c.Uniform)})
		if err != nil {
			return bad("node %d: %v", i, err)
		}
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteByte('\n')
		text.WriteString(visible.Text(string(line)))
	}
	if bounds.slots == 0 {
		return bad(noSlots)
	}
	text.WriteString("\n]}\n")
	_, err := io.WriteString(w, text.String())
	return err
}
