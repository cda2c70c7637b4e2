package trace

import (
	"fmt"
	"slices"
	"sort"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A queue sorts jobs by their arrivals; traces have them in the order in which
// they ended or were found. It holds back a bounded number of jobs.
type queue struct {
	window   int
	relative bool // arrivals count from the first one
	stats    *Stats
	yield    func(*sim.Job, error) bool

	held  []held
	n     sojourn.JobID // jobs that have left
	first sojourn.Time  // arrival of the first of them
	last  sojourn.Time  // arrival of the last of them
}

// held is a job and the place of its arrival in the input.
type held struct {
	job          *sim.Job
	line, column int
}

// add adds the next job of the trace, and releases one if there are too many. It
// reports whether to go on.
func (q *queue) add(file string, h held) bool {
	if q.n > 0 && h.job.At < q.last {
		return q.fail(&Error{file, h.line, h.column,
			fmt.Sprintf("arrival is %ss before that of a job that came more than %d jobs earlier",
				appendSeconds(nil, q.last.Sub(h.job.At)), q.window)})
	}
	i := sort.Search(len(q.held), func(i int) bool { return q.held[i].job.At > h.job.At })
	q.held = slices.Insert(q.held, i, h)
	return len(q.held) <= q.window || q.leave()
}

// leave releases the job that arrives first.
func (q *queue) leave() bool {
	j := q.held[0].job
	q.held[0].job = nil
	q.held = q.held[1:] // the others move when an insertion needs room
	if q.n == 0 {
		q.first = j.At
	}
	q.n++
	q.last = j.At
	j.ID = q.n
	if q.relative {
		j.At = sojourn.Time(j.At.Sub(q.first))
	}
	q.stats.add(j)
	return q.yield(j, nil)
}

// flush releases all jobs, and reports whether to go on.
func (q *queue) flush() bool {
	for len(q.held) > 0 {
		if !q.leave() {
			return false
		}
	}
	return true
}

// fail ends the sequence with an error, after the jobs that came before it in
// the trace. It reports false.
func (q *queue) fail(err error) bool {
	if q.flush() {
		q.yield(nil, err)
	}
	return false
}
