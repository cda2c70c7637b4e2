package lp

import (
	"cmp"
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

	repairs repairs
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

// Grow makes room for so many jobs and items.
func (jf *JobForm) Grow(jobs, items int) {
	jf.W, jf.C, jf.R = slices.Grow(jf.W, jobs), slices.Grow(jf.C, jobs), slices.Grow(jf.R, jobs)
	jf.First, jf.Items = slices.Grow(jf.First, jobs), slices.Grow(jf.Items, items)
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
	own := jf.Of(last)
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

// Len implements [Program].
func (jf *JobForm) Len() int { return len(jf.W) }

// Load implements [Program].
func (jf *JobForm) Load(j int) (weight, load float64) {
	for _, it := range jf.Of(j) {
		load += it.P / jf.M[it.Class]
	}
	return jf.W[j], load
}

// Minimise implements [Program].
func (jf *JobForm) Minimise(d *Dual, c []float64, tolerance float64) Course {
	j := 0
	return func(budget int) (looks int, ended bool) {
		for ; j < len(c) && looks < budget; j++ {
			at, below := jf.Best(j, c[j], d.curves, tolerance)
			c[j] = at
			d.plus.Add(below)
			class, i := int32(-1), 0
			own := jf.Of(j)
			for _, it := range own {
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
			looks += 1 + len(own)
		}
		return looks, j == len(c)
	}
}

// Of returns the items of a job.
func (jf *JobForm) Of(j int) []Item { return jf.Items[jf.First[j]:jf.First[j+1]] }

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
