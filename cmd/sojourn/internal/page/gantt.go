package page

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
)

// A Gantt chart shows on which slot each attempt ran, and from when to when, for several runs
// of the same jobs.
type Gantt struct {
	Start float64 `json:"start"` // of the time axis, in seconds
	End   float64 `json:"end"`
	Tick  float64 `json:"tick"` // seconds; times in columns count ticks from Start
	Jobs  Jobs    `json:"jobs"`
	Runs  []Lanes `json:"runs"`
}

// Jobs has the columns of the jobs of a workload, in the order of arrival.
type Jobs struct {
	IDs     []string `json:"ids"`
	Names   []string `json:"names"` // distinct ones
	Name    []int    `json:"name"`  // of each job, an index in Names
	Pools   []string `json:"pools"`
	Pool    []int    `json:"pool"`
	Arrival Packed   `json:"arrival"` // ticks after the arrival of the job before
}

// Lanes has the attempts of a run, slot by slot.
type Lanes struct {
	Name  string   `json:"name"`
	Slots []string `json:"slots"` // the drawn ones
	Note  string   `json:"note,omitempty"`
	Share float64  `json:"share"` // of all attempts that are drawn

	Thin int `json:"thin,omitempty"` // of so many attempts on a drawn slot one is drawn, if more than one

	// Boxes has, for each slot, the number of boxes; then for each box the ticks from the end of the box before it,
	// its length, the job, and a code: locality + 8 * outcome.
	Boxes Packed `json:"boxes"`

	// Times has for each job: the wait for its first start plus 1, or 0 if it never started; its sojourn plus 1, or 0
	// if it did not finish; and by how much it finished after fair sharing, zigzag, plus 1, or 0 if that is not known.
	Times Packed `json:"times"`
}

// Packed are varints in base64.
type Packed []byte

// MarshalText implements [encoding.TextMarshaler].
func (p Packed) MarshalText() ([]byte, error) {
	return []byte(base64.StdEncoding.EncodeToString(p)), nil
}

func (p *Packed) add(values ...uint64) {
	for _, v := range values {
		*p = binary.AppendUvarint(*p, v)
	}
}

// A Box is an attempt. Times are in seconds.
type Box struct {
	Slot       int // its number among the slots of the cluster
	Start, End float64
	Job        int // its place in the workload
	Locality   int // 0 any, 1 node, 2 rack, 3 remote
	Outcome    int // 0 finished, 1 anything else
}

// A JobTimes says what became of a job. Times are in seconds, NaN where there is none.
type JobTimes struct{ FirstStart, Finish, Late float64 }

// NewGantt returns a chart without runs for the time from start to end.
func NewGantt(start, end float64) *Gantt {
	return &Gantt{Start: start, End: end, Tick: max((end-start)/(1<<21), 1e-9)}
}

// ticks returns a time as ticks from start.
func (g *Gantt) ticks(t float64) uint64 { return uint64(max(0, math.Round((t-g.Start)/g.Tick))) }

// AddJob adds a job of the workload. Jobs come in the order of their arrival.
func (g *Gantt) AddJob(id, name, pool string, arrival, previous float64) {
	j := &g.Jobs
	j.IDs = append(j.IDs, id)
	j.Names, j.Name = interned(j.Names, j.Name, name)
	j.Pools, j.Pool = interned(j.Pools, j.Pool, pool)
	at, before := g.ticks(arrival), g.ticks(previous)
	j.Arrival.add(max(at, before) - before)
}

// interned appends the index of text among texts. Names repeat near one another, so that it is
// looked for among the last ones only.
func interned(texts []string, column []int, text string) ([]string, []int) {
	from := max(0, len(texts)-64)
	i := slices.Index(texts[from:], text) + from
	if i < from {
		i = len(texts)
		texts = append(texts, text)
	}
	return texts, append(column, i)
}

// AddRun adds a run. times has an entry for each job, arrivals their arrivals, and slots the names
// of the slots by number.
func (g *Gantt) AddRun(l Lanes, slots map[int]string, boxes []Box, arrivals []float64, times []JobTimes) {
	boxes = slices.Clone(boxes)
	slices.SortStableFunc(boxes, func(a, b Box) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	for len(boxes) > 0 {
		n := slices.IndexFunc(boxes, func(b Box) bool { return b.Slot != boxes[0].Slot })
		if n < 0 {
			n = len(boxes)
		}
		l.Slots = append(l.Slots, slots[boxes[0].Slot])
		l.Boxes.add(uint64(n))
		at := uint64(0)
		for _, b := range boxes[:n] {
			start := max(at, g.ticks(b.Start))
			end := max(start, g.ticks(b.End))
			l.Boxes.add(start-at, end-start, uint64(b.Job), uint64(b.Locality+8*b.Outcome))
			at = end
		}
		boxes = boxes[n:]
	}
	for i, t := range times {
		l.Times.add(g.span(t.FirstStart-arrivals[i]), g.span(t.Finish-arrivals[i]), g.signed(t.Late))
	}
	g.Runs = append(g.Runs, l)
}

// span returns a length of time in ticks plus 1, 0 if there is none.
func (g *Gantt) span(d float64) uint64 {
	if math.IsNaN(d) {
		return 0
	}
	return 1 + uint64(max(0, math.Round(d/g.Tick)))
}

func (g *Gantt) signed(d float64) uint64 {
	if math.IsNaN(d) {
		return 0
	}
	n := int64(math.Round(d / g.Tick))
	return 1 + uint64(n<<1^n>>63)
}
