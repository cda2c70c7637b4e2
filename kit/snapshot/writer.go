package snapshot

import (
	"encoding"
	"encoding/binary"
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A Writer appends values to a snapshot.
type Writer struct {
	buf []byte
	err error
}

// Fail makes [Append] return err, because something cannot be saved. If it is called several
// times, the first error counts.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Uint writes a number. A small one takes a byte.
func (w *Writer) Uint(x uint64) { w.buf = binary.AppendUvarint(w.buf, x) }

// Int writes a number that may be negative.
func (w *Writer) Int(x int64) { w.buf = binary.AppendVarint(w.buf, x) }

// Len writes how many elements follow.
func (w *Writer) Len(n int) { w.Uint(uint64(n)) }

// Count writes how often something has happened, at most half of the greatest int. Only
// forgeries have greater counts.
func (w *Writer) Count(n int) { w.Uint(uint64(min(n, maxCount))) }

const maxCount = math.MaxInt / 2

// Seqs returns the latest sequence number as it is to be written, and a function that
// converts each of the others. list calls add with all numbers that will be written. Numbers
// are written as they are. If the latest one is too large for [Reader.Seq], which happens
// only in forgeries, each is written as its rank. So only their order may matter.
func Seqs(latest uint64, list func(add func(seq uint64))) (uint64, func(uint64) uint64) {
	if latest < maxSeq {
		return latest, func(seq uint64) uint64 { return seq }
	}
	var ranks []uint64
	list(func(seq uint64) { ranks = append(ranks, seq) })
	slices.Sort(ranks)
	return uint64(len(ranks)), func(seq uint64) uint64 {
		i, _ := slices.BinarySearch(ranks, seq)
		return uint64(i) + 1
	}
}

const maxSeq = 1 << 62

// Bool writes a truth value.
func (w *Writer) Bool(b bool) {
	if b {
		w.buf = append(w.buf, 1)
	} else {
		w.buf = append(w.buf, 0)
	}
}

// Float writes the bits of a floating point number. One with few significant bits takes few
// bytes.
func (w *Writer) Float(x float64) { w.Uint(bits.ReverseBytes64(math.Float64bits(x))) }

// Time writes an instant.
func (w *Writer) Time(t sojourn.Time) { w.Int(int64(t)) }

// Duration writes a length of time.
func (w *Writer) Duration(d time.Duration) { w.Int(int64(d)) }

// String writes a string.
func (w *Writer) String(s string) {
	w.Len(len(s))
	w.buf = append(w.buf, s...)
}

// Binary writes what m appends. m is, for example, a generator of random numbers or another
// policy. An error of m is an error of the snapshot.
func (w *Writer) Binary(m encoding.BinaryAppender) {
	b, err := m.AppendBinary(nil)
	if err != nil {
		w.Fail(err)
		return
	}
	w.Len(len(b))
	w.buf = append(w.buf, b...)
}

// Free writes the free numbers of a table, in the order in which they will be used.
func (w *Writer) Free(list []uint32) {
	for _, i := range list {
		w.Uint(uint64(i))
	}
}

// Flags of the optional parts of the description of a phase.
const (
	hasEstimates = 1 << iota
	hasInputs
	hasBytes
	hasDelays
	hasNeeds
	isHeld
	jobWaits                                                    // in the first phase: the release time and the sequence of the job come after it
	jobRanks                                                    // in the first phase: the priority of the job comes after it, and after what jobWaits adds
	jobIsOpen                                                   // in the first phase: more tasks of the job may come
	allLists  = hasEstimates | hasInputs | hasBytes | hasDelays // of a value for each task
	allParts  = allLists | hasNeeds | isHeld | jobWaits | jobRanks | jobIsOpen
)

// Job writes the description of a job.
func (w *Writer) Job(j *sojourn.Job) {
	w.Uint(uint64(j.ID))
	w.String(j.Name)
	w.String(j.Pool)
	w.Float(j.Weight + 0) // not the negative zero
	w.Time(j.Deadline)
	w.Uint(uint64(j.Parallelism))
	w.Len(len(j.Phases))
	for i := range j.Phases {
		var parts uint64 // of the job, not of the phase
		if i == 0 && (j.Release != 0 || j.Sequence != "") {
			parts |= jobWaits
		}
		if i == 0 && j.Priority != 0 {
			parts |= jobRanks
		}
		if i == 0 && j.Open {
			parts |= jobIsOpen
		}
		w.phase(&j.Phases[i], parts)
		if parts&jobWaits != 0 {
			w.Time(j.Release)
			w.String(j.Sequence)
		}
		if parts&jobRanks != 0 {
			w.Int(int64(j.Priority))
		}
	}
}

// phase writes a phase, with some flags that are set already.
func (w *Writer) phase(p *sojourn.Phase, parts uint64) {
	if p.Estimates != nil {
		parts |= hasEstimates
	}
	if p.Inputs.Len() > 0 {
		parts |= hasInputs
	}
	if p.Bytes != nil {
		parts |= hasBytes
	}
	if p.Delays != nil {
		parts |= hasDelays
	}
	if p.Needs != nil {
		parts |= hasNeeds
	}
	if p.Held {
		parts |= isHeld
	}
	w.Uint(parts)
	w.Len(p.Tasks)
	w.Uint(uint64(p.Class))
	w.Duration(p.Estimate)
	w.Int(int64(p.After))
	if p.Needs != nil {
		w.Len(len(p.Needs))
		for _, k := range p.Needs {
			w.Uint(uint64(k))
		}
	}
	for _, d := range p.Estimates {
		w.Duration(d)
	}
	for i := range p.Inputs.Len() {
		nodes := p.Inputs.Of(i)
		w.Len(len(nodes))
		for _, n := range nodes {
			w.Uint(uint64(n))
		}
	}
	for _, b := range p.Bytes {
		w.Int(b)
	}
	for _, d := range p.Delays {
		w.Duration(d)
	}
}

// Pools writes pools that were changed, which are in the order of their names: see [sojourn.PoolChanged].
func (w *Writer) Pools(list []*sojourn.Pool) {
	w.Len(len(list))
	for _, p := range list {
		w.pool(p)
	}
}

// pool writes how a pool is treated.
func (w *Writer) pool(p *sojourn.Pool) {
	w.String(p.Name)
	w.Float(p.Weight + 0) // not the negative zero
	w.slots(p.Min)
	w.slots(p.Max)
	w.Uint(uint64(p.MaxJobs))
	w.Bool(p.Paused)
}

func (w *Writer) slots(list sojourn.Slots) {
	w.Len(len(list))
	for _, c := range slices.Sorted(maps.Keys(list)) {
		w.Uint(uint64(c))
		w.Uint(uint64(list[c]))
	}
}

// AppendPool appends how a pool is treated to dst. Formats other than snapshots use it.
func AppendPool(dst []byte, p *sojourn.Pool) []byte {
	w := Writer{buf: dst}
	w.pool(p)
	return w.buf
}

// AppendJob appends the description of a job to dst, as [Writer.Job] writes it. Formats other than
// snapshots use it.
func AppendJob(dst []byte, j *sojourn.Job) []byte {
	w := Writer{buf: dst}
	w.Job(j)
	return w.buf
}
