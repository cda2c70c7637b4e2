package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A segment begins with a line that names the format and its version. Then come records:
//
//	length    varint, of the body
//	checksum  4 bytes: CRC-32C of the body, least significant byte first
//	body      a byte that says what it is, then fields
//
// Numbers are unsigned varints unless said otherwise. Kinds below firstOther are events, with the
// number of their [sojourn.EventKind].
const (
	firstLine = "sojourn journal 1\n"

	firstOther = 64
)

const (
	kindAssign  = firstOther + iota // time, task, attempt, slot, source, locality
	kindHead                        // segment, epoch (signed, Unix nanoseconds), largest job ID, name of the policy, the trace that the state stands for, if there is one
	kindPolicy                      // the snapshot of the policy, if it has one
	kindBegin                       // how many facts came before; what comes after was appended
	kindMark                        // its own offset, and the offset before which all is synced
	kindEnd                         // the number of the next segment
	kindAttach                      // job, and bytes that belong to it; none: no longer
	kindKeep                        // length of a key, the key, and bytes that are kept under it; none: no longer
	kindFollows                     // of a segment that begins with the state at the end of the one before: its number, the time, and its trace
	kindNames                       // of policies that a swap has put in force, one for each shadow inside: the length and the name; none: there was no swap
)

// sumSize is how many bytes a checksum takes.
const sumSize = 4

func checksum(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkLine returns how many bytes the first line takes, or an error.
func checkLine(data []byte) (int, error) {
	if strings.HasPrefix(string(data[:min(len(data), len(firstLine))]), firstLine) {
		return len(firstLine), nil
	}
	words := strings.Fields(string(data[:min(len(data), 2*len(firstLine))]))
	if len(words) > 2 && words[0] == "sojourn" && words[1] == "journal" {
		if v, err := strconv.Atoi(words[2]); err == nil && v > 1 {
			return 0, fmt.Errorf("%w: its format is %d, this version knows 1", ErrVersion, v)
		}
	}
	return 0, errors.New("this is no segment of a journal: it does not begin with " + strconv.Quote(firstLine))
}

// An encoder appends records. Times are written as differences to the time before.
type encoder struct {
	buf   []byte
	last  sojourn.Time
	trace trace
}

// A trace tells the records that were appended to a segment from others, or from fewer: files of two copies of a journal may have
// been put together.
type trace uint32

// add adds a record, of which it gets the checksum.
func (t *trace) add(sum uint32) { *t = *t*16777619 + trace(sum) + 1 }

// room is how many bytes are kept for the length of a record until it is known.
const room = 1

// begin begins a record, and returns where.
func (e *encoder) begin(kind byte) int {
	at := len(e.buf)
	e.buf = append(e.buf, 0, 0, 0, 0, 0, kind)
	return at
}

// end ends the record that begins at a place.
func (e *encoder) end(at int) {
	n := len(e.buf) - at - room - sumSize
	if n >= 1<<7 { // the length takes more than a byte: make room
		var length [binary.MaxVarintLen64]byte
		k := binary.PutUvarint(length[:], uint64(n))
		e.buf = append(e.buf, length[:k-room]...)
		copy(e.buf[at+k:], e.buf[at+room:len(e.buf)-k+room])
		copy(e.buf[at:], length[:k])
		at += k
	} else {
		e.buf[at] = byte(n)
		at += room
	}
	sum := checksum(e.buf[at+sumSize:])
	binary.LittleEndian.PutUint32(e.buf[at:], sum)
	e.trace.add(sum)
}

func (e *encoder) uint(x uint64) { e.buf = binary.AppendUvarint(e.buf, x) }

func (e *encoder) time(t sojourn.Time) {
	e.uint(uint64(t - e.last))
	e.last = t
}

func (e *encoder) task(t sojourn.TaskID) {
	e.uint(uint64(t.Job))
	e.uint(uint64(t.Phase))
	e.uint(uint64(t.Index))
}

// event appends an event that a policy has accepted: the fields that its kind uses.
func (e *encoder) event(ev *sojourn.Event) {
	at := e.begin(byte(ev.Kind))
	e.time(ev.At)
	switch ev.Kind {
	case sojourn.SlotAdded:
		e.uint(uint64(ev.Slot.ID))
		e.uint(uint64(ev.Slot.Node))
		e.uint(uint64(ev.Slot.Rack))
		e.uint(uint64(ev.Slot.Class))
		if ev.Slot.Speed != 0 { // journals that have none are as they were before there were speeds
			e.uint(uint64(ev.Slot.Speed))
		}
	case sojourn.SlotRemoved:
		e.uint(uint64(ev.Slot.ID))
	case sojourn.NodeDown, sojourn.NodeUp:
		e.uint(uint64(ev.Slot.Node))
		e.uint(uint64(ev.Slot.Rack))
	case sojourn.JobArrived, sojourn.JobRevised:
		e.buf = snapshot.AppendJob(e.buf, ev.Job)
	case sojourn.JobAdopted:
		e.uint(uint64(ev.Service))
		e.buf = snapshot.AppendJob(e.buf, ev.Job)
	case sojourn.JobCancelled:
		e.uint(uint64(ev.Job.ID))
	case sojourn.PoolChanged:
		e.buf = snapshot.AppendPool(e.buf, ev.Pool)
	case sojourn.TaskDone:
		e.task(ev.Task)
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.OutputLost:
		e.task(ev.Task)
		e.uint(uint64(ev.Attempt))
	case sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned:
		e.task(ev.Task)
		e.uint(uint64(ev.Attempt))
		e.uint(uint64(ev.Slot.ID))
		if ev.Kind != sojourn.TaskRefused && ev.Kind != sojourn.TaskPinned {
			e.uint(uint64(ev.Service))
		}
		switch ev.Kind {
		case sojourn.TaskProgress:
			e.uint(uint64(ev.Progress))
		case sojourn.TaskFailed:
			e.uint(uint64(ev.Cause))
		}
		if ev.Cost != 0 && hasCost(ev.Kind) {
			e.uint(ev.Cost)
		}
	}
	e.end(at)
}

// assign appends a decision at the time of the latest event.
func (e *encoder) assign(a *sojourn.Assignment) {
	at := e.begin(kindAssign)
	e.task(a.Task)
	e.uint(uint64(a.Attempt))
	e.uint(uint64(a.Slot))
	e.uint(uint64(a.Source))
	e.uint(uint64(a.Locality))
	e.end(at)
}

// A head is what a segment begins with.
type head struct {
	segment uint64
	epoch   int64 // in Unix nanoseconds
	maxJob  sojourn.JobID
	name    string   // of the policy
	trace   trace    // of the records in whose place the state stands; 0: there were none
	names   []string // of policies in force, by shadow; nil: those of the code
}

func (e *encoder) head(h *head) {
	at := e.begin(kindHead)
	e.uint(h.segment)
	e.buf = binary.AppendVarint(e.buf, h.epoch)
	e.uint(uint64(h.maxJob))
	e.uint(uint64(len(h.name)))
	e.buf = append(e.buf, h.name...)
	if h.trace != 0 {
		e.uint(uint64(h.trace))
	}
	e.end(at)
	if h.names != nil {
		at := e.begin(kindNames)
		for _, name := range h.names {
			e.uint(uint64(len(name)))
			e.buf = append(e.buf, name...)
		}
		e.end(at)
	}
}

// numbers appends a record of numbers.
func (e *encoder) numbers(kind byte, list ...uint64) {
	at := e.begin(kind)
	for _, x := range list {
		e.uint(x)
	}
	e.end(at)
}

// attach appends bytes that belong to a job.
func (e *encoder) attach(id sojourn.JobID, data []byte) {
	at := e.begin(kindAttach)
	e.uint(uint64(id))
	e.buf = append(e.buf, data...)
	e.end(at)
}

// keepBytes appends bytes that are kept under a key.
func (e *encoder) keepBytes(key string, data []byte) {
	at := e.begin(kindKeep)
	e.uint(uint64(len(key)))
	e.buf = append(e.buf, key...)
	e.buf = append(e.buf, data...)
	e.end(at)
}

// A decoder reads the body of a record.
type decoder struct {
	b    []byte
	bad  bool
	last sojourn.Time
}

func (d *decoder) uint() uint64 {
	if len(d.b) > 0 && d.b[0] < 1<<7 {
		x := d.b[0]
		d.b = d.b[1:]
		return uint64(x)
	}
	x, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return x
}

// below reads a number that is at most limit.
func (d *decoder) atMost(limit uint64) uint64 {
	x := d.uint()
	d.bad = d.bad || x > limit
	return x
}

func (d *decoder) int() int64 {
	x := d.uint()
	return int64(x>>1) ^ -int64(x&1)
}

func (d *decoder) time() sojourn.Time {
	d.last += sojourn.Time(d.atMost(uint64(math.MaxInt64 - d.last)))
	return d.last
}

func (d *decoder) task() sojourn.TaskID {
	return sojourn.TaskID{
		Job:   sojourn.JobID(d.uint()),
		Phase: uint16(d.atMost(math.MaxUint16)),
		Index: uint32(d.atMost(math.MaxUint32)),
	}
}

func (d *decoder) uint32() uint32 { return uint32(d.atMost(math.MaxUint32)) }

func (d *decoder) service() time.Duration { return time.Duration(d.atMost(math.MaxInt64)) }

// job reads a description, which takes the rest of the body.
func (d *decoder) job() *sojourn.Job {
	j, err := snapshot.DecodeJob(d.b)
	d.bad = d.bad || err != nil
	d.b = nil
	return j
}

// pool reads how a pool is treated, which takes the rest of the body.
func (d *decoder) pool() *sojourn.Pool {
	p, err := snapshot.DecodePool(d.b)
	d.bad = d.bad || err != nil
	d.b = nil
	return p
}

// event reads what follows the byte that says what it is.
func (d *decoder) event(kind sojourn.EventKind, ev *sojourn.Event) {
	*ev = sojourn.Event{Kind: kind, At: d.time()}
	switch kind {
	case sojourn.SlotAdded:
		ev.Slot.ID = sojourn.SlotID(d.uint32())
		ev.Slot.Node = sojourn.NodeID(d.uint32())
		ev.Slot.Rack = sojourn.RackID(d.uint32())
		ev.Slot.Class = sojourn.Class(d.atMost(math.MaxUint16))
		if len(d.b) > 0 {
			ev.Slot.Speed = uint16(d.atMost(math.MaxUint16))
		}
	case sojourn.SlotRemoved:
		ev.Slot.ID = sojourn.SlotID(d.uint32())
	case sojourn.NodeDown, sojourn.NodeUp:
		ev.Slot.Node = sojourn.NodeID(d.uint32())
		ev.Slot.Rack = sojourn.RackID(d.uint32())
	case sojourn.JobArrived, sojourn.JobRevised:
		ev.Job = d.job()
	case sojourn.JobAdopted:
		ev.Service = d.service()
		ev.Job = d.job()
	case sojourn.JobCancelled:
		ev.Job = &sojourn.Job{ID: sojourn.JobID(d.uint())}
	case sojourn.PoolChanged:
		ev.Pool = d.pool()
	case sojourn.TaskDone:
		ev.Task = d.task()
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.OutputLost:
		ev.Task, ev.Attempt = d.task(), d.uint32()
	case sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned:
		ev.Task, ev.Attempt, ev.Slot.ID = d.task(), d.uint32(), sojourn.SlotID(d.uint32())
		if kind != sojourn.TaskRefused && kind != sojourn.TaskPinned {
			ev.Service = d.service()
		}
		switch kind {
		case sojourn.TaskProgress:
			ev.Progress = uint16(d.atMost(math.MaxUint16))
		case sojourn.TaskFailed:
			ev.Cause = sojourn.Cause(d.atMost(math.MaxUint8))
		}
		if len(d.b) > 0 && hasCost(kind) {
			ev.Cost = d.uint()
		}
	}
}

// hasCost reports whether an event tells of what an attempt has cost. Zero is left out.
func hasCost(k sojourn.EventKind) bool { return k == sojourn.TaskFinished || k == sojourn.TaskFailed }

func (d *decoder) assign(a *sojourn.Assignment) {
	*a = sojourn.Assignment{
		Task: d.task(), Attempt: d.uint32(), Slot: sojourn.SlotID(d.uint32()),
		Source: sojourn.NodeID(d.uint32()), Locality: sojourn.Locality(d.atMost(math.MaxUint8)),
	}
}

// attach reads bytes that belong to a job; they are part of what is read.
func (d *decoder) attach() (sojourn.JobID, []byte) {
	id := sojourn.JobID(d.uint())
	data := d.b
	d.b = nil
	return id, data
}

// keep reads a key and the bytes that are kept under it; they are part of what is read.
func (d *decoder) keep() (string, []byte) {
	key, data := d.text(), d.b
	d.b = nil
	return key, data
}

// text reads a string with its length before it.
func (d *decoder) text() (s string) {
	n := d.uint()
	if d.bad = d.bad || n > uint64(len(d.b)); !d.bad {
		s, d.b = string(d.b[:n]), d.b[n:]
	}
	return s
}

func (d *decoder) head() (h head) {
	h.segment, h.epoch, h.maxJob = d.uint(), d.int(), sojourn.JobID(d.uint())
	if h.name = d.text(); len(d.b) > 0 {
		h.trace = trace(d.uint32())
	}
	return h
}
