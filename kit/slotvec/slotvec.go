package slotvec

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Never is an instant that does not come.
const Never = math.MaxInt64

// A Run is a number of slots that become available at one instant.
type Run struct {
	T int64 // the instant, not negative
	N int64 // the number of slots; positive, and below 2^32 in all runs together
}

// A Vector is a sorted vector of slots in run-length form.
type Vector []Run

// Slots returns the number of slots.
func (v Vector) Slots() (n int64) {
	for _, r := range v {
		n += r.N
	}
	return n
}

// Canonical reports whether v has strictly increasing instants and positive counts.
func (v Vector) Canonical() bool {
	for i, r := range v {
		if r.N <= 0 || r.T < 0 || i > 0 && v[i-1].T >= r.T {
			return false
		}
	}
	return true
}

// push appends a run whose instant is not before the last one.
func (v Vector) push(t, n int64) Vector {
	switch last := len(v) - 1; {
	case n == 0:
	case last >= 0 && v[last].T == t:
		v[last].N += n
	default:
		v = append(v, Run{t, n})
	}
	return v
}

// Sort brings runs in any order, with repeated instants, into canonical form, in
// place. A count may be negative if the sum at its instant is not.
func Sort(v Vector) Vector {
	if v.Canonical() {
		return v
	}
	slices.SortFunc(v, byTime)
	out := v[:0]
	for i := 0; i < len(v); {
		r := v[i]
		for i++; i < len(v) && v[i].T == r.T; i++ {
			r.N += v[i].N
		}
		if r.N != 0 {
			out = append(out, r)
		}
	}
	return out
}

func byTime(a, b Run) int { return cmp.Compare(a.T, b.T) }

// Shorten returns v with at most size runs, and one more for slots that are never available. No
// slot becomes available earlier: instants that are close together become the latest of them.
func Shorten(dst, v Vector, size int) Vector {
	dst = dst[:0]
	end := len(v)
	if end > 0 && v[end-1].T == Never {
		end--
	}
	if end <= size {
		return append(dst, v...)
	}
	first := v[0].T
	shift := bits.Len64(uint64(v[end-1].T-first) / uint64(size))
	whole := v[0] // the slots of a group so far
	for _, r := range v[1:end] {
		if (r.T-first)>>shift == (whole.T-first)>>shift {
			whole = Run{r.T, whole.N + r.N}
			continue
		}
		dst = append(dst, whole)
		whole = r
	}
	dst = append(dst, whole)
	return append(dst, v[end:]...)
}

// Min returns the elementwise minimum of two vectors of equally many slots.
func Min(dst, a, b Vector) Vector {
	dst = dst[:0]
	for i, k, x, y := 0, 0, int64(0), int64(0); i < len(a) && k < len(b); {
		n := min(a[i].N-x, b[k].N-y)
		dst = dst.push(min(a[i].T, b[k].T), n)
		if x += n; x == a[i].N {
			i, x = i+1, 0
		}
		if y += n; y == b[k].N {
			k, y = k+1, 0
		}
	}
	return dst
}

// Distance returns the largest difference between corresponding elements of two
// vectors of equally many slots, both raised to floor.
func Distance(a, b Vector, floor int64) (d int64) {
	for i, k, x, y := 0, 0, int64(0), int64(0); i < len(a) && k < len(b); {
		n := min(a[i].N-x, b[k].N-y)
		ta, tb := max(a[i].T, floor), max(b[k].T, floor)
		d = max(d, ta-tb, tb-ta)
		if x += n; x == a[i].N {
			i, x = i+1, 0
		}
		if y += n; y == b[k].N {
			k, y = k+1, 0
		}
	}
	return d
}

// Replace takes the given instants in order. For each of them it removes the
// first slot of v and inserts the instant (Algorithm VI). The instants are
// sorted; their counts say how often each occurs.
func Replace(dst, v, instants Vector) Vector {
	dst = append(dst[:0], v...)
	for _, in := range instants {
		if len(dst) == 0 {
			break
		}
		// Slots before in.T are replaced one by one. After that the first slot is not
		// before in.T, and each inserted slot is the next to be removed. Only if
		// nothing was inserted yet, the first slot becomes earlier, once.
		moved, i := int64(0), 0
		for ; i < len(dst) && dst[i].T < in.T && moved < in.N; i++ {
			n := min(in.N-moved, dst[i].N)
			moved += n
			if dst[i].N -= n; dst[i].N > 0 {
				break
			}
		}
		if moved == 0 && dst[0].T > in.T {
			moved = 1
			if dst[0].N--; dst[0].N == 0 {
				i = 1
			}
		}
		dst = insert(slices.Delete(dst, 0, i), Run{in.T, moved})
	}
	return dst
}

// insert adds r to v, in place.
func insert(v Vector, r Run) Vector {
	k, found := slices.BinarySearchFunc(v, r, byTime)
	switch {
	case r.N == 0:
	case found:
		v[k].N += r.N
	default:
		v = slices.Insert(v, k, r)
	}
	return v
}

// A Filler schedules equal tasks. It holds scratch memory; the zero Filler is ready.
type Filler struct {
	starts Vector // last starts, sorted
	spare  Vector
	ends   []int // of the ascending pieces of starts
}

// Fill schedules n tasks of length eps, none before rel, each on the slot of v that
// becomes available first. It returns the instants at which the slots become
// available afterwards, and the end of the last task. The end is rel if n is 0, and
// Never if it is out of range or there is no slot. See the package comment.
func (f *Filler) Fill(dst, v Vector, n, eps, rel int64) (Vector, int64) {
	dst = dst[:0]
	if n == 0 {
		return append(dst, v...), rel
	}
	early, runs := int64(0), 0 // slots that are available at rel, and their runs
	for runs < len(v) && v[runs].T <= rel {
		early += v[runs].N
		runs++
	}
	switch {
	case len(v) == 0:
		return dst, Never
	case n <= early || early > 0 && eps == 0:
		return fillEarly(dst, v, min(n, early), Add(rel, eps)), Add(rel, eps)
	case eps == 0:
		return append(dst, v...), v[0].T
	}
	first, rest := Run{rel, early}, v[runs:]
	if early == 0 {
		first, rest = rest[0], rest[1:]
	}
	return f.fillLevel(dst, first, rest, n, eps)
}

// fillEarly delays the n earliest slots of v, which are all available by t, until t.
func fillEarly(dst, v Vector, n, t int64) Vector {
	left := n
	for i, r := range v {
		cut := min(left, r.N)
		left -= cut
		r.N -= cut
		switch {
		case r.N == 0:
		case r.T < t:
			dst = append(dst, r)
		default:
			dst = dst.push(t, n).push(r.T, r.N)
			return append(dst, v[i+1:]...)
		}
	}
	return dst.push(t, n)
}

// fillLevel schedules n tasks of length eps > 0 on the slots of first and rest.
func (f *Filler) fillLevel(dst Vector, first Run, rest Vector, n, eps int64) (Vector, int64) {
	h, ok := level(first, rest, n, eps)
	if !ok {
		return append(dst, Run{Never, first.N + rest.Slots()}), Never
	}
	// Each run up to the level starts k tasks before s. The runs are in order, so
	// that later ones start no more tasks than earlier ones.
	started, last := int64(0), int64(0) // sum of k; when these tasks end
	starts, ends := f.starts[:0], f.ends[:0]
	k, same := int64(0), int64(-1) // k is the same up to this instant
	for r := first; ; r, rest = rest[0], rest[1:] {
		if r.T > same {
			k = (h - r.T) / eps
			same = h - k*eps
			if i := len(starts) - 1; i >= 0 && r.T+k*eps < starts[i].T {
				ends = append(ends, i+1)
			}
		}
		s := r.T + k*eps
		starts = append(starts, Run{s, r.N})
		started += k * r.N
		if k > 0 {
			last = max(last, s)
		}
		if len(rest) == 0 || rest[0].T > h {
			break
		}
	}
	f.starts, f.ends = starts, append(ends, len(starts))
	f.sortStarts()
	starts = f.starts

	// The remaining tasks start at the least of these instants: on all slots of
	// starts[:used], and on split slots of starts[used].
	left, used := n-started, 0
	split := int64(0) // slots of starts[used] that start a task
	for left > 0 {
		last = max(last, Add(starts[used].T, eps))
		if left < starts[used].N {
			split = left
			break
		}
		left -= starts[used].N
		used++
	}
	return merge(dst, starts, rest, used, split, eps), last
}

// merge appends when the slots of starts and rest are available, if each slot of starts[:used]
// and split slots of starts[used] run one more task.
func merge(dst, starts, rest Vector, used int, split, eps int64) Vector {
	for i, r := range starts[used:] {
		if i == 0 {
			r.N -= split
		}
		dst = dst.push(r.T, r.N)
	}
	for i := range starts[:min(used+1, len(starts))] {
		r := starts[i]
		if i == used {
			r.N = split
		}
		r.T = Add(r.T, eps)
		for len(rest) > 0 && rest[0].T <= r.T {
			dst = dst.push(rest[0].T, rest[0].N)
			rest = rest[1:]
		}
		dst = dst.push(r.T, r.N)
	}
	for _, r := range rest {
		dst = dst.push(r.T, r.N)
	}
	return dst
}

// sortStarts sorts the last starts. They come in few ascending pieces, since s grows
// with a until it falls by eps. It merges neighbouring pieces until one is left.
func (f *Filler) sortStarts() {
	v, ends := f.starts, f.ends
	for len(ends) > 1 {
		out, from := f.spare[:0], 0
		for i := 0; i < len(ends); i += 2 {
			a, b := v[from:ends[i]], Vector(nil)
			from = ends[i]
			if i+1 < len(ends) {
				b = v[from:ends[i+1]]
				from = ends[i+1]
			}
			for len(a) > 0 && len(b) > 0 {
				if a[0].T <= b[0].T {
					out, a = append(out, a[0]), a[1:]
				} else {
					out, b = append(out, b[0]), b[1:]
				}
			}
			out = append(append(out, a...), b...)
			ends[i/2] = len(out)
		}
		ends = ends[:(len(ends)+1)/2]
		v, f.spare = out, v
	}
	f.starts = v
}

// level returns floor(x) for the level x of n*eps poured onto the slots of first and
// rest; false if it is out of range.
func level(first Run, rest Vector, n, eps int64) (int64, bool) {
	// With the slots so far at instants a, N of them, the level is
	// a1 + (n eps + sum N (a - a1)) / N, unless it reaches the next run.
	slots := uint64(first.N)
	hi, lo := bits.Mul64(uint64(n), uint64(eps))
	for _, r := range rest {
		d := uint64(r.T - first.T)
		if ph, pl := bits.Mul64(d, slots); hi < ph || hi == ph && lo <= pl {
			break
		}
		ph, pl := bits.Mul64(d, uint64(r.N))
		var carry uint64
		lo, carry = bits.Add64(lo, pl, 0)
		hi += ph + carry
		slots += uint64(r.N)
	}
	if hi >= slots {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, slots)
	return first.T + int64(q), q <= uint64(Never-first.T)
}

// Add returns t+d, at most Never, for d from 0 to Never.
func Add(t, d int64) int64 {
	if t > Never-d {
		return Never
	}
	return t + d
}
