package snapshot

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A Reader reads what a [Writer] has written, in the same order. After an error it
// returns zero values.
type Reader struct {
	rest []byte
	size int
	err  error
}

// Err returns the first error so far. Only code that cannot go on with zero values needs
// to ask; [Restore] asks at the end.
func (r *Reader) Err() error { return r.err }

// Fail makes [Restore] fail, at this place, because of an impossible value.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: %w", r.size-len(r.rest), fmt.Errorf(format, args...))
		r.rest = nil
	}
}

// Check fails unless ok, which tests the value that was read last. It reports whether
// nothing is wrong so far.
func (r *Reader) Check(ok bool, what string) bool {
	if !ok {
		r.Fail("%s", what)
	}
	return r.err == nil
}

// Uint reads a number.
func (r *Reader) Uint() uint64 {
	x, n := binary.Uvarint(r.rest)
	if n <= 0 || n > 1 && r.rest[n-1] == 0 {
		r.Fail("no number")
		return 0
	}
	r.rest = r.rest[n:]
	return x
}

// Int reads a number that may be negative.
func (r *Reader) Int() int64 {
	x := r.Uint()
	return int64(x>>1) ^ -int64(x&1)
}

// Native reads a number that may be negative and must fit into an int, which has 32 bits
// on some platforms. It returns 0 if it does not fit.
func (r *Reader) Native() int {
	if x := r.Int(); r.Check(int64(int(x)) == x, "a number is out of range") {
		return int(x)
	}
	return 0
}

// Below reads a number that must be below n. It returns 0 if it is not.
func (r *Reader) Below(n uint64) uint64 {
	if x := r.Uint(); r.Check(x < n, "a number is out of range") {
		return x
	}
	return 0
}

// Index reads a number that must be below n. It returns 0 if it is not. n is not
// negative.
func (r *Reader) Index(n int) int { return int(r.Below(uint64(n))) }

// Count reads how often something has happened. The count can still double without
// overflow.
func (r *Reader) Count() int { return r.Index(maxCount + 1) }

// Seq reads the latest of some sequence numbers. As many more can follow without
// overflow.
func (r *Reader) Seq() uint64 { return r.Below(maxSeq) }

// Len reads how many elements follow. Each takes at least a byte; it returns 0 if there
// are not enough bytes.
func (r *Reader) Len() int {
	if n := r.Uint(); r.Check(n <= uint64(len(r.rest)), "more elements than bytes") {
		return int(n)
	}
	return 0
}

// Bool reads a truth value.
func (r *Reader) Bool() bool { return r.Below(2) == 1 }

// Float reads a floating point number. NaN is an error.
func (r *Reader) Float() float64 {
	x := math.Float64frombits(bits.ReverseBytes64(r.Uint()))
	if r.Check(x == x, "not a number") {
		return x
	}
	return 0
}

// Time reads an instant. A negative one is an error.
func (r *Reader) Time() sojourn.Time {
	if t := r.Int(); r.Check(t >= 0, "a time is negative") {
		return sojourn.Time(t)
	}
	return 0
}

// Duration reads a length of time.
func (r *Reader) Duration() time.Duration { return time.Duration(r.Int()) }

// bytes reads a list of bytes. The result shares memory with the snapshot.
func (r *Reader) bytes() []byte {
	n := r.Len()
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// String reads a string.
func (r *Reader) String() string { return string(r.bytes()) }

// Binary lets m read what [Writer.Binary] has written. m must not keep the slice.
func (r *Reader) Binary(m encoding.BinaryUnmarshaler) {
	if b := r.bytes(); r.err == nil {
		if err := m.UnmarshalBinary(b); err != nil {
			r.Fail("%w", err)
		}
	}
}

// Free reads what [Writer.Free] has written about a table of n. It tests that the list
// has all free numbers and no others.
func (r *Reader) Free(n int, isFree func(int) bool) []uint32 {
	var list []uint32
	free := make([]bool, n)
	for i := range free {
		if free[i] = isFree(i); free[i] {
			list = append(list, 0)
		}
	}
	for i := range list {
		x := r.Below(uint64(n))
		if r.err != nil || !r.Check(free[x], "a number is not free") {
			return nil
		}
		free[x] = false
		list[i] = uint32(x)
	}
	return list
}

// Job reads a valid description of a job; nil after an error.
func (r *Reader) Job() *sojourn.Job {
	j := &sojourn.Job{
		ID:          sojourn.JobID(r.Uint()),
		Name:        r.String(),
		Pool:        r.String(),
		Weight:      r.Float(),
		Deadline:    r.Time(),
		Parallelism: uint32(r.Below(1 << 32)),
	}
	j.Phases = make([]sojourn.Phase, r.Len())
	for i := range j.Phases {
		parts := r.phase(&j.Phases[i])
		if parts&jobWaits != 0 {
			j.Release, j.Sequence = r.Time(), r.String()
			r.Check(i == 0 && (j.Release != 0 || j.Sequence != ""), "a job waits for nothing")
		}
		if parts&jobRanks != 0 {
			priority := r.Int()
			j.Priority = int32(priority)
			r.Check(i == 0 && priority != 0 && int64(j.Priority) == priority, "a priority is out of range, or said where there is none")
		}
		if parts&jobIsOpen != 0 {
			j.Open = true
			r.Check(i == 0, "a job is open where that is not said")
		}
		if r.err != nil {
			return nil
		}
	}
	if err := j.Check(); err != nil {
		r.Fail("%v", err)
		return nil
	}
	if !r.Check(!math.Signbit(j.Weight), "a weight is the negative zero") {
		return nil
	}
	return j
}

// Pools reads what [Writer.Pools] has written: valid pools in the order of their names, each of which says more than a name.
func (r *Reader) Pools() (list []*sojourn.Pool) {
	for i := range r.Len() {
		p := r.pool()
		if p == nil || !r.Check(!p.IsZero() && (i == 0 || p.Name > list[i-1].Name), "a pool was not changed, or is out of order") {
			return nil
		}
		list = append(list, p)
	}
	return list
}

// pool reads how a pool is treated, if that is valid; nil after an error.
func (r *Reader) pool() *sojourn.Pool {
	p := &sojourn.Pool{Name: r.String(), Weight: r.Float(), Min: r.slots(), Max: r.slots(), MaxJobs: int(r.Below(sojourn.MaxTasks + 1)), Paused: r.Bool()}
	if r.err != nil {
		return nil
	}
	if err := p.Check(); err != nil {
		r.Fail("%v", err)
		return nil
	}
	if !r.Check(!math.Signbit(p.Weight), "a weight is the negative zero") {
		return nil
	}
	return p
}

func (r *Reader) slots() (list sojourn.Slots) {
	last := -1
	for range r.Len() {
		c, n := r.Index(sojourn.MaxClasses), r.Index(sojourn.MaxSlots+1)
		if r.err != nil || !r.Check(c > last, "classes are not in order") {
			return nil
		}
		if last = c; list == nil {
			list = sojourn.Slots{}
		}
		list[sojourn.Class(c)] = n
	}
	return list
}

// DecodePool reads what [AppendPool] has appended. It is an error if anything is left over.
func DecodePool(data []byte) (*sojourn.Pool, error) {
	r := Reader{rest: data, size: len(data)}
	p := r.pool()
	r.Check(len(r.rest) == 0, "bytes are left over")
	return p, r.err
}

// phase reads a phase, and returns its flags, some of which say that parts of its job come after it.
func (r *Reader) phase(p *sojourn.Phase) (parts uint64) {
	parts = r.Below(allParts + 1)
	p.Tasks = int(r.Below(sojourn.MaxTasks + 1)) // MaxTasks fits into 32 bits
	p.Class = sojourn.Class(r.Below(sojourn.MaxClasses))
	p.Estimate = r.Duration()
	p.After = r.Native()
	if parts&hasNeeds != 0 {
		p.Needs = make([]int, r.Len())
		for i := range p.Needs {
			p.Needs[i] = int(r.Below(sojourn.MaxPhases))
		}
	}
	p.Held = parts&isHeld != 0
	if parts&allLists != 0 && !r.Check(p.Tasks <= len(r.rest), "fewer values than tasks") {
		return 0
	}
	if parts&hasEstimates != 0 {
		p.Estimates = r.durations(p.Tasks)
	}
	if parts&hasInputs != 0 {
		p.Inputs = r.inputs(p.Tasks)
	}
	if parts&hasBytes != 0 {
		p.Bytes = make([]int64, p.Tasks)
		for i := range p.Bytes {
			p.Bytes[i] = r.Int()
		}
	}
	if parts&hasDelays != 0 {
		p.Delays = r.durations(p.Tasks)
	}
	return parts
}

func (r *Reader) durations(n int) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = r.Duration()
	}
	return list
}

func (r *Reader) inputs(tasks int) sojourn.Inputs {
	lists := make([][]sojourn.NodeID, tasks)
	some := false
	for i := range lists {
		if n := r.Len(); n > 0 {
			lists[i] = make([]sojourn.NodeID, n)
			some = true
		}
		for k := range lists[i] {
			lists[i][k] = sojourn.NodeID(r.Below(1 << 32))
		}
	}
	r.Check(some, "no inputs")
	return sojourn.MakeInputs(lists)
}

// DecodeJob reads what [AppendJob] has appended. It is an error if anything is left over.
func DecodeJob(data []byte) (*sojourn.Job, error) {
	r := Reader{rest: data, size: len(data)}
	j := r.Job()
	r.Check(len(r.rest) == 0, "bytes are left over")
	return j, r.err
}
