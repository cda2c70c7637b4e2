package recorded

import (
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

// MaxBoxes is the most tasks of a run that a page draws.
const MaxBoxes = 100_000

// A sampler keeps at most MaxBoxes of the attempts that it is given. Of a run with more, it keeps
// all those of a half, a quarter, an eighth of the slots, so that a drawn slot has no holes. If one
// slot alone has too many, it keeps every 2nd, 4th, 8th attempt.
type sampler struct {
	most  int // in place of MaxBoxes, unless 0
	slots int // of how many slots one is kept, a power of 2; 0 means 1
	thin  int // of how many attempts on these slots one is kept, a power of 2; 0 means 1
	turn  int // of attempts on these slots since one was kept
	seen  int
	boxes []page.Box
}

func (s *sampler) add(slot int, start, end float64, job, locality, outcome int) {
	s.seen++
	if s.slots == 0 {
		s.slots, s.thin = 1, 1
	}
	if !s.keeps(slot) {
		return
	}
	if s.turn = (s.turn + 1) % s.thin; s.turn != 0 {
		return
	}
	s.boxes = append(s.boxes, page.Box{Slot: slot, Start: start, End: end, Job: job, Locality: locality, Outcome: outcome})
	most := s.most
	if most == 0 {
		most = MaxBoxes
	}
	if len(s.boxes) > most {
		s.halve()
	}
}

// keeps reports whether a slot is one of those that are kept. The high bits of a product choose,
// since the slots of a node follow one another in the same order on each node.
func (s *sampler) keeps(slot int) bool { return uint32(slot)*2654435761>>8&uint32(s.slots-1) == 0 }

// halve keeps fewer slots, or if all boxes are on slots that would go or stay together, every
// other attempt.
func (s *sampler) halve() {
	s.slots *= 2
	gone, stay := 0, 0
	for _, b := range s.boxes {
		if s.keeps(b.Slot) {
			stay++
		} else {
			gone++
		}
	}
	every := 1
	if gone == 0 || stay == 0 {
		s.slots /= 2
		s.thin *= 2
		every = 2
	}
	boxes := s.boxes[:0]
	for i, b := range s.boxes {
		if s.keeps(b.Slot) && i%every == 0 {
			boxes = append(boxes, b)
		}
	}
	s.boxes = boxes
}

// note says what is not drawn, "" if all is.
func (s *sampler) note() string {
	if len(s.boxes) == s.seen {
		return ""
	}
	which := fmt.Sprintf("about 1 of every %d slots is drawn", s.slots)
	if s.thin > 1 {
		which += fmt.Sprintf(", and 1 of every %d attempts on it", s.thin)
	}
	return fmt.Sprintf("This is a sample: %s of %s attempts (%s).", format.Thousands(len(s.boxes)), format.Thousands(s.seen), which)
}

// A meter averages a number of things over time: how many of the intervals that it was given
// contain an instant. It has at most 512 equal parts of the time, which become longer if an
// interval ends later than was expected.
type meter struct {
	start, width float64
	sum          []float64 // seconds of intervals in each part
	last         float64   // the latest end
}

const meterParts = 512

func newMeter(start, end float64) *meter {
	return &meter{start: start, width: max((end-start)/meterParts, 1e-9), sum: make([]float64, meterParts), last: start}
}

func (m *meter) add(from, to float64) {
	from = max(from, m.start)
	if !(to > from) {
		return
	}
	m.until(to)
	for k := int((from - m.start) / m.width); k < meterParts; k++ {
		lo, hi := m.start+float64(k)*m.width, m.start+float64(k+1)*m.width
		if lo >= to {
			break
		}
		m.sum[k] += max(0, min(hi, to)-max(lo, from))
	}
}

// until makes the time of a meter last until an instant at least.
func (m *meter) until(to float64) {
	for (to-m.start)/m.width > meterParts*(1+1e-9) {
		for i := range meterParts / 2 {
			m.sum[i] = m.sum[2*i] + m.sum[2*i+1]
		}
		clear(m.sum[meterParts/2:])
		m.width *= 2
	}
	m.last = max(m.last, to)
}

// line returns the start of each part and the average in it, divided by per. The last point
// ends the line.
func (m *meter) line(name string, per float64) page.Series {
	s := page.Series{Name: name}
	for k, sum := range m.sum {
		at := m.start + float64(k)*m.width
		if at >= m.last {
			break
		}
		s.X, s.Y = append(s.X, at), append(s.Y, sum/(min(m.width, m.last-at)*per))
	}
	if n := len(s.Y); n > 0 {
		s.X, s.Y = append(s.X, m.last), append(s.Y, s.Y[n-1])
	}
	return s
}

// backlog returns the slot time of the jobs that have arrived, less what attempts have used, at the ends of the parts of the time.
// What an attempt that was for nothing used is part of the slot time of its job.
func (r *run) backlog(name string) page.Series {
	s := page.Series{Name: name, X: page.Numbers{r.busy.start}, Y: page.Numbers{0}}
	next, left := 0, 0.0
	for k, sum := range r.busy.sum {
		if r.busy.start+float64(k)*r.busy.width >= r.busy.last {
			break
		}
		at := min(r.busy.start+float64(k+1)*r.busy.width, r.busy.last)
		for ; next < len(r.jobs) && r.jobs[next].arrival <= at; next++ {
			left += r.jobs[next].work
		}
		left -= sum
		s.X, s.Y = append(s.X, at), append(s.Y, max(0, left))
	}
	return s
}

// ecdf returns the share of the numbers that are at most x, as steps: at most 1000 of them. It
// leaves out NaN, and the numbers below least become least.
func ecdf(name string, values []float64, least float64) page.Series {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(values)
	s := page.Series{Name: name}
	n, last := len(values), -1
	points := min(n, 1000)
	for k := 1; k <= points; k++ {
		i := (k*n+points-1)/points - 1 // the least number of which a share k/points is at most
		for i+1 < n && values[i+1] == values[i] {
			i++
		}
		if i == last {
			continue
		}
		last = i
		s.X, s.Y = append(s.X, max(values[i], least)), append(s.Y, float64(i+1)/float64(n))
	}
	return s
}
