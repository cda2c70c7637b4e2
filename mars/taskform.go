package mars

import (
	"fmt"
	"slices"
)

// A taskForm is the linear program of Section 4.4 with (4) for (13), which is
// stronger (erratum 9): minimise sum w_u C_u subject to C_u >= r_u + p_u, to
// C_v >= C_u + d_u + p_v where v waits for u (erratum 9), and to (4). Its point is the M
// of each task. Prices decompose it into jobs, and jobs into at most one barrier
// each: the instant B between two phases, before which the first has ended and
// arrived, and after which the second starts.
type taskForm struct {
	m     []float64
	work  []float64
	w, p  []float64 // of each task
	low   []float64 // the earliest M of each task
	delay []float64 // d_u of each task
	class []int32
	parts []part
}

// A part is one or two phases of a job: tasks from first to middle come before the
// barrier, those from middle to end after it.
type part struct {
	first, middle, end int32
	release            float64
}

// newTaskForm returns the task form. The error wraps ErrUnsupported if more than
// two phases wait for one another, or delays differ from pair to pair.
func newTaskForm(f *flat) (*taskForm, error) {
	cl := f.classes()
	n := len(f.p)
	tf := &taskForm{m: cl.machines, work: make([]float64, len(cl.machines))}
	for _, list := range []*[]float64{&tf.w, &tf.p, &tf.low, &tf.delay} {
		*list = make([]float64, n)
	}
	tf.class = make([]int32, n)
	heads := f.heads()
	for i := range f.units {
		u := &f.units[i]
		if u.between != nil {
			return nil, fmt.Errorf("%w: job %d, phase %d: delays that differ between pairs of tasks, for the completion of tasks", ErrUnsupported, u.job, u.phase)
		}
		if u.waits && u.feeds {
			return nil, fmt.Errorf("%w: job %d, phase %d: more than two phases that wait for one another, for the completion of tasks", ErrUnsupported, u.job, u.phase)
		}
		for t := u.first; t < u.end; t++ {
			tf.w[t] = f.in.Jobs[u.job].weightOf(int(u.phase), int(t-u.first))
			tf.p[t] = seconds(f.p[t])
			tf.low[t] = seconds(2*heads[i]+f.p[t]) / 2
			tf.delay[t] = seconds(u.delay(t))
			tf.class[t] = cl.of(t)
			tf.work[tf.class[t]] += tf.p[t]
		}
		if u.waits {
			last := &tf.parts[len(tf.parts)-1]
			last.end = u.end
			continue
		}
		tf.parts = append(tf.parts, part{u.first, u.end, u.end, seconds(u.release)})
	}
	return tf, nil
}

func (tf *taskForm) shape() (machines, work []float64) { return tf.m, tf.work }

func (tf *taskForm) start() []float64 { return tf.low }

func (tf *taskForm) smith(visit func(weight float64, job, class int32, p float64)) {
	for t, w := range tf.w {
		visit(w, int32(t), tf.class[t], tf.p[t])
	}
}

// value returns sum w_u C_u at M.
func (tf *taskForm) value(m []float64) float64 {
	sum := 0.0
	for t, w := range tf.w {
		sum += float64(w * (m[t] + float64(tf.p[t]/2)))
	}
	return sum
}

// trivial returns the sum of w_u times the earliest C_u.
func (tf *taskForm) trivial() float64 { return float64(tf.value(tf.low) * (1 - 1e-12)) }

// inverse returns the first s at which N(s) <= v, and the number of points at or
// before it.
func (c *curve) inverse(v float64) (s float64, i int) {
	n := len(c.t)
	if n == 0 || c.v[0] <= v {
		return 0, c.cell(0)
	}
	i, _ = slices.BinarySearchFunc(c.v, v, func(a, b float64) int { // the first point at or below v
		if a > b {
			return -1
		}
		return 1
	})
	switch {
	case i == n:
		return c.t[n-1], n
	case c.slope[i] == 0: // a step
		s = c.t[i]
	default:
		s = min(max(c.t[i]+(v-c.v[i])/c.slope[i], c.t[i-1]), c.t[i])
	}
	return s, c.cell(s)
}

// at returns N(s) and the integral of N from s on.
func (c *curve) at(s float64) (value, rest float64) {
	i := c.cell(s)
	if i == len(c.t) {
		return 0, 0
	}
	d := c.t[i] - s
	value = c.v[i] - float64(c.slope[i]*d)
	return value, c.tail[i] + float64(d*float64(0.5*(value+c.v[i])))
}

// minimise finds for each task where
//
//	f_u(M) = w_u (M + p_u/2) + p_u N1(M)
//
// is least, and for each barrier that comes out wrong where the sum of what its
// tasks pay is: f_u is convex, so that tasks before the barrier B are either at
// their own minimum or end and arrive at B, and those after it at their own or
// start at B.
func (tf *taskForm) minimise(d *dual, m []float64, tolerance float64) float64 {
	var plus total
	pay := func(t int32) float64 {
		_, rest := d.curves[tf.class[t]].at(m[t])
		return float64(tf.w[t]*(m[t]+float64(tf.p[t]/2))) + float64(tf.p[t]*rest)
	}
	for i := range tf.parts {
		pt := &tf.parts[i]
		lo, hi := pt.release, pt.release // the barrier that tasks before it want, and those after
		for t := pt.first; t < pt.end; t++ {
			m[t] = tf.low[t]
			if tf.p[t] > 0 {
				s, _ := d.curves[tf.class[t]].inverse(tf.w[t] / tf.p[t])
				m[t] = max(m[t], s)
			}
			if t < pt.middle {
				hi = max(hi, m[t]+float64(tf.p[t]/2)+tf.delay[t])
			} else if b := m[t] - float64(tf.p[t]/2); t == pt.middle || b < lo {
				lo = b
			}
		}
		lost := 0.0
		if pt.middle < pt.end && lo < hi {
			lost = tf.barrier(pt, d.curves, m, lo, hi, tolerance)
		}
		for t := pt.first; t < pt.end; t++ {
			plus.add(pay(t))
			if tf.p[t] > 0 {
				d.note(tf.class[t], d.curves[tf.class[t]].cell(m[t]), m[t], tf.p[t])
			}
		}
		plus.add(-lost)
	}
	return plus.value()
}

// barrier moves tasks of a part to both sides of the best barrier in [lo, hi], and
// returns by how much what they pay may be above the minimum.
func (tf *taskForm) barrier(pt *part, curves []*curve, m []float64, lo, hi, tolerance float64) float64 {
	// slope returns the derivative of the payment of the tasks that the barrier
	// moves.
	slope := func(b float64) float64 {
		sum := 0.0
		for t := pt.first; t < pt.end; t++ {
			at := b - tf.delay[t] - float64(tf.p[t]/2)
			if t < pt.middle && m[t] <= tf.low[t] {
				continue // no barrier moves it, whatever rounding makes of its end
			}
			if t >= pt.middle {
				at = b + float64(tf.p[t]/2)
			}
			if (t < pt.middle) == (at < m[t]) {
				n, _ := curves[tf.class[t]].at(at)
				sum += tf.w[t] - float64(tf.p[t]*n)
			}
		}
		return sum
	}
	for t := pt.first; t < pt.middle; t++ {
		lo = max(lo, tf.low[t]+float64(tf.p[t]/2)+tf.delay[t])
	}
	hi = max(lo, hi)
	weight := 0.0
	for t := pt.first; t < pt.end; t++ {
		weight += tf.w[t]
	}
	b, s := lo, slope(lo)
	lost := 0.0
	if s < 0 {
		left, right := lo, hi
		for range 100 {
			if float64(-s*(right-left)) <= float64(tolerance*float64(weight*right)) {
				break
			}
			mid := left + float64(0.5*(right-left))
			if mid <= left || mid >= right {
				break
			}
			if sm := slope(mid); sm <= 0 {
				left, s = mid, sm
			} else {
				right = mid
			}
		}
		b, lost = left, float64(-s*(right-left))
	}
	for t := pt.first; t < pt.end; t++ {
		if t < pt.middle {
			m[t] = max(min(m[t], b-tf.delay[t]-float64(tf.p[t]/2)), tf.low[t])
		} else {
			m[t] = max(m[t], b+float64(tf.p[t]/2))
		}
	}
	return lost
}

// repair is that of the job form: all M are raised alike, or each by as much as
// those before it and what its own prefix lacks. Both keep the order of M, and with
// it (11) and (12). It returns the C_u.
func (tf *taskForm) repair(m []float64) (c []float64, value float64) {
	all, each := make([]float64, len(m)), make([]float64, len(m))
	uniform := 0.0
	list := make([]scanned, len(m))
	for t := range m {
		list[t] = scanned{m: m[t], item: int32(t)}
	}
	sortByM(list)
	type state struct{ work, sum, run float64 }
	states := make([]state, len(tf.m))
	acc := 0.0
	for _, s := range list {
		k := tf.class[s.item]
		st := &states[k]
		p := tf.p[s.item]
		st.work += p
		need := float64(st.work*st.work) / (2 * tf.m[k])
		st.sum += float64(p * s.m)
		if st.sum < need {
			uniform = max(uniform, (need-st.sum)/st.work)
		}
		st.run += float64(p * (s.m + acc))
		if st.run < need && p > 0 {
			acc += (need - st.run) / p
			st.run = need
		}
		each[s.item] = s.m + acc
	}
	for t := range m {
		all[t] = m[t] + uniform
	}
	va, ve := tf.value(all), tf.value(each)
	if va > ve {
		all, va = each, ve
	}
	for t := range all {
		all[t] += float64(tf.p[t] / 2)
	}
	return all, va
}
