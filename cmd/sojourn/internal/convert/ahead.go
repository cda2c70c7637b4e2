package convert

import (
	"iter"
	"sync/atomic"

	"github.com/sojourn-sched/sojourn/research/sim"
)

// A batch is handed over when it has so many jobs, or so many tasks: a job may have millions.
const (
	batchJobs  = 256
	batchTasks = 4096
)

// ahead yields the same as jobs, which makes them in a goroutine of its own. So one processor reads a trace
// while another one writes the workload. At most some batches wait. The goroutine has ended when the loop
// over the sequence ends, however it ends. What makes the jobs and the body of the loop run at the same time.
func ahead(jobs iter.Seq2[*sim.Job, error]) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		var stop atomic.Bool
		batches := make(chan batch, 2)
		go read(jobs, batches, &stop)
		defer func() {
			stop.Store(true)
			for range batches {
			}
		}()
		for b := range batches {
			for _, j := range b.jobs {
				if !yield(j, nil) {
					return
				}
			}
			if b.err != nil && !yield(nil, b.err) {
				return
			}
		}
	}
}

// A batch has jobs, and then the error that came after them, if any.
type batch struct {
	jobs []*sim.Job
	err  error
}

// read sends jobs until they end or it is to stop.
func read(jobs iter.Seq2[*sim.Job, error], to chan<- batch, stop *atomic.Bool) {
	defer close(to)
	var b batch
	tasks := 0
	for j, err := range jobs {
		if stop.Load() {
			return
		}
		if b.err = err; err == nil {
			b.jobs = append(b.jobs, j)
			tasks += j.Tasks()
		}
		if err != nil || len(b.jobs) == batchJobs || tasks >= batchTasks {
			to <- b
			b, tasks = batch{jobs: make([]*sim.Job, 0, batchJobs)}, 0
		}
	}
	to <- b
}
