package input

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
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// A Workload is a list of jobs in memory, read once, so that every policy sees the same
// jobs, also from stdin. Or it is read again each time: see Streamed.
type Workload struct {
	Name   string
	SHA256 string // of the input as it was given, compressed or not
	Jobs   []*sim.Job

	Again func() iter.Seq2[*sim.Job, error] // takes the place of jobs
	known Facts                             // if there is again
	Close func() error                      // nil if there is nothing to close
}

// Release closes what the workload is read from.
func (w *Workload) Release() error {
	if w.Close == nil {
		return nil
	}
	return w.Close()
}

// Facts are facts about all jobs of a workload.
type Facts struct {
	Meter
	Tasks     int
	Told      int         // jobs that bring an estimate of their own
	Sizes     map[int]int // how many jobs have so many tasks
	HasSizes  bool        // a job says how many bytes its first phase reads
	HasPlaces bool        // a task has a place for its input
	Features  sojourn.Features
}

func (f *Facts) add(j *sim.Job) {
	f.Meter.Add(j)
	n := j.Tasks()
	f.Tasks += n
	if f.Sizes == nil {
		f.Sizes = map[int]int{}
	}
	f.Sizes[n]++
	if slices.ContainsFunc(j.Phases, func(p sojourn.Phase) bool { return p.Estimate != 0 || p.Estimates != nil }) {
		f.Told++
	}
	f.Features |= j.Features()
	f.HasSizes = f.HasSizes || j.Phases[0].Bytes != nil
	f.HasPlaces = f.HasPlaces || slices.ContainsFunc(j.Phases, func(p sojourn.Phase) bool { return p.Inputs.Len() > 0 })
}

// Facts returns the facts about the jobs.
func (w *Workload) Facts() Facts {
	if w.Again != nil {
		return w.known
	}
	var f Facts
	for _, j := range w.Jobs {
		f.add(j)
	}
	return f
}

// Refuse returns nil if no job uses one of some features, and else an error that names the first one that does. It begins
// with who cannot do it, such as "no planner knows", and ends with what helps.
func (w *Workload) Refuse(features sojourn.Features, who, help string) error {
	facts := w.Facts()
	if facts.Features&features == 0 {
		return nil
	}
	for j, err := range w.All() {
		if err != nil {
			return err
		}
		if f := j.Features() & features; f != 0 {
			return usage.Errorf("%s %v, which job %d of %s uses%s", who, f, j.ID, format.Visible(w.Name), help)
		}
	}
	return nil
}

// Load returns the load of each class: see [Meter.Load].
func (w *Workload) Load(c *Cluster) []float64 {
	known := w.Facts()
	return known.Load(c)
}

// readWorkload reads a workload that errors call name. c is the cluster that its
// nodes belong to, or nil.
func readWorkload(r io.Reader, name string, c *Cluster) (*Workload, error) {
	hash := sha256.New()
	w := &Workload{Name: name}
	for j, err := range workloadJobs(io.TeeReader(r, hash), name, c) {
		if err != nil {
			return nil, err
		}
		w.Jobs = append(w.Jobs, j)
	}
	if len(w.Jobs) == 0 {
		return nil, NoJobs(name)
	}
	w.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return w, nil
}

// Streamed reads a workload as readWorkload does, but keeps none of its jobs: they are
// read again whenever they are needed. Input that is not a regular file goes to a
// temporary file for this.
func Streamed(r io.Reader, name string, c *Cluster) (*Workload, error) {
	hash := sha256.New()
	size := counter(0)
	in := io.TeeReader(r, io.MultiWriter(hash, &size))
	w := &Workload{Name: name, Close: func() error { return nil }}
	file, _ := r.(*os.File)
	if file == nil || !isRegular(file) {
		s, err := files.NewSpool("")
		if err != nil {
			return nil, err
		}
		file, w.Close = s.File, s.Remove
		in = io.TeeReader(in, s)
	}
	for j, err := range workloadJobs(in, name, c) {
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		w.known.add(j)
	}
	if w.known.Jobs == 0 {
		return nil, errors.Join(NoJobs(name), w.Close())
	}
	w.SHA256 = hex.EncodeToString(hash.Sum(nil))
	w.Again = func() iter.Seq2[*sim.Job, error] {
		return func(yield func(*sim.Job, error) bool) {
			hash := sha256.New()
			for j, err := range workloadJobs(io.TeeReader(io.NewSectionReader(file, 0, int64(size)), hash), name, c) {
				if !yield(j, err) || err != nil {
					return
				}
			}
			if hex.EncodeToString(hash.Sum(nil)) != w.SHA256 {
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
func workloadJobs(r io.Reader, name string, c *Cluster) iter.Seq2[*sim.Job, error] {
	o := trace.ReadOptions{File: name}
	if c != nil {
		o.Nodes = func(node string) sojourn.NodeID { return c.nodes[node] }
	}
	return trace.Read(r, o)
}

func NoJobs(name string) error {
	return &trace.Error{File: name, Line: 1, Column: 1, Reason: "no jobs"}
}

// All yields the jobs.
func (w *Workload) All() iter.Seq2[*sim.Job, error] {
	if w.Again != nil {
		return w.Again()
	}
	return sim.Jobs(w.Jobs...)
}

// change changes every job.
func (w *Workload) change(job func(*sim.Job) error) error {
	if before := w.Again; before != nil {
		w.known = Facts{}
		w.Again = func() iter.Seq2[*sim.Job, error] {
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
		for j, err := range w.Again() {
			if err != nil {
				return err
			}
			w.known.add(j)
		}
		return nil
	}
	for _, j := range w.Jobs {
		if err := job(j); err != nil {
			return err
		}
	}
	return nil
}
