package convert

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// Write reads a trace from files, of which only tables may be several, and writes the workload to a
// writer and messages to notes. A temporary file has the workload until all of the trace
// was read. So nothing is written if there is a fault, and memory holds only the jobs that
// a reader holds back.
func (f *Conversion) Write(to, notes io.Writer, in []Input, c *input.Cluster) error {
	var stats trace.Stats
	h, err := f.hosts()
	if err != nil {
		return err
	}
	known := len(h.cluster.Nodes)
	name := in[0].Name
	jobs, err := f.jobs(in, h, &stats)
	if err != nil {
		return err
	}
	m := new(input.Meter)
	text, err := spooled(jobs, h.name, m)
	if err != nil {
		return err
	}
	defer text.Remove()
	if stats.Jobs == 0 {
		fmt.Fprint(notes, stats.String()+f.notes)
		return input.NoJobs(name)
	}
	if f.Strict {
		for counted, n := range stats.Counts() {
			if what, dropped := strings.CutPrefix(counted, "jobs dropped, "); dropped {
				return &trace.Error{File: name, Line: 1, Column: 1, Reason: fmt.Sprintf("--strict: %d jobs to drop, %s; without --strict such jobs are dropped and counted", n, what)}
			}
		}
	}
	if f.Load.Load > 0 {
		scale, err := f.Load.Scaling(m, c, name)
		if err != nil {
			return err
		}
		changed := new(input.Meter)
		scaled, err := spooled(rescaled(text, h, scale), h.name, changed)
		if err != nil {
			return err
		}
		defer scaled.Remove()
		if err := changed.Check(c, name, float64(f.Load.Load)); err != nil {
			return err
		}
		text, m = scaled, changed
	}
	if f.ClusterOut != "" {
		if err := h.write(f.ClusterOut); err != nil {
			return err
		}
	}
	fmt.Fprint(notes, stats.String()+f.notes)
	if missing := len(h.cluster.Nodes) - known; f.Topology != "" && missing > 0 {
		fmt.Fprintf(notes, "hosts that the topology misses, nodes without slots: %d\n", missing)
	}
	if c != nil {
		var parts []string
		achieved := m.Load(c)
		for class, name := range c.Classes() {
			parts = append(parts, format.Number(achieved[class], 4)+" "+name)
		}
		fmt.Fprintf(notes, "load on %s: %s\n", f.Cluster, strings.Join(parts, ", "))
	}
	if f.To == "swf" {
		return writeSWF(to, notes, rescaled(text, h, func(*sim.Job) error { return nil }))
	}
	_, err = io.Copy(to, text)
	return err
}

// checkSWIM refuses values that make no tasks.
func checkSWIM(o *trace.SWIMOptions) error {
	switch {
	case o.BytesPerMap <= 0:
		return usage.Errorf("--swim-bytes-per-map %d is not above 0", o.BytesPerMap)
	case o.BytesPerReduce <= 0:
		return usage.Errorf("--swim-bytes-per-reduce %d is not above 0", o.BytesPerReduce)
	case o.Rate <= 0:
		return usage.Errorf("--swim-rate %d is not above 0", o.Rate)
	case o.Overhead < 0:
		return usage.Errorf("--swim-overhead %v is negative", o.Overhead)
	case !(o.ByteScale > 0 && o.ByteScale <= math.MaxFloat64):
		return usage.Errorf("--swim-byte-scale %v is not a number above 0", o.ByteScale)
	case !(o.Noise >= 0 && o.Noise <= math.MaxFloat64):
		return usage.Errorf("--swim-noise %v is not a number from 0 on", o.Noise)
	}
	return nil
}
