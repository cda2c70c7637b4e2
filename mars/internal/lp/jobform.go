package lp

import (
	"cmp"
	"math"
	"slices"
)

// A JobForm is the linear program (1)-(4) with one variable for each job; package
// plan derives it. Minimise sum w_j C_j subject to C_j >= c_j and, for each set B of
// tasks of one class with m machines,
//
//	sum over u in B of p_u (C_j(u) - h_u) >= p(B)^2/2m.
//
// Times are in seconds. Tasks of one job, class and h may be one item: the most
// violated B has all of them or none. Jobs are added by [JobForm.Add].
type JobForm struct {
	M     []float64 // machines of each class; one may be appended before a job is added
	W, C  []float64 // w_j and c_j of each job
	R     []float64 // release of each job
	First []int32   // the first item of each job, and then the number of items
	Items []Item    // of a job in the order of ByMiddle
	HMax  float64   // the greatest h
	Work  []float64 // sum of p of each class
}

// An Item stands for tasks of one job. Its M is C - h.
type Item struct {
	H, P  float64
	Class int32
}

// ByMiddle is the order of the items of a job: by class, then h descending, so that M ascends.
func ByMiddle(a, b Item) int { return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(b.H, a.H)) }

// NewJobForm returns a form without jobs, with the given numbers of machines of each
// class.
func NewJobForm(machines []float64) *JobForm {
	return &JobForm{M: machines, First: []int32{0}, Work: make([]float64, len(machines))}
}

// Add adds a job of weight w whose C is at least c, released at r, with items in the
// order of ByMiddle.
func (jf *JobForm) Add(w, c, r float64, items []Item) {
	for len(jf.Work) < len(jf.M) {
		jf.Work = append(jf.Work, 0)
	}
	for _, it := range items {
		jf.Work[it.Class] += it.P
		jf.HMax = max(jf.HMax, it.H)
	}
	jf.Items = append(jf.Items, items...)
	jf.W, jf.C, jf.R = append(jf.W, w), append(jf.C, c), append(jf.R, r)
	jf.First = append(jf.First, int32(len(jf.Items)))
}

// Join merges the items of the last job that have the same class and h.
func (jf *JobForm) Join() {
	last := len(jf.W) - 1
	own := jf.of(last)
	n := 0
	for _, it := range own {
		if n > 0 && own[n-1].H == it.H && own[n-1].Class == it.Class {
			own[n-1].P += it.P
			continue
		}
		own[n] = it
		n++
	}
	jf.Items = jf.Items[:int(jf.First[last])+n]
	jf.First[last+1] = int32(len(jf.Items))
}

// Shape implements [Program].
func (jf *JobForm) Shape() (machines, work []float64) { return jf.M, jf.Work }

// Start implements [Program]: all c_j.
func (jf *JobForm) Start() []float64 { return jf.C }

// Smith implements [Program].
func (jf *JobForm) Smith(visit func(weight float64, job, class int32, p float64)) {
	for j, w := range jf.W {
		for _, it := range jf.of(j) {
			visit(w, int32(j), it.Class, it.P)
		}
	}
}

// Minimise implements [Program].
func (jf *JobForm) Minimise(d *Dual, c []float64, tolerance float64) float64 {
	var plus Total
	for j := range c {
		at, below := jf.Best(j, c[j], d.curves, tolerance)
		c[j] = at
		plus.Add(below)
		class, i := int32(-1), 0
		for _, it := range jf.of(j) {
			s := at - it.H
			curve := d.curves[it.Class]
			if it.Class != class {
				class = it.Class
				i = curve.cell(s)
			}
			for i < len(curve.t) && curve.t[i] <= s {
				i++
			}
			d.note(class, i, s, it.P)
		}
	}
	return plus.Value()
}

// of returns the items of a job.
func (jf *JobForm) of(j int) []Item { return jf.Items[jf.First[j]:jf.First[j+1]] }

// Trivial returns sum w_j c_j, a lower bound for every schedule. Its terms are added in
// the order of jobs, like those of objectives.
func (jf *JobForm) Trivial() float64 { return jf.Value(jf.C) }

// Value returns sum w_j C_j.
func (jf *JobForm) Value(c []float64) float64 {
	sum := 0.0
	for j, w := range jf.W {
		sum += float64(w * c[j])
	}
	return sum
}

// Scan returns the items of one class in the order of their M at C.
func (jf *JobForm) Scan(class int32, c []float64, dst []Scanned) []Scanned {
	dst = dst[:0]
	for j := range c {
		for i := jf.First[j]; i < jf.First[j+1]; i++ {
			if it := &jf.Items[i]; it.Class == class {
				dst = append(dst, Scanned{c[j] - it.H, i, int32(j)})
			}
		}
	}
	sortByM(dst)
	return dst
}

// Repair returns a C' >= C that satisfies (4) where C may violate it, C >= c. It is
// the cheapest of three:
//
//   - all C are raised by the greatest violation of a prefix over its work: the sum
//     over any B then grows by no less than its violation;
//   - the M of items are raised one by one in their order, each by as much as the
//     one before it and what its own prefix lacks (the S^NV of erratum 2), and
//     then each C_j to what its items need, which raises M only;
//   - the same, but each to what its prefix lacks or the M of the one before it,
//     whichever is more: slack later makes up for early raises. With jobs that arrive
//     over time, a crowd raises only those that come soon after it.
//
// In all of them the items keep the order of their M at C, and before the last step of the
// latter two their M satisfy (4) with the same C'; (1) and (2) hold at C, whose M are no
// greater. Theorem 3 needs no more: what it says of busy machines follows from the former,
// and of idle ones from the latter. Classes are raised apart; there is no theorem across
// classes.
func (jf *JobForm) Repair(c []float64) (repaired []float64, value float64) {
	repaired, value = jf.RepairAlike(c)
	for _, way := range []func([]float64) ([]float64, float64){jf.RepairByItem, jf.RepairEarliest} {
		if r, v := way(c); v < value {
			repaired, value = r, v
		}
	}
	return repaired, value
}

// RepairAlike is the first way.
func (jf *JobForm) RepairAlike(c []float64) (repaired []float64, value float64) {
	uniform := 0.0
	jf.prefixes(c, func(k int32, s Scanned, p, work, sum, need float64) {
		if sum < need {
			uniform = max(uniform, (need-sum)/work)
		}
	})
	repaired = make([]float64, len(c))
	for j := range c {
		repaired[j] = c[j] + uniform
	}
	return repaired, jf.Value(repaired)
}

// RepairByItem is the second:
//
//	acc = 0; for i in pi: run += p_i (M_i+acc); if run < R_i: acc += (R_i-run)/p_i, run = R_i
func (jf *JobForm) RepairByItem(c []float64) (repaired []float64, value float64) {
	repaired = slices.Clone(c)
	class, run, acc := int32(-1), 0.0, 0.0
	jf.prefixes(c, func(k int32, s Scanned, p, work, sum, need float64) {
		if k != class {
			class, run, acc = k, 0, 0
		}
		run += float64(p * (s.M + acc))
		if run < need {
			acc += (need - run) / p
			run = need
		}
		repaired[s.Job] = max(repaired[s.Job], c[s.Job]+acc)
	})
	return repaired, jf.Value(repaired)
}

// RepairEarliest is the third:
//
//	last = 0; for i in pi: last = max(M_i, last, (R_i-run)/p_i), run += p_i last
//
// (R_i-run)/p_i is at most (p(B)-p_i/2)/m, since the prefix before satisfies (4): no item
// is raised beyond where machines that never idle are in the middle of it.
func (jf *JobForm) RepairEarliest(c []float64) (repaired []float64, value float64) {
	repaired = slices.Clone(c)
	class, run, last := int32(-1), 0.0, 0.0
	jf.prefixes(c, func(k int32, s Scanned, p, work, sum, need float64) {
		if k != class {
			class, run, last = k, 0, math.Inf(-1)
		}
		last = max(last, s.M)
		if run+float64(p*last) < need {
			last = max(last, (need-run)/p)
		}
		run += float64(p * last)
		if last > s.M {
			// C - h is no less than M, whatever rounding makes of it.
			h := jf.Items[s.Item].H
			at := last + h
			if at-h < last {
				at = math.Nextafter(at, math.Inf(1))
			}
			repaired[s.Job] = max(repaired[s.Job], at)
		}
	})
	return repaired, jf.Value(repaired)
}

// prefixes calls visit for each item of each class in the order of M at C, with its
// p, the sum of p and of p M up to it, and what (4) needs of the latter.
func (jf *JobForm) prefixes(c []float64, visit func(class int32, s Scanned, p, work, sum, need float64)) {
	var list []Scanned
	for k, m := range jf.M {
		list = jf.Scan(int32(k), c, list)
		work, sum := 0.0, 0.0
		for _, s := range list {
			p := jf.Items[s.Item].P
			work += p
			sum += float64(p * s.M)
			visit(int32(k), s, p, work, sum, float64(work*work)/(2*m))
		}
	}
}
