package plan

import (
	"cmp"
	"slices"
)

// A master is the linear program with only some of the inequalities (4), in its dual form
//
//	maximise sum of beta_i y_i  subject to  sum of a_ij y_i <= w_j, y >= 0,
//
// where row i, a_i x >= beta_i, is an inequality of the program in x = C - c >= 0.
// The primal simplex method with a dense inverse of the basis solves it. No weight
// is negative, so the slacks are a feasible basis. Every y on the way proves a
// bound. A new inequality is a new column, which keeps y feasible.
//
// Rows are divided by the weights of their jobs, and columns by their largest element, so
// that no sum mixes weights of many orders of magnitude.
type master struct {
	n       int // jobs
	w       []float64
	rhs     []float64 // 1, lowered a little and differently in each row against ties
	columns []column
	basis   []int32   // column of each row of the basis, or ^j for the slack of job j
	inverse []float64 // of the basis, row by row
	y       []float64 // of the basis
	x       []float64 // multipliers of the rows: w_j (C_j - c_j) if optimal
	pivots  int
	since   int // pivots since the inverse was last computed
	d       []float64
}

// A column is an inequality (4) for a set B.
type column struct {
	cut
	a     []float64 // divided by weights and scale
	beta  float64   // divided by scale
	scale float64
	basic bool
	idle  int // rounds in which it was not used
}

// A cut describes the set B of the tasks of a class up to some M, by the numbers that its
// inequality needs.
type cut struct {
	class   int32
	release float64 // of Goemans' cuts: B holds tasks that cannot start before it; else 0
	work    float64 // p(B)
}

func newMaster(w []float64) *master {
	n := len(w)
	m := &master{n: n, w: w, rhs: make([]float64, n), basis: make([]int32, n), inverse: make([]float64, n*n), y: make([]float64, n), x: make([]float64, n), d: make([]float64, n)}
	h := uint64(0x9e3779b97f4a7c15)
	for j := range n {
		h = h*6364136223846793005 + 1442695040888963407
		m.rhs[j] = 1 - float64(1e-9*float64(float64(h>>40)/(1<<24)))
		m.basis[j] = int32(^j)
		m.inverse[j*n+j] = 1
		m.y[j] = m.rhs[j]
	}
	return m
}

// add adds the inequality sum of a_j x_j >= beta. It keeps a.
func (m *master) add(c cut, a []float64, beta float64) {
	scale := 0.0
	for j := range a {
		a[j] /= m.w[j]
		scale = max(scale, a[j])
	}
	if scale == 0 {
		return
	}
	for j := range a {
		a[j] /= scale
	}
	m.columns = append(m.columns, column{cut: c, a: a, beta: beta / scale, scale: scale})
}

// dot returns the sum of products.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float64(a[i] * b[i])
		s1 += float64(a[i+1] * b[i+1])
		s2 += float64(a[i+2] * b[i+2])
		s3 += float64(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float64(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// gain returns how much the objective grows with a unit of a column: how far its
// inequality is violated at x.
func (m *master) gain(c *column) float64 { return c.beta - dot(c.a, m.x) }

// solve brings the master to its optimum, or stops at the end of a budget of
// pivots. It reports whether it reached the optimum. Gains below tolerance times
// the greatest x count as none.
func (m *master) solve(budget int) bool {
	const stretches = 48
	type candidate struct {
		gain float64
		col  int32
	}
	var best [stretches]candidate
	var list []candidate
	for {
		// Look at all columns, then pivot among the best of them for a while: the best of
		// each stretch of work, since neighbours are nearly the same.
		clear(best[:])
		most := 0.0
		for i := range m.columns {
			most = max(most, m.columns[i].work)
		}
		for i := range m.columns {
			if c := &m.columns[i]; !c.basic {
				if g := m.gain(c); g > m.least(c) {
					at := min(int(stretches*(c.work/most)), stretches-1)
					if g > best[at].gain {
						best[at] = candidate{g, int32(i)}
					}
				}
			}
		}
		list = list[:0]
		for _, c := range best {
			if c.gain > 0 {
				list = append(list, c)
			}
		}
		slices.SortFunc(list, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.col, b.col))
		})
		moved := false
		for _, c := range list {
			col := &m.columns[c.col]
			if col.basic || m.gain(col) <= m.least(col) {
				continue
			}
			if m.pivots >= budget {
				return false
			}
			if m.enter(c.col) {
				moved = true
			}
			// A slack enters where a multiplier went below zero.
			for m.pivots < budget {
				j, least := -1, -1e-11*m.size()
				for i, x := range m.x {
					if x < least {
						j, least = i, x
					}
				}
				if j < 0 || !m.enter(int32(^j)) {
					break
				}
				moved = true
			}
		}
		if !moved {
			return true
		}
	}
}

// size returns the largest multiplier, at least a little.
func (m *master) size() float64 {
	s := 1e-300
	for _, x := range m.x {
		s = max(s, x, -x)
	}
	return s
}

// least returns the greatest gain of a column that may be rounding only.
func (m *master) least(c *column) float64 { return float64(1e-11 * max(c.beta, -c.beta)) }

// enter pivots a column, or a slack, into the basis. It reports false if no pivot
// is large enough to be trusted.
func (m *master) enter(col int32) bool {
	n := m.n
	gain := 0.0
	if col < 0 {
		j := int(^col)
		gain = -m.x[j]
		for i := range n {
			m.d[i] = m.inverse[i*n+j]
		}
	} else {
		c := &m.columns[col]
		gain = m.gain(c)
		for i := range n {
			m.d[i] = dot(m.inverse[i*n:i*n+n], c.a)
		}
	}
	// The row that limits the step; of those that limit it alike, the largest pivot.
	const small = 1e-9
	step := -1.0
	for i, d := range m.d {
		if d > small {
			if s := (max(m.y[i], 0) + 1e-12) / d; step < 0 || s < step {
				step = s
			}
		}
	}
	if step < 0 {
		return false
	}
	row := -1
	for i, d := range m.d {
		if d > small && max(m.y[i], 0)/d <= step && (row < 0 || d > m.d[row]) {
			row = i
		}
	}
	step = max(m.y[row], 0) / m.d[row]

	pivot := m.d[row]
	own := m.inverse[row*n : row*n+n]
	for k := range own {
		own[k] /= pivot
	}
	for i, d := range m.d {
		if i == row || d == 0 {
			continue
		}
		other := m.inverse[i*n : i*n+n]
		for k, v := range own {
			other[k] -= float64(d * v)
		}
		m.y[i] = max(m.y[i]-float64(step*d), 0)
	}
	m.y[row] = step
	for k, v := range own {
		m.x[k] += float64(gain * v)
	}
	if out := m.basis[row]; out >= 0 {
		m.columns[out].basic = false
	}
	if col >= 0 {
		m.columns[col].basic = true
		m.columns[col].idle = 0
	}
	m.basis[row] = col
	m.pivots++
	if m.since++; m.since >= 100 {
		m.refresh()
	}
	return true
}

// refresh computes the inverse, y and x from the columns of the basis, by elimination
// with row pivots.
func (m *master) refresh() {
	n := m.n
	m.since = 0
	// The slacks in the basis are unit columns: only the rows and columns of cuts
	// need elimination, but the plain way is simple and rare.
	b := make([]float64, n*n)
	for i, col := range m.basis {
		if col < 0 {
			b[int(^col)*n+i] = 1
			continue
		}
		for j, v := range m.columns[col].a {
			b[j*n+i] = v
		}
	}
	inv, ok := invert(b, n)
	if !ok {
		m.restart()
		return
	}
	copy(m.inverse, inv)
	for i := range n {
		m.y[i] = max(dot(m.inverse[i*n:i*n+n], m.rhs), 0)
	}
	clear(m.x)
	for i, col := range m.basis {
		if col < 0 {
			continue
		}
		beta := m.columns[col].beta
		for k, v := range m.inverse[i*n : i*n+n] {
			m.x[k] += float64(beta * v)
		}
	}
}

// invert returns the inverse of a matrix of n rows, which it destroys; false if no pivot is
// large enough to be trusted.
func invert(b []float64, n int) (inv []float64, ok bool) {
	inv = make([]float64, n*n)
	for i := range n {
		inv[i*n+i] = 1
	}
	for k := range n {
		p := k
		for i := k + 1; i < n; i++ {
			if a, c := b[i*n+k], b[p*n+k]; max(a, -a) > max(c, -c) {
				p = i
			}
		}
		if v := b[p*n+k]; max(v, -v) < 1e-14 {
			return nil, false
		}
		if p != k {
			for c := range n {
				b[k*n+c], b[p*n+c] = b[p*n+c], b[k*n+c]
				inv[k*n+c], inv[p*n+c] = inv[p*n+c], inv[k*n+c]
			}
		}
		piv := b[k*n+k]
		bk, ik := b[k*n:k*n+n], inv[k*n:k*n+n]
		for c := k; c < n; c++ {
			bk[c] /= piv
		}
		for c := range ik {
			ik[c] /= piv
		}
		for i := range n {
			f := b[i*n+k]
			if i == k || f == 0 {
				continue
			}
			bi, ii := b[i*n:i*n+n], inv[i*n:i*n+n]
			for c := k; c < n; c++ {
				bi[c] -= float64(f * bk[c])
			}
			for c, v := range ik {
				ii[c] -= float64(f * v)
			}
		}
	}
	return inv, true
}

// restart goes back to the basis of slacks.
func (m *master) restart() {
	n := m.n
	clear(m.inverse)
	clear(m.x)
	for j := range n {
		if col := m.basis[j]; col >= 0 {
			m.columns[col].basic = false
		}
		m.basis[j] = int32(^j)
		m.inverse[j*n+j] = 1
		m.y[j] = m.rhs[j]
	}
}

// forget drops columns that were not used for the given number of rounds.
func (m *master) forget(rounds int) {
	moved := make([]int32, len(m.columns))
	kept := m.columns[:0]
	for i := range m.columns {
		c := m.columns[i]
		if c.idle++; c.basic || c.idle <= rounds {
			if c.basic {
				c.idle = 0
			}
			moved[i] = int32(len(kept))
			kept = append(kept, c)
		}
	}
	clear(m.columns[len(kept):])
	m.columns = kept
	for i, col := range m.basis {
		if col >= 0 {
			m.basis[i] = moved[col]
		}
	}
}
