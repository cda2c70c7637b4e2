package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/sojourn-sched/sojourn/trace"
)

// A workload is a list of jobs in memory: it is read once, so that every policy
// sees the same jobs, also from stdin. Or it is read anew each time: see streamed.
type workload struct {
	name   string
	sha256 string // of the input as it was given, compressed or not
	jobs   []*sim.Job

	again func() iter.Seq2[*sim.Job, error] // takes the place of jobs
	known facts                             // if there is again
	close func() error                      // nil if there is nothing to close
}

// release closes what the workload is read from.
func (w *workload) release() error {
	if w.close == nil {
		return nil
	}
	return w.close()
}

// facts is what is to be known of the jobs of a workload besides the jobs.
type facts struct {
	meter
	tasks  int
	told   int         // jobs that bring an estimate of their own
	sizes  map[int]int // how many jobs have so many tasks
	sized  bool        // a job says how many bytes its first phase reads
	placed bool        // a task has a place for its input
}

func (f *facts) add(j *sim.Job) {
	f.meter.add(j)
	n := j.Tasks()
	f.tasks += n
	if f.sizes == nil {
		f.sizes = map[int]int{}
	}
	f.sizes[n]++
	if slices.ContainsFunc(j.Phases, func(p sojourn.Phase) bool { return p.Estimate != 0 || p.Estimates != nil }) {
		f.told++
	}
	f.sized = f.sized || j.Phases[0].Bytes != nil
	f.placed = f.placed || slices.ContainsFunc(j.Phases, func(p sojourn.Phase) bool { return p.Inputs.Len() > 0 })
}

// facts returns what is to be known of the jobs.
func (w *workload) facts() facts {
	if w.again != nil {
		return w.known
	}
	var f facts
	for _, j := range w.jobs {
		f.add(j)
	}
	return f
}

// load returns the load of each class: see [meter.load].
func (w *workload) load(c *cluster) [2]float64 {
	known := w.facts()
	return known.load(c)
}

// readWorkload reads a workload that errors call name. c is the cluster that its
// nodes belong to, or nil.
func readWorkload(r io.Reader, name string, c *cluster) (*workload, error) {
	hash := sha256.New()
	w := &workload{name: name}
	for j, err := range workloadJobs(io.TeeReader(r, hash), name, c) {
		if err != nil {
			return nil, err
		}
		w.jobs = append(w.jobs, j)
	}
	if len(w.jobs) == 0 {
		return nil, noJobs(name)
	}
	w.sha256 = hex.EncodeToString(hash.Sum(nil))
	return w, nil
}

// streamed reads a workload as readWorkload does, but keeps none of its jobs: they are
// read again whenever they are asked for. What is no regular file is kept in a temporary
// one for that.
func streamed(r io.Reader, name string, c *cluster) (*workload, error) {
	hash := sha256.New()
	size := counter(0)
	in := io.TeeReader(r, io.MultiWriter(hash, &size))
	w := &workload{name: name, close: func() error { return nil }}
	file, _ := r.(*os.File)
	if file == nil || !isRegular(file) {
		s, err := newSpool("")
		if err != nil {
			return nil, err
		}
		file, w.close = s.File, s.remove
		in = io.TeeReader(in, s)
	}
	for j, err := range workloadJobs(in, name, c) {
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w.known.add(j)
	}
	if w.known.count == 0 {
		return nil, errors.Join(noJobs(name), w.close())
	}
	w.sha256 = hex.EncodeToString(hash.Sum(nil))
	w.again = func() iter.Seq2[*sim.Job, error] {
		return func(yield func(*sim.Job, error) bool) {
			hash := sha256.New()
			for j, err := range workloadJobs(io.TeeReader(io.NewSectionReader(file, 0, int64(size)), hash), name, c) {
				if !yield(j, err) || err != nil {
					return
				}
			}
			if hex.EncodeToString(hash.Sum(nil)) != w.sha256 {
				yield(nil, fmt.Errorf("%s: it changed while it was read", name))
			}
		}
	}
	return w, nil
}

func isRegular(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode().IsRegular()
}

// A counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// workloadJobs reads the jobs of a workload file one by one.
func workloadJobs(r io.Reader, name string, c *cluster) iter.Seq2[*sim.Job, error] {
	o := trace.ReadOptions{File: name}
	if c != nil {
		o.Nodes = func(node string) sojourn.NodeID { return c.nodes[node] }
	}
	return trace.Read(r, o)
}

func noJobs(name string) error {
	return &trace.Error{File: name, Line: 1, Column: 1, Reason: "no jobs"}
}

// all yields the jobs.
func (w *workload) all() iter.Seq2[*sim.Job, error] {
	if w.again != nil {
		return w.again()
	}
	return func(yield func(*sim.Job, error) bool) {
		for _, j := range w.jobs {
			if !yield(j, nil) {
				return
			}
		}
	}
}

// change changes every job.
func (w *workload) change(job func(*sim.Job) error) error {
	if before := w.again; before != nil {
		w.known = facts{}
		w.again = func() iter.Seq2[*sim.Job, error] {
			return func(yield func(*sim.Job, error) bool) {
				for j, err := range before() {
					if err == nil {
						err = job(j)
					}
					if !yield(j, err) || err != nil {
						return
					}
				}
			}
		}
		for j, err := range w.again() {
			if err != nil {
				return err
			}
			w.known.add(j)
		}
		return nil
	}
	for _, j := range w.jobs {
		if err := job(j); err != nil {
			return err
		}
	}
	return nil
}
