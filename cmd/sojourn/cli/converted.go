package cli

import (
	"bufio"
	"io"
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/sojourn-sched/sojourn/trace"
)

// spooled writes jobs to a temporary file, and has m see them.
func spooled(jobs iter.Seq2[*sim.Job, error], o trace.WriteOptions, m *meter) (*spool, error) {
	s, err := newSpool("")
	if err != nil {
		return nil, err
	}
	if err := fill(s, jobs, o, m); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// fill writes jobs to a temporary file, and goes back to its beginning.
func fill(s *spool, jobs iter.Seq2[*sim.Job, error], o trace.WriteOptions, m *meter) error {
	buf := bufio.NewWriterSize(s, 1<<16)
	w := trace.NewWriter(buf, o)
	for j, err := range jobs {
		if err != nil {
			return err
		}
		m.add(j)
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
func rescaled(s *spool, h *hosts, scale scaling) iter.Seq2[*sim.Job, error] {
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
