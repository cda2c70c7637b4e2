package lp

import (
	"slices"
)

// A TaskForm is the linear program of Section 4.4, with (4) in place of the weaker (13)
// (erratum 9). Minimise sum w_u C_u subject to C_u >= r_u + p_u, to C_v >= C_u + d_u +
// p_v if v waits for u (erratum 9), and to (4). A point of the program is the M of each
// task. Prices decompose the program into jobs. A job has barriers between phases: the
// instant B at which the first phase has ended and its output has arrived, and after
// which the second starts. A [Part] has at most one barrier.
type TaskForm struct {
	M     []float64 // machines of each class
	Work  []float64 // sum of p of each class
	W, P  []float64 // of each task
	Low   []float64 // the earliest M of each task
	Delay []float64 // d_u of each task
	Class []int32   // of each task
	Parts []Part

	// Careful says that the bound allows for the rounding of barriers, which changes M by much if
	// M is small beside the barrier.
	Careful bool
}

// A Part is one or two phases of a job: tasks from First to Middle come before the
// barrier, tasks from Middle to End after it.
type Part struct {
	First, Middle, End int32
	Release            float64
}

// Shape implements [Program].
func (tf *TaskForm) Shape() (machines, work []float64) { return tf.M, tf.Work }

// Start implements [Program]: the earliest M.
func (tf *TaskForm) Start() []float64 { return tf.Low }

// Len implements [Program].
func (tf *TaskForm) Len() int { return len(tf.W) }

// Load implements [Program].
func (tf *TaskForm) Load(t int) (weight, load float64) { return tf.W[t], tf.P[t] / tf.M[tf.Class[t]] }

// Value returns sum w_u C_u at M.
func (tf *TaskForm) Value(m []float64) float64 {
	sum := 0.0
	for t, w := range tf.W {
		sum += float64(w * (m[t] + float64(tf.P[t]/2)))
	}
	return sum
}

// Trivial returns the sum of w_u times the earliest C_u.
func (tf *TaskForm) Trivial() float64 { return float64(tf.Value(tf.Low) * (1 - 1e-12)) }

// inverse returns the first s with N(s) <= v, and the number of points at or before s.
func (c *Curve) inverse(v float64) (s float64, i int) {
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
func (c *Curve) at(s float64) (value, rest float64) {
	i := c.cell(s)
	if i == len(c.t) {
		return 0, 0
	}
	d := c.t[i] - s
	value = c.v[i] - float64(c.slope[i]*d)
	return value, c.tail[i] + float64(d*float64(0.5*(value+c.v[i])))
}

// Minimise finds for each task the minimum of
//
//	f_u(M) = w_u (M + p_u/2) + p_u N1(M)
//
// and, if these minima violate a barrier, the instant of the barrier that
// minimises the sum for its tasks. f_u is convex. So each task before the
// barrier B is at its own minimum, or ends and arrives at B; each task after it
// is at its own minimum, or starts at B.
func (tf *TaskForm) Minimise(d *Dual, m []float64, tolerance float64) Course {
	return span(len(tf.Parts), 1, func(from, to int) {
		for i := range tf.Parts[from:to] {
			tf.minimise(&tf.Parts[from+i], d, m, tolerance)
		}
	})
}

// minimise is Minimise for one part.
func (tf *TaskForm) minimise(pt *Part, d *Dual, m []float64, tolerance float64) {
	lo, hi := pt.Release, pt.Release // the barriers that the tasks before and after it prefer
	for t := pt.First; t < pt.End; t++ {
		m[t] = tf.Low[t]
		if tf.P[t] > 0 {
			s, _ := d.curves[tf.Class[t]].inverse(tf.W[t] / tf.P[t])
			m[t] = max(m[t], s)
		}
		if t < pt.Middle {
			hi = max(hi, m[t]+float64(tf.P[t]/2)+tf.Delay[t])
		} else if b := m[t] - float64(tf.P[t]/2); t == pt.Middle || b < lo {
			lo = b
		}
	}
	lost := 0.0
	if pt.Middle < pt.End && lo < hi {
		lost = tf.barrier(pt, d.curves, m, lo, hi, tolerance)
	}
	for t := pt.First; t < pt.End; t++ {
		_, rest := d.curves[tf.Class[t]].at(m[t])
		d.plus.Add(float64(tf.W[t]*(m[t]+float64(tf.P[t]/2))) + float64(tf.P[t]*rest))
		if tf.P[t] > 0 {
			d.note(tf.Class[t], d.curves[tf.Class[t]].cell(m[t]), m[t], tf.P[t])
		}
	}
	d.plus.Add(-lost)
}

// barrier moves the tasks of a part to the two sides of the best barrier in [lo, hi].
// It returns by how much their payment may exceed the minimum.
func (tf *TaskForm) barrier(pt *Part, curves []*Curve, m []float64, lo, hi, tolerance float64) float64 {
	// slope returns the derivative of the payment of the tasks that the barrier moves.
	slope := func(b float64) float64 {
		sum := 0.0
		for t := pt.First; t < pt.End; t++ {
			at := b - tf.Delay[t] - float64(tf.P[t]/2)
			if t < pt.Middle && m[t] <= tf.Low[t] {
				continue // no barrier moves it, even if its end is rounded
			}
			if t >= pt.Middle {
				at = b + float64(tf.P[t]/2)
			}
			if (t < pt.Middle) == (at < m[t]) {
				n, _ := curves[tf.Class[t]].at(at)
				sum += tf.W[t] - float64(tf.P[t]*n)
			}
		}
		return sum
	}
	for t := pt.First; t < pt.Middle; t++ {
		lo = max(lo, tf.Low[t]+float64(tf.P[t]/2)+tf.Delay[t])
	}
	hi = max(lo, hi)
	weight := 0.0
	for t := pt.First; t < pt.End; t++ {
		weight += tf.W[t]
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
	if tf.Careful {
		lost += tf.rounding(pt, curves, m, b)
	}
	for t := pt.First; t < pt.End; t++ {
		if t < pt.Middle {
			m[t] = max(min(m[t], b-tf.Delay[t]-float64(tf.P[t]/2)), tf.Low[t])
		} else {
			m[t] = max(m[t], b+float64(tf.P[t]/2))
		}
	}
	return lost
}

// rounding returns how much less the tasks that a barrier at b moves may pay than it seems, since
// their M is rounded with b.
func (tf *TaskForm) rounding(pt *Part, curves []*Curve, m []float64, b float64) float64 {
	sum, off := 0.0, float64(b*0x1p-50)
	for t := pt.First; t < pt.End; t++ {
		at := b + float64(tf.P[t]/2)
		if t < pt.Middle {
			at = max(b-tf.Delay[t]-float64(tf.P[t]/2), tf.Low[t])
		}
		if (t < pt.Middle) == (at < m[t]) {
			n, _ := curves[tf.Class[t]].at(max(at-off, 0))
			sum += float64(off * (tf.W[t] + float64(tf.P[t]*n)))
		}
	}
	return sum
}

// Repair implements [Program]. It works like that of the job form: it raises all M alike, or
// each M by as much as those before it and by what its own prefix lacks. Both ways keep the
// order of M, and so (11) and (12). It finds the C_u.
func (tf *TaskForm) Repair(m []float64, found func(point []float64, value float64)) Course {
	found(tf.repair(m))
	return nil
}

func (tf *TaskForm) repair(m []float64) (c []float64, value float64) {
	all, each := make([]float64, len(m)), make([]float64, len(m))
	uniform := 0.0
	list := make([]Scanned, len(m))
	for t := range m {
		list[t] = Scanned{M: m[t], Item: int32(t)}
	}
	sortByM(list)
	type state struct{ work, sum, run float64 }
	states := make([]state, len(tf.M))
	acc := 0.0
	for _, s := range list {
		k := tf.Class[s.Item]
		st := &states[k]
		p := tf.P[s.Item]
		st.work += p
		need := float64(st.work*st.work) / (2 * tf.M[k])
		st.sum += float64(p * s.M)
		if st.sum < need {
			uniform = max(uniform, (need-st.sum)/st.work)
		}
		st.run += float64(p * (s.M + acc))
		if st.run < need && p > 0 {
			acc += (need - st.run) / p
			st.run = need
		}
		each[s.Item] = s.M + acc
	}
	for t := range m {
		all[t] = m[t] + uniform
	}
	va, ve := tf.Value(all), tf.Value(each)
	if va > ve {
		all, va = each, ve
	}
	for t := range all {
		all[t] += float64(tf.P[t] / 2)
	}
	return all, va
}
