package mars

import (
	"cmp"
	"math"
	"slices"
)

// A jobForm is the linear program (1)-(4) with one variable a job (see the package
// documentation): minimise sum w_j C_j subject to C_j >= c_j and, for each set B of
// tasks of one class with m machines,
//
//	sum over u in B of p_u (C_j(u) - h_u) >= p(B)^2/2m.
//
// Times are in seconds. Tasks of one job, class and h are one item: the most
// violated B has all of them or none.
type jobForm struct {
	m     []float64 // machines of each class
	w, c  []float64 // of each job
	r     []float64 // release of each job
	first []int32   // the first item of each job, and then the number of items
	items []item    // of a job by class, then h descending: M ascending
	hmax  float64   // the greatest h
	work  []float64 // sum of p of each class
}

// An item stands for tasks of one job. Its M is C - h.
type item struct {
	h, p  float64
	class int32
}

// newJobForm returns the job form of an instance.
func newJobForm(f *flat) *jobForm {
	classes := f.classes()
	J := len(f.in.Jobs)
	jf := &jobForm{m: classes.machines, w: make([]float64, J), c: make([]float64, J), first: make([]int32, J+1), work: make([]float64, len(classes.machines))}
	h := make([]float64, len(f.p))
	earliest := make([]int64, J)
	f.tails(func(t int32, q int64) {
		// q - p/2 with one rounding.
		h[t] = seconds(2*q-f.p[t]) / 2
		u := &f.units[f.unit[t]]
		if !u.waits {
			earliest[u.job] = max(earliest[u.job], u.release+q)
		}
	})
	count := 0
	for _, p := range f.p {
		if p > 0 {
			count++
		}
	}
	jf.items = make([]item, 0, count)
	for j := range J {
		jf.w[j], jf.c[j] = f.in.Jobs[j].weight(), seconds(earliest[j])
		jf.r = append(jf.r, seconds(int64(f.in.Jobs[j].Release)))
		jf.first[j] = int32(len(jf.items))
		for i := f.first[j]; i < f.first[j+1]; i++ {
			u := &f.units[i]
			for t := u.first; t < u.end; t++ {
				if f.p[t] > 0 {
					jf.items = append(jf.items, item{h[t], seconds(f.p[t]), classes.of(t)})
				}
			}
		}
		own := jf.items[jf.first[j]:]
		slices.SortFunc(own, func(a, b item) int {
			if a.class != b.class {
				return cmp.Compare(a.class, b.class)
			}
			return cmp.Compare(b.h, a.h)
		})
		n := 0
		for _, it := range own {
			jf.work[it.class] += it.p
			jf.hmax = max(jf.hmax, it.h)
			if n > 0 && own[n-1].h == it.h && own[n-1].class == it.class {
				own[n-1].p += it.p
				continue
			}
			own[n] = it
			n++
		}
		jf.items = jf.items[:int(jf.first[j])+n]
	}
	jf.first[J] = int32(len(jf.items))
	return jf
}

func (jf *jobForm) shape() (machines, work []float64) { return jf.m, jf.work }

func (jf *jobForm) start() []float64 { return jf.c }

func (jf *jobForm) smith(visit func(weight float64, job, class int32, p float64)) {
	for j, w := range jf.w {
		for _, it := range jf.of(j) {
			visit(w, int32(j), it.class, it.p)
		}
	}
}

func (jf *jobForm) minimise(d *dual, c []float64, tolerance float64) float64 {
	var plus total
	for j := range c {
		at, below := jf.best(j, c[j], d.curves, tolerance)
		c[j] = at
		plus.add(below)
		class, i := int32(-1), 0
		for _, it := range jf.of(j) {
			s := at - it.h
			curve := d.curves[it.class]
			if it.class != class {
				class = it.class
				i = curve.cell(s)
			}
			for i < len(curve.t) && curve.t[i] <= s {
				i++
			}
			d.note(class, i, s, it.p)
		}
	}
	return plus.value()
}

// of returns the items of a job.
func (jf *jobForm) of(j int) []item { return jf.items[jf.first[j]:jf.first[j+1]] }

// trivial returns sum w_j c_j, which no schedule is below. Its terms are added in
// the order of jobs, like those of objectives.
func (jf *jobForm) trivial() float64 { return jf.value(jf.c) }

// value returns sum w_j C_j.
func (jf *jobForm) value(c []float64) float64 {
	sum := 0.0
	for j, w := range jf.w {
		sum += float64(w * c[j])
	}
	return sum
}

// A scanned item is one in the order of M.
type scanned struct {
	m    float64
	item int32
	job  int32
}

// scan returns the items of one class in the order of their M at C.
func (jf *jobForm) scan(class int32, c []float64, dst []scanned) []scanned {
	dst = dst[:0]
	for j := range c {
		for i := jf.first[j]; i < jf.first[j+1]; i++ {
			if it := &jf.items[i]; it.class == class {
				dst = append(dst, scanned{c[j] - it.h, i, int32(j)})
			}
		}
	}
	sortByM(dst)
	return dst
}

// sortByM sorts by M, ties in the order they have.
func sortByM(list []scanned) {
	if len(list) < 1000 {
		slices.SortStableFunc(list, func(a, b scanned) int {
			switch {
			case a.m < b.m:
				return -1
			case a.m > b.m:
				return 1
			}
			return 0
		})
		return
	}
	radixSort(list)
}

// radixSort sorts by digits of the bits of M, the least significant first. The bits
// of floating-point numbers are in their order once those of negative ones are
// turned over.
func radixSort(list []scanned) {
	const digits, width = 6, 11
	bits := func(m float64) uint64 {
		b := math.Float64bits(m)
		if b>>63 != 0 {
			return ^b
		}
		return b | 1<<63
	}
	var counts [digits][1 << width]int32
	for i := range list {
		b := bits(list[i].m)
		for d := range digits {
			counts[d][b>>(d*width)&(1<<width-1)]++
		}
	}
	from, to := list, make([]scanned, len(list))
	for d := range digits {
		sum := int32(0)
		one := false // all have the same digit
		for i, n := range counts[d] {
			one = one || int(n) == len(list)
			counts[d][i] = sum
			sum += n
		}
		if one {
			continue
		}
		for i := range from {
			at := &counts[d][bits(from[i].m)>>(d*width)&(1<<width-1)]
			to[*at] = from[i]
			*at++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}

// repair returns a C' >= C that satisfies (4) where C may violate it, C >= c. It is
// the cheapest of three:
//
//   - all C are raised by the greatest violation of a prefix over its work: the sum
//     over any B then grows by no less than its violation;
//   - the M of items are raised one by one in their order, each by as much as the
//     one before it and what its own prefix lacks (the S^NV of erratum 2), and
//     then each C_j to what its items need, which raises M only;
//   - the same, but each to what its prefix lacks or the M of the one before it,
//     whichever is more: what was raised early is made up for by slack later. With jobs
//     that arrive over time, a crowd raises only those that come soon after it.
//
// In all of them the items keep the order of their M at C, and before the last step of the
// latter two their M satisfy (4) with the same C'; (1) and (2) hold at C, whose M are no
// greater. Theorem 3 needs no more: what it says of busy machines follows from the former,
// and of idle ones from the latter. Classes are raised apart; there is no theorem across
// classes.
func (jf *jobForm) repair(c []float64) (repaired []float64, value float64) {
	repaired, value = jf.repairAlike(c)
	for _, way := range []func([]float64) ([]float64, float64){jf.repairByItem, jf.repairEarliest} {
		if r, v := way(c); v < value {
			repaired, value = r, v
		}
	}
	return repaired, value
}

// repairAlike is the first way.
func (jf *jobForm) repairAlike(c []float64) (repaired []float64, value float64) {
	uniform := 0.0
	jf.prefixes(c, func(k int32, s scanned, p, work, sum, need float64) {
		if sum < need {
			uniform = max(uniform, (need-sum)/work)
		}
	})
	repaired = make([]float64, len(c))
	for j := range c {
		repaired[j] = c[j] + uniform
	}
	return repaired, jf.value(repaired)
}

// repairByItem is the second:
//
//	acc = 0; for i in pi: run += p_i (M_i+acc); if run < R_i: acc += (R_i-run)/p_i, run = R_i
func (jf *jobForm) repairByItem(c []float64) (repaired []float64, value float64) {
	repaired = slices.Clone(c)
	class, run, acc := int32(-1), 0.0, 0.0
	jf.prefixes(c, func(k int32, s scanned, p, work, sum, need float64) {
		if k != class {
			class, run, acc = k, 0, 0
		}
		run += float64(p * (s.m + acc))
		if run < need {
			acc += (need - run) / p
			run = need
		}
		repaired[s.job] = max(repaired[s.job], c[s.job]+acc)
	})
	return repaired, jf.value(repaired)
}

// repairEarliest is the third:
//
//	last = 0; for i in pi: last = max(M_i, last, (R_i-run)/p_i), run += p_i last
//
// (R_i-run)/p_i is at most (p(B)-p_i/2)/m, since the prefix before satisfies (4): no item
// is raised beyond where machines that never idle are in the middle of it.
func (jf *jobForm) repairEarliest(c []float64) (repaired []float64, value float64) {
	repaired = slices.Clone(c)
	class, run, last := int32(-1), 0.0, 0.0
	jf.prefixes(c, func(k int32, s scanned, p, work, sum, need float64) {
		if k != class {
			class, run, last = k, 0, math.Inf(-1)
		}
		last = max(last, s.m)
		if run+float64(p*last) < need {
			last = max(last, (need-run)/p)
		}
		run += float64(p * last)
		if last > s.m {
			// C - h is no less than M, whatever rounding makes of it.
			h := jf.items[s.item].h
			at := last + h
			if at-h < last {
				at = math.Nextafter(at, math.Inf(1))
			}
			repaired[s.job] = max(repaired[s.job], at)
		}
	})
	return repaired, jf.value(repaired)
}

// prefixes calls visit for each item of each class in the order of M at C, with its
// p, the sum of p and of p M up to it, and what (4) needs of the latter.
func (jf *jobForm) prefixes(c []float64, visit func(class int32, s scanned, p, work, sum, need float64)) {
	var list []scanned
	for k, m := range jf.m {
		list = jf.scan(int32(k), c, list)
		work, sum := 0.0, 0.0
		for _, s := range list {
			p := jf.items[s.item].p
			work += p
			sum += float64(p * s.m)
			visit(int32(k), s, p, work, sum, float64(work*work)/(2*m))
		}
	}
}

// finite reports whether x is a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
