package cli

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sojourn-sched/sojourn/trace"
)

// write reads a trace from a file that errors call name, and writes it to a writer; what
// is to be told goes to notes. What is written lies in a file until all of the trace was
// read: so nothing is written if there is a fault, and no more than the jobs that a reader
// holds back are in memory.
func (f *conversion) write(to, notes io.Writer, file io.Reader, name string, c *cluster) error {
	var stats trace.Stats
	h, err := f.hosts()
	if err != nil {
		return err
	}
	known := len(h.cluster.Nodes)
	jobs, err := f.jobs(file, name, h, &stats)
	if err != nil {
		return err
	}
	m := new(meter)
	text, err := spooled(jobs, trace.WriteOptions{Nodes: h.name}, m)
	if err != nil {
		return err
	}
	defer text.remove()
	if stats.Jobs == 0 {
		fmt.Fprint(notes, stats.String())
		return noJobs(name)
	}
	if f.load.load > 0 {
		scale, err := f.load.scaling(m, c, name)
		if err != nil {
			return err
		}
		changed := new(meter)
		scaled, err := spooled(rescaled(text, h, scale), trace.WriteOptions{Nodes: h.name}, changed)
		if err != nil {
			return err
		}
		defer scaled.remove()
		if err := changed.check(c, name, float64(f.load.load)); err != nil {
			return err
		}
		text, m = scaled, changed
	}
	if f.clusterOut != "" {
		if err := h.write(f.clusterOut); err != nil {
			return err
		}
	}
	fmt.Fprint(notes, stats.String())
	if missing := len(h.cluster.Nodes) - known; f.topology != "" && missing > 0 {
		fmt.Fprintf(notes, "hosts that the topology misses, nodes without slots: %d\n", missing)
	}
	if c != nil {
		var parts []string
		achieved := m.load(c)
		for class, name := range c.classes() {
			parts = append(parts, number(achieved[class], 4)+" "+name)
		}
		fmt.Fprintf(notes, "load on %s: %s\n", f.cluster, strings.Join(parts, ", "))
	}
	_, err = io.Copy(to, text)
	return err
}

// checkSWIM finds values that make no tasks.
func checkSWIM(o *trace.SWIMOptions) error {
	switch {
	case o.BytesPerMap <= 0:
		return usagef("--swim-bytes-per-map %d is not above 0", o.BytesPerMap)
	case o.BytesPerReduce <= 0:
		return usagef("--swim-bytes-per-reduce %d is not above 0", o.BytesPerReduce)
	case o.Rate <= 0:
		return usagef("--swim-rate %d is not above 0", o.Rate)
	case o.Overhead < 0:
		return usagef("--swim-overhead %v is negative", o.Overhead)
	case !(o.ByteScale > 0 && o.ByteScale <= math.MaxFloat64):
		return usagef("--swim-byte-scale %v is not a number above 0", o.ByteScale)
	case !(o.Noise >= 0 && o.Noise <= math.MaxFloat64):
		return usagef("--swim-noise %v is not a number from 0 on", o.Noise)
	}
	return nil
}
