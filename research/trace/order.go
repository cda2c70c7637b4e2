package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A queue sorts jobs by their arrivals; traces have them in the order in which
// they ended or were found. It holds back a bounded number of jobs.
type queue struct {
	ReadOptions // complete, without Nodes

	in       *input
	relative bool // arrivals count from the first one
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

// sorted returns the jobs that read adds to a queue, in the order of their arrival. read returns false to end
// the sequence after it has reported an error.
func sorted(r io.Reader, o ReadOptions, read func(*queue) bool) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		if o.Window < 0 || o.Pool > PoolNone {
			yield(nil, errors.New("trace: options: Window is negative, or Pool is unknown"))
			return
		}
		o.limits = o.limits.withDefaults()
		o.Window = cmp.Or(o.Window, 100)
		if o.Stats == nil {
			o.Stats = new(Stats)
		}
		q := &queue{ReadOptions: o, in: open(r, o.File, o.limits), yield: yield}
		if read(q) {
			q.flush()
		}
	}
}

// eachObject adds the job of each JSON object. parse returns it, or nil if there is none, and the offset of its
// submission. eachObject reports whether to go on at the end.
func (q *queue) eachObject(parse func(*cursor) (*sim.Job, int)) bool {
	objects := newObjects(q.in)
	for {
		text, err := objects.read()
		if err == io.EOF {
			return true
		}
		if err != nil {
			return q.fail(err)
		}
		c, off := newCursor(text), 0
		var job *sim.Job
		if c.fault == nil {
			job, off = parse(c)
		}
		if c.fault != nil {
			return q.fail(objects.fault(c.fault))
		}
		if job != nil {
			line, column := objects.place(off)
			if !q.add(held{job, line, column}) {
				return false
			}
		}
	}
}

// add adds the next job of the trace, and releases one if there are too many. It
// reports whether to go on.
func (q *queue) add(h held) bool {
	if q.n > 0 && h.job.At < q.last {
		return q.fail(errorAt(q.in.file, h.line, h.column,
			fmt.Sprintf("arrival is %ss before that of a job that came more than %d jobs earlier",
				appendSeconds(nil, q.last.Sub(h.job.At)), q.Window)))
	}
	i := sort.Search(len(q.held), func(i int) bool { return q.held[i].job.At > h.job.At })
	q.held = slices.Insert(q.held, i, h)
	return len(q.held) <= q.Window || q.leave()
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
	q.Stats.add(j)
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
