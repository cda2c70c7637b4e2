package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/lp"
)

// newJobForm returns the job form of an instance (Fact 2 of docs/theory/plan.md).
func newJobForm(f *flat) *lp.JobForm {
	jf, _ := f.jobForm(false)
	return jf
}

// jobForm is newJobForm, and returns all c_j. If it is shifted, the variable of a job is C_j - c_j, and
// the h of a task is h_u - c_j: then M keeps all its digits, however small it is beside C_j.
func (f *flat) jobForm(shifted bool) (*lp.JobForm, []int64) {
	classes := f.classes()
	h2 := make([]int64, len(f.p)) // twice h: 2q - p
	earliest := make([]int64, len(f.in.Jobs))
	f.tails(func(t int32, q int64) {
		h2[t] = 2*q - f.p[t]
		u := &f.units[f.unit[t]]
		if !u.waits {
			earliest[u.job] = max(earliest[u.job], u.release+q)
		}
	})
	jf := lp.NewJobForm(classes.machines)
	jf.Grow(len(f.in.Jobs), f.itemsAtMost())
	var own []lp.Item
	for j := range f.in.Jobs {
		job := &f.in.Jobs[j]
		own = own[:0]
		c, shift := earliest[j], int64(0)
		if shifted {
			c, shift = 0, c
		}
		for i := f.first[j]; i < f.first[j+1]; i++ {
			u := &f.units[i]
			for t := u.first; t < u.end; t++ {
				if f.p[t] > 0 {
					own = append(own, lp.Item{H: lp.Seconds(h2[t]-2*shift) / 2, P: lp.Seconds(f.p[t]), Class: classes.of(t)})
				}
			}
		}
		slices.SortFunc(own, lp.ByMiddle)
		jf.Add(job.weight(), lp.Seconds(c), lp.Seconds(int64(job.Release)), own)
		jf.Join()
	}
	return jf, earliest
}

// itemsAtMost returns a bound on the number of items of the job form: equal tasks are one.
func (f *flat) itemsAtMost() int {
	n := 0
	for i := range f.units {
		u := &f.units[i]
		if f.in.Jobs[u.job].Phases[u.phase].Times == nil && u.delays == nil && f.assigned == nil {
			n++
			continue
		}
		n += int(u.end - u.first)
	}
	return n
}

// newTaskForm returns the task form. The error wraps ErrUnsupported if more than
// two phases wait for one another.
func newTaskForm(f *flat) (*lp.TaskForm, error) {
	cl := f.classes()
	n := len(f.p)
	tf := &lp.TaskForm{M: cl.machines, Work: make([]float64, len(cl.machines))}
	for _, list := range []*[]float64{&tf.W, &tf.P, &tf.Low, &tf.Delay} {
		*list = make([]float64, n)
	}
	tf.Class = make([]int32, n)
	heads := f.heads()
	for i := range f.units {
		u := &f.units[i]
		if u.waits && u.feeds {
			return nil, fmt.Errorf("%w: job %d, phase %d: more than two phases that wait for one another, for the completion of tasks", errors.ErrUnsupported, u.job, u.phase)
		}
		for t := u.first; t < u.end; t++ {
			tf.W[t] = f.in.Jobs[u.job].weightOf(int(u.phase), int(t-u.first))
			tf.P[t] = lp.Seconds(f.p[t])
			tf.Low[t] = lp.Seconds(2*heads[i]+f.p[t]) / 2
			tf.Delay[t] = lp.Seconds(u.delay(t))
			tf.Class[t] = cl.of(t)
			tf.Work[tf.Class[t]] += tf.P[t]
		}
		if u.waits {
			last := &tf.Parts[len(tf.Parts)-1]
			last.End = u.end
			continue
		}
		tf.Parts = append(tf.Parts, lp.Part{First: u.first, Middle: u.end, End: u.end, Release: lp.Seconds(u.release)})
	}
	return tf, nil
}
