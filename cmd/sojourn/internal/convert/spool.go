package convert

import (
	"bufio"
	"io"
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// spooled writes jobs to a temporary file, and has m see them.
func spooled(jobs iter.Seq2[*sim.Job, error], nodes func(sojourn.NodeID) string, m *input.Meter) (*files.Spool, error) {
	s, err := files.NewSpool("")
	if err != nil {
		return nil, err
	}
	if err := fill(s, jobs, nodes, m); err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// fill writes jobs to a temporary file, and goes back to its beginning.
func fill(s *files.Spool, jobs iter.Seq2[*sim.Job, error], nodes func(sojourn.NodeID) string, m *input.Meter) error {
	buf := bufio.NewWriterSize(s, 1<<16)
	w := trace.NewWriter(buf, nodes)
	for j, err := range ahead(jobs) {
		if err != nil {
			return err
		}
		m.Add(j)
		if err := w.Write(j); err != nil {
			return err
		}
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	_, err := s.Seek(0, io.SeekStart)
	return err
}

// rescaled returns the jobs of a temporary file, scaled. The nodes are numbered as h does.
func rescaled(s *files.Spool, h *hosts, scale input.Scaling) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		o := trace.ReadOptions{File: s.Name(), Nodes: func(name string) sojourn.NodeID { return h.ids[name] }}
		for j, err := range trace.Read(s, o) {
			if err == nil {
				err = scale(j)
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}
