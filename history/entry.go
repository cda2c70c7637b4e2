package history

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
)

// A Kind says what an [Entry] is.
type Kind uint8

const (
	_       Kind = iota
	Header       // a statement about the whole history: Name and Value
	Observe      // a call of Observe: Event, and its answer Err
	Assign       // a call of Assign: At and Slot, and its answer Assignment and OK
)

// An Entry is one line of a history that is neither its first line nor a
// comment. Which fields count depends on Kind.
type Entry struct {
	File string // that it was read from, as the caller of Read named it
	Line int    // in File, from 1; 0 if it was not read
	Kind Kind

	Name, Value string

	Event sojourn.Event
	Err   error // nil, or an error that wraps one of package sojourn

	At         sojourn.Time // of the latest event that the policy accepted
	Slot       sojourn.SlotID
	Assignment sojourn.Assignment
	OK         bool
}

// String returns the line of the entry in its canonical form, without its end:
// equal entries make equal lines, and different ones different lines.
func (e Entry) String() string { return string(e.append(nil)) }

func (e *Entry) append(dst []byte) []byte {
	switch e.Kind {
	case Header:
		dst = append(dst, e.Name...)
		dst = append(dst, ": "...)
		return append(dst, e.Value...)
	case Observe:
		dst = appendTime(dst, e.Event.At)
		dst = appendEvent(dst, &e.Event)
		return appendError(dst, e.Err)
	case Assign:
		dst = appendTime(dst, e.At)
		dst = append(dst, "Assign "...)
		dst = strconv.AppendUint(dst, uint64(e.Slot), 10)
		return e.appendDecision(dst)
	}
	return append(dst, "# an entry without a kind"...)
}

// noTask is the decision to decline.
const noTask = "none"

func (e *Entry) appendDecision(dst []byte) []byte {
	dst = append(dst, " -> "...)
	if !e.OK {
		return append(dst, noTask...)
	}
	a := &e.Assignment
	dst = appendAttempt(dst, a.Task, a.Attempt)
	if a.Slot != e.Slot {
		dst = appendUint(dst, " slot=", a.Slot)
	}
	if a.Source != 0 {
		dst = appendUint(dst, " source=", a.Source)
	}
	if a.Locality != sojourn.AnyNode {
		dst = appendConstant(append(dst, " locality="...), a.Locality, localities)
	}
	return dst
}

// A constant has a name in a history. Other values of its type are numbers there.
type constant[T ~uint8] struct {
	value T
	name  string
}

var (
	localities = []constant[sojourn.Locality]{{sojourn.AnyNode, "any"}, {sojourn.NodeLocal, "node"}, {sojourn.RackLocal, "rack"}, {sojourn.Remote, "remote"}}
	causes     = []constant[sojourn.Cause]{{sojourn.CauseTask, "task"}, {sojourn.CausePreempted, "preempted"}, {sojourn.CauseSlotLost, "slot-lost"}}
)

func appendConstant[T ~uint8](dst []byte, value T, constants []constant[T]) []byte {
	for _, c := range constants {
		if c.value == value {
			return append(dst, c.name...)
		}
	}
	return appendUint(dst, "", value)
}

// appendEvent appends an event without its time: its kind, what it concerns, and
// the fields that are not zero.
func appendEvent(dst []byte, ev *sojourn.Event) []byte {
	dst = append(dst, ev.Kind.String()...)
	switch ev.Kind {
	case sojourn.SlotAdded:
		dst = appendUint(dst, " ", ev.Slot.ID)
		dst = appendField(dst, " node=", ev.Slot.Node)
		dst = appendField(dst, " rack=", ev.Slot.Rack)
		dst = appendField(dst, " class=", ev.Slot.Class)
		dst = appendField(dst, " speed=", ev.Slot.Speed)
	case sojourn.SlotRemoved:
		dst = appendUint(dst, " ", ev.Slot.ID)
	case sojourn.NodeDown, sojourn.NodeUp:
		dst = appendUint(dst, " ", ev.Slot.Node)
		dst = appendField(dst, " rack=", ev.Slot.Rack)
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised, sojourn.JobCancelled:
		if ev.Job == nil {
			return append(dst, " "+noJob...)
		}
		dst = appendUint(dst, " ", ev.Job.ID)
		if ev.Kind == sojourn.JobAdopted && ev.Service != 0 {
			dst = appendDuration(append(dst, " age="...), ev.Service)
		}
		if ev.Kind != sojourn.JobCancelled {
			dst = appendJob(dst, ev.Job)
		}
	case sojourn.PoolChanged:
		return appendPool(append(dst, ' '), ev.Pool)
	case sojourn.TaskHeld, sojourn.TaskReady:
		if dst = append(dst, ' '); ev.Attempt == 0 {
			dst = appendTask(dst, ev.Task)
		} else {
			dst = appendAttempt(dst, ev.Task, ev.Attempt)
		}
	case sojourn.TaskDone:
		dst = appendTask(append(dst, ' '), ev.Task)
	case sojourn.OutputLost:
		dst = appendAttempt(append(dst, ' '), ev.Task, ev.Attempt)
	case sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned:
		dst = appendAttempt(append(dst, ' '), ev.Task, ev.Attempt)
		dst = appendUint(dst, " slot=", ev.Slot.ID)
		if ev.Kind == sojourn.TaskProgress {
			dst = appendField(dst, " progress=", ev.Progress)
		}
		if ev.Kind == sojourn.TaskFailed && ev.Cause != 0 {
			dst = appendConstant(append(dst, " cause="...), ev.Cause, causes)
		}
		if ev.Kind != sojourn.TaskRefused && ev.Kind != sojourn.TaskPinned && ev.Service != 0 {
			dst = appendDuration(append(dst, " service="...), ev.Service)
		}
		if ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskFailed {
			dst = appendField(dst, " cost=", ev.Cost)
		}
	}
	return dst
}

// noJob stands for a Job, or a Pool, that is nil.
const noJob = "nil"

// appendPool appends the name of a pool and the fields that are not zero.
func appendPool(dst []byte, p *sojourn.Pool) []byte {
	if p == nil {
		return append(dst, noJob...)
	}
	dst = appendString(append(dst, "pool="...), p.Name)
	if math.Float64bits(p.Weight) != 0 {
		dst = strconv.AppendFloat(append(dst, " weight="...), p.Weight, 'g', -1, 64)
	}
	dst = appendSlots(dst, " min=", p.Min)
	dst = appendSlots(dst, " max=", p.Max)
	if p.MaxJobs != 0 {
		dst = strconv.AppendInt(append(dst, " max-jobs="...), int64(p.MaxJobs), 10)
	}
	if p.Paused {
		dst = append(dst, " paused="+allTasks...)
	}
	return dst
}

// appendSlots appends numbers of slots by class, such as " max=0:3+2:1".
func appendSlots(dst []byte, key string, list sojourn.Slots) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(dst, key...)
	for i, c := range slices.Sorted(maps.Keys(list)) {
		if i > 0 {
			dst = append(dst, '+')
		}
		dst = strconv.AppendInt(append(strconv.AppendUint(dst, uint64(c), 10), ':'), int64(list[c]), 10)
	}
	return dst
}

// appendJob appends the fields of a job after its ID.
func appendJob(dst []byte, j *sojourn.Job) []byte {
	if j.Name != "" {
		dst = appendString(append(dst, " name="...), j.Name)
	}
	if j.Pool != "" {
		dst = appendString(append(dst, " pool="...), j.Pool)
	}
	if math.Float64bits(j.Weight) != 0 {
		dst = strconv.AppendFloat(append(dst, " weight="...), j.Weight, 'g', -1, 64)
	}
	if j.Priority != 0 {
		dst = strconv.AppendInt(append(dst, " priority="...), int64(j.Priority), 10)
	}
	if j.Deadline != 0 {
		dst = appendDuration(append(dst, " deadline="...), time.Duration(j.Deadline))
	}
	dst = appendField(dst, " parallelism=", j.Parallelism)
	if j.Release != 0 {
		dst = appendDuration(append(dst, " release="...), time.Duration(j.Release))
	}
	if j.Sequence != "" {
		dst = appendString(append(dst, " sequence="...), j.Sequence)
	}
	if j.Open {
		dst = append(dst, " open="+allTasks...)
	}
	for i := range j.Phases {
		dst = appendPhase(append(dst, " | "...), &j.Phases[i])
	}
	return dst
}

func appendPhase(dst []byte, p *sojourn.Phase) []byte {
	dst = strconv.AppendInt(dst, int64(p.Tasks), 10)
	if p.Estimate != 0 {
		dst = appendDuration(append(dst, 'x'), p.Estimate)
	}
	dst = appendField(dst, " class=", p.Class)
	switch {
	case p.After == sojourn.NoBarrier:
		dst = append(dst, " after="+noTask...)
	case p.After != 0:
		dst = strconv.AppendInt(append(dst, " after="...), int64(p.After), 10)
	}
	if p.Needs != nil {
		dst = appendNumbers(append(dst, " needs="...), p.Needs)
	}
	if p.Held {
		dst = append(dst, " held="+allTasks...)
	}
	if p.Estimates != nil {
		dst = appendList(append(dst, " estimates="...), p.Estimates, appendDuration)
	}
	if n := p.Inputs.Len(); n > 0 {
		dst = append(dst, " inputs="...)
		for i := 0; i < n; {
			first := i
			for i++; i < n && slices.Equal(p.Inputs.Of(i), p.Inputs.Of(first)); i++ {
			}
			dst = appendRun(dst, first, i-first)
			dst = appendNumbers(dst, p.Inputs.Of(first))
		}
	}
	if p.Bytes != nil {
		dst = appendList(append(dst, " bytes="...), p.Bytes, func(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) })
	}
	if p.Delays != nil {
		dst = appendList(append(dst, " delays="...), p.Delays, appendDuration)
	}
	return dst
}

// appendList appends values, equal neighbours as one item with their number.
func appendList[T comparable](dst []byte, values []T, one func([]byte, T) []byte) []byte {
	for i := 0; i < len(values); {
		first := i
		for i++; i < len(values) && values[i] == values[first]; i++ {
		}
		dst = one(appendRun(dst, first, i-first), values[first])
	}
	return dst
}

// appendRun appends what comes before a value that stands for n equal ones.
func appendRun(dst []byte, first, n int) []byte {
	if first > 0 {
		dst = append(dst, ',')
	}
	if n > 1 {
		dst = append(strconv.AppendInt(dst, int64(n), 10), 'x')
	}
	return dst
}

// noNumber stands for an empty list of nodes or phases.
const noNumber = "-"

func appendNumbers[T int | sojourn.NodeID](dst []byte, numbers []T) []byte {
	if len(numbers) == 0 {
		return append(dst, noNumber...)
	}
	for i, n := range numbers {
		if i > 0 {
			dst = append(dst, '+')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	return dst
}

// allTasks stands for [sojourn.Phase.Held] and [sojourn.Pool.Paused].
const allTasks = "all"

// sentinels lists the errors of package sojourn, by name, in the order in which
// the first one is reported.
var sentinels = [...]struct {
	name string
	err  error
}{
	{"ErrUnknownKind", sojourn.ErrUnknownKind},
	{"ErrTimeReversed", sojourn.ErrTimeReversed},
	{"ErrInvalidEvent", sojourn.ErrInvalidEvent},
	{"ErrInvalidSlot", sojourn.ErrInvalidSlot},
	{"ErrDuplicateSlot", sojourn.ErrDuplicateSlot},
	{"ErrUnknownSlot", sojourn.ErrUnknownSlot},
	{"ErrNodeState", sojourn.ErrNodeState},
	{"ErrInvalidJob", sojourn.ErrInvalidJob},
	{"ErrDuplicateJob", sojourn.ErrDuplicateJob},
	{"ErrUnknownJob", sojourn.ErrUnknownJob},
	{"ErrCancelledJob", sojourn.ErrCancelledJob},
	{"ErrInvalidRevision", sojourn.ErrInvalidRevision},
	{"ErrInvalidPool", sojourn.ErrInvalidPool},
	{"ErrUnknownTask", sojourn.ErrUnknownTask},
	{"ErrTaskState", sojourn.ErrTaskState},
	{"ErrStaleAttempt", sojourn.ErrStaleAttempt},
	{"ErrSlotBusy", sojourn.ErrSlotBusy},
	{"ErrWrongClass", sojourn.ErrWrongClass},
	{"ErrUnsupported", sojourn.ErrUnsupported},
	{"ErrRejected", sojourn.ErrRejected},
}

// A foreignError stands for an error that wraps no error of package sojourn. No
// policy should return one.
type foreignError string

func (e foreignError) Error() string { return string(e) }

// appendError appends the answer to an event, nothing if it was accepted.
func appendError(dst []byte, err error) []byte {
	if err == nil {
		return dst
	}
	dst = append(dst, " !"...)
	for _, s := range sentinels {
		if !errors.Is(err, s.err) {
			continue
		}
		dst = append(dst, s.name...)
		var r *sojourn.RejectedError
		if s.err == sojourn.ErrRejected && errors.As(err, &r) {
			dst = appendUint(dst, " job=", r.Job)
			dst = appendField(dst, " misses=", r.Misses)
			if r.By != 0 {
				dst = appendDuration(append(dst, " by="...), r.By)
			}
			if r.Offer != 0 {
				dst = appendDuration(append(dst, " offer="...), time.Duration(r.Offer))
			}
			if r.Exact {
				dst = append(dst, " exact=true"...)
			}
		}
		return dst
	}
	return strconv.AppendQuote(dst, err.Error())
}

func appendTask(dst []byte, id sojourn.TaskID) []byte {
	dst = strconv.AppendUint(dst, uint64(id.Job), 10)
	dst = strconv.AppendUint(append(dst, '/'), uint64(id.Phase), 10)
	return strconv.AppendUint(append(dst, '/'), uint64(id.Index), 10)
}

func appendAttempt(dst []byte, id sojourn.TaskID, attempt uint32) []byte {
	return strconv.AppendUint(append(appendTask(dst, id), '#'), uint64(attempt), 10)
}

func appendUint[T ~uint8 | ~uint16 | ~uint32 | ~uint64](dst []byte, before string, n T) []byte {
	return strconv.AppendUint(append(dst, before...), uint64(n), 10)
}

// appendField appends a field unless it is zero.
func appendField[T ~uint8 | ~uint16 | ~uint32 | ~uint64](dst []byte, before string, n T) []byte {
	if n == 0 {
		return dst
	}
	return appendUint(dst, before, n)
}

// appendString appends s, in quotes unless it is a plain word.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && c != '-' && c != '_' && c != '.' && c != '/' {
			return strconv.AppendQuote(dst, s)
		}
	}
	return append(dst, s...)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

func appendTime(dst []byte, t sojourn.Time) []byte {
	return append(appendDuration(append(dst, '@'), time.Duration(t)), ' ')
}

// appendDuration appends d as seconds, or below a millisecond as nanoseconds.
func appendDuration(dst []byte, d time.Duration) []byte {
	ns := uint64(d)
	if d < 0 {
		dst = append(dst, '-')
		ns = -ns
	}
	if 0 < ns && ns < uint64(time.Millisecond) {
		return append(strconv.AppendUint(dst, ns, 10), "ns"...)
	}
	const second = uint64(time.Second)
	dst = strconv.AppendUint(dst, ns/second, 10)
	if ns %= second; ns > 0 {
		dst = append(dst, '.')
		for unit := second / 10; ns > 0; unit /= 10 {
			dst = append(dst, '0'+byte(ns/unit))
			ns %= unit
		}
	}
	return append(dst, 's')
}

// checkHeader returns what is wrong with a header, or "".
func checkHeader(name, value string) string {
	if name == "" || !isLetter(name[0]) {
		return "the name of a header starts with a letter"
	}
	for i := range len(name) {
		if c := name[i]; !isLetter(c) && !isDigit(c) && c != '-' {
			return "the name of a header has letters, digits and - only"
		}
	}
	if value != trimBlanks(value) {
		return "the value of a header starts or ends with white space"
	}
	for _, r := range value {
		if r < ' ' && r != '\t' || r == 0x7f {
			return "the value of a header has a control character"
		}
	}
	if !utf8.ValidString(value) {
		return "the value of a header is not UTF-8"
	}
	return ""
}
