package rtmr

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// A job may bound how many of its tasks run at a time (Parallelism). It is booked on as many slots as it
// may use, and leaves the others to the jobs behind it. docs/theory/rtmr.md has the proof.

// bind makes en keep the bound on the running tasks of a job of that description, if it has less room than tasks.
func (c *cluster) bind(en *entry, spec *sojourn.Job) {
	if spec.Parallelism == 0 {
		return
	}
	var running [2]int64
	if en.job != nil {
		for s := range running {
			running[s] = en.job.Data.running[s].total()
		}
	}
	if int64(spec.Parallelism) >= en.tasks[maps]+en.tasks[reduces]+running[maps]+running[reduces] {
		return
	}
	en.bound = int64(spec.Parallelism)
	// Where a task that ends leaves no slot to the next one, the job takes a slot that the jobs behind it count on.
	again := running[reduces] > 0 && en.tasks[maps]+running[maps] > 0
	en.stuck = en.stuck || again || c.retires(en.job)
}

// retires reports whether a job runs on a slot that leaves with its attempt.
func (c *cluster) retires(j *job) bool {
	for _, id := range c.retiring {
		if a, _ := c.ledger.Attempt(id); a.Job == j {
			return true
		}
	}
	return false
}

// total returns the number of attempts.
func (s *starts) total() (n int64) {
	for _, r := range s.runs[s.head:] {
		n += r.n
	}
	return n
}

// fill books the tasks of a stage, none before rel, and returns the latest of their ends.
func (w *walker) fill(en *entry, s int, rel int64) (end int64) {
	if en.bound == 0 || en.tasks[s] == 0 {
		w.next[s], end = w.filler.Fill(w.next[s], w.at[s], en.tasks[s], en.eps[s], rel)
		return end
	}
	w.divide(en, s)
	w.next[s], end = w.filler.Fill(w.next[s], w.own, en.tasks[s], en.eps[s], rel)
	w.next[s] = slotvec.Sort(append(w.next[s], w.others...))
	return end
}

// divide divides the slots of a stage into those that the tasks of a bounded job will use, with the instants from which on
// they may, and the others.
//
// A task that may start now takes the slot that becomes available first. One that waits until a running task ends
// takes the slot of that task. If jobs ahead have taken it, it takes the last one that is available by then, or the
// first one after that. If more run than may, the first ones to end make no room.
func (w *walker) divide(en *entry, s int) {
	w.own, w.others, w.left = w.own[:0], w.others[:0], append(w.left[:0], w.at[s]...)
	left := w.left
	first := func(n int64) { // takes the first n of those that are left
		for n > 0 && len(left) > 0 {
			k := min(n, left[0].N)
			w.own = append(w.own, slotvec.Run{T: left[0].T, N: k})
			if n, left[0].N = n-k, left[0].N-k; left[0].N == 0 {
				left = left[1:]
			}
		}
	}
	var running *starts
	over := -en.bound // how many run beyond the bound; there is room if it is negative
	if en.job != nil {
		running = &en.job.Data.running[s]
		over += running.total()
	}
	first(-over)
	if running != nil {
		for _, r := range running.runs[running.head:] {
			n := r.n - max(0, min(over, r.n))
			over -= r.n
			end := slotvec.Add(int64(r.at), en.eps[s])
			if end < w.now {
				continue // it has outlasted its bound: nobody knows when it ends
			}
			for len(left) > 0 && left[0].T <= end {
				w.others, left = append(w.others, left[0]), left[1:]
			}
			for n > 0 && len(w.others) > 0 {
				last := &w.others[len(w.others)-1]
				k := min(n, last.N)
				w.own = append(w.own, slotvec.Run{T: end, N: k})
				if n, last.N = n-k, last.N-k; last.N == 0 {
					w.others = w.others[:len(w.others)-1]
				}
			}
			first(n)
		}
	}
	w.own, w.others = slotvec.Sort(w.own), append(w.others, left...)
}
