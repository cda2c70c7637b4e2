package lp

import (
	"math"
	"slices"
)

// Scan returns the items of one class in the order of their M at C.
func (jf *JobForm) Scan(class int32, c []float64, dst []Scanned) []Scanned {
	dst = jf.scan(class, c, 0, len(c), dst[:0])
	sortByM(dst)
	return dst
}

// scan appends the items of one class of some jobs.
func (jf *JobForm) scan(class int32, c []float64, from, to int, dst []Scanned) []Scanned {
	for j := from; j < to; j++ {
		for i := jf.First[j]; i < jf.First[j+1]; i++ {
			if it := &jf.Items[i]; it.Class == class {
				dst = append(dst, Scanned{c[j] - it.H, i, int32(j)})
			}
		}
	}
	return dst
}

// repairs are the ways to repair a point, with what they need for it, kept to be used again.
type repairs struct {
	alike    alike
	byItem   byItem
	earliest earliest
	list     []Scanned
	sorter   sorter
}

// A prefix is the work of a class up to some item in the order of M at C, that item included.
type prefix struct {
	Scanned
	p    float64 // of the item
	work float64 // sum of p
	sum  float64 // of p M
	need float64 // what (4) needs of the sum
}

// A way repairs a point C by raising it.
type way interface {
	begin(c []float64)            // forgets the point before
	class()                       // begins a class
	visit(jf *JobForm, x *prefix) // is called for each prefix of each class, in the order of M
	end() (point []float64)       // is overwritten by the next begin
}

// Repair implements [Program]: it finds a C' >= C that satisfies (4) where C may violate it, C >= c. It is
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
func (jf *JobForm) Repair(c []float64, found func(point []float64, value float64)) Course {
	r := &jf.repairs
	return jf.repair(c, []way{&r.alike, &r.byItem, &r.earliest}, found)
}

// repair finds the cheapest of some ways.
func (jf *JobForm) repair(c []float64, ways []way, found func(point []float64, value float64)) Course {
	r := &jf.repairs
	for _, w := range ways {
		w.begin(c)
	}
	var parts []func() Course
	for k := range jf.M {
		parts = append(parts,
			func() Course {
				r.list = slices.Grow(r.list[:0], len(jf.Items))
				return span(len(c), 1, func(from, to int) { r.list = jf.scan(int32(k), c, from, to, r.list) })
			},
			func() Course { return r.sorter.sort(r.list) },
			func() Course {
				for _, w := range ways {
					w.class()
				}
				return jf.prefixes(k, r.list, ways)
			})
	}
	return inTurn(append(parts, func() Course {
		best, value := []float64(nil), 0.0
		for i, w := range ways {
			point := w.end()
			if v := jf.Value(point); i == 0 || v < value {
				best, value = point, v
			}
		}
		found(best, value)
		return nil
	})...)
}

// prefixes shows the prefixes of the sorted items of a class to all ways.
func (jf *JobForm) prefixes(class int, list []Scanned, ways []way) Course {
	m := jf.M[class]
	var x prefix
	return span(len(list), 1, func(from, to int) {
		for _, x.Scanned = range list[from:to] {
			x.p = jf.Items[x.Item].P
			x.work += x.p
			x.sum += float64(x.p * x.M)
			x.need = float64(x.work*x.work) / (2 * m)
			for _, w := range ways {
				w.visit(jf, &x)
			}
		}
	})
}

// RepairAlike returns what the first way of Repair finds.
func (jf *JobForm) RepairAlike(c []float64) (point []float64, value float64) {
	return jf.by(c, &alike{})
}

// RepairByItem returns what the second finds.
func (jf *JobForm) RepairByItem(c []float64) (point []float64, value float64) {
	return jf.by(c, &byItem{})
}

// RepairEarliest returns what the third finds.
func (jf *JobForm) RepairEarliest(c []float64) (point []float64, value float64) {
	return jf.by(c, &earliest{})
}

func (jf *JobForm) by(c []float64, w way) (point []float64, value float64) {
	jf.repair(c, []way{w}, func(at []float64, v float64) { point, value = at, v }).Finish()
	return point, value
}

// alike raises all C by the same.
type alike struct {
	c, point []float64
	uniform  float64
}

func (w *alike) begin(c []float64) { w.c, w.uniform = c, 0 }
func (w *alike) class()            {}

func (w *alike) visit(_ *JobForm, x *prefix) {
	if x.sum < x.need {
		w.uniform = max(w.uniform, (x.need-x.sum)/x.work)
	}
}

func (w *alike) end() []float64 {
	w.point = slices.Grow(w.point[:0], len(w.c))[:len(w.c)]
	for j, at := range w.c {
		w.point[j] = at + w.uniform
	}
	return w.point
}

// byItem raises the items one by one:
//
//	acc = 0; for i in pi: run += p_i (M_i+acc); if run < R_i: acc += (R_i-run)/p_i, run = R_i
type byItem struct {
	c, point []float64
	run, acc float64
}

func (w *byItem) begin(c []float64) { w.c, w.point = c, append(w.point[:0], c...) }
func (w *byItem) class()            { w.run, w.acc = 0, 0 }

func (w *byItem) visit(_ *JobForm, x *prefix) {
	w.run += float64(x.p * (x.M + w.acc))
	if w.run < x.need {
		w.acc += (x.need - w.run) / x.p
		w.run = x.need
	}
	w.point[x.Job] = max(w.point[x.Job], w.c[x.Job]+w.acc)
}

func (w *byItem) end() []float64 { return w.point }

// earliest raises the items one by one, each no further than needed:
//
//	last = 0; for i in pi: last = max(M_i, last, (R_i-run)/p_i), run += p_i last
//
// (R_i-run)/p_i is at most (p(B)-p_i/2)/m, since the prefix before satisfies (4): no item
// is raised beyond where machines that never idle are in the middle of it.
type earliest struct {
	point     []float64
	run, last float64
}

func (w *earliest) begin(c []float64) { w.point = append(w.point[:0], c...) }
func (w *earliest) class()            { w.run, w.last = 0, math.Inf(-1) }

func (w *earliest) visit(jf *JobForm, x *prefix) {
	last := max(w.last, x.M)
	if w.run+float64(x.p*last) < x.need {
		last = max(last, (x.need-w.run)/x.p)
	}
	w.last = last
	w.run += float64(x.p * last)
	if last > x.M {
		// C - h is no less than M, whatever rounding makes of it.
		h := jf.Items[x.Item].H
		at := last + h
		if at-h < last {
			at = math.Nextafter(at, math.Inf(1))
		}
		w.point[x.Job] = max(w.point[x.Job], at)
	}
}

func (w *earliest) end() []float64 { return w.point }
