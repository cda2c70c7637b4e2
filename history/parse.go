package history

import (
	"compress/flate"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn"
)

// A fault says what is wrong with a line, and where.
type fault struct {
	off    int // in bytes
	reason string
}

// A parser reads one line word by word.
type parser struct {
	text  string
	tok   string // the current word, "" at the end of the line or of its words
	off   int    // where tok starts
	fault *fault // the first one; there are no words after it
	room  int    // values that the lists of the line may still have
}

func newParser(text string) *parser {
	p := &parser{text: text, room: maxValues}
	p.next()
	return p
}

// next moves to the next word. White space ends a word, except in quotes; a #
// that starts a word starts a comment.
func (p *parser) next() {
	if p.fault != nil {
		return
	}
	i := p.off + len(p.tok)
	for i < len(p.text) && isBlank(p.text[i]) {
		i++
	}
	p.tok, p.off = "", i
	if i < len(p.text) && p.text[i] == '#' {
		return
	}
	for i < len(p.text) && !isBlank(p.text[i]) {
		if p.text[i] != '"' {
			i++
			continue
		}
		quoted, err := strconv.QuotedPrefix(p.text[i:])
		if err != nil {
			p.fail(i, "string without an end, or with an unknown escape")
			return
		}
		i += len(quoted)
	}
	p.tok = p.text[p.off:i]
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func trimBlanks(s string) string { return strings.Trim(s, " \t") }

// fail records a fault, and ends the words of the line.
func (p *parser) fail(off int, format string, args ...any) {
	if p.fault == nil {
		p.fault = &fault{off, fmt.Sprintf(format, args...)}
		p.tok = ""
	}
}

// header reads "name: value", the value up to the end of the line.
func (p *parser) header(e *Entry) {
	name, value, ok := strings.Cut(p.text[p.off:], ":")
	if !ok {
		p.fail(p.off, "want a header such as \"policy: fifo\", a call, which starts with @ and its time, or a comment")
		return
	}
	e.Kind, e.Name, e.Value = Header, trimBlanks(name), trimBlanks(value)
	if reason := checkHeader(e.Name, e.Value); reason != "" {
		p.fail(p.off, "%s", reason)
	}
}

// assignVerb stands in the place of the kind of an event.
const assignVerb = "Assign"

// call reads "@time kind ..." or "@time Assign ...".
func (p *parser) call(e *Entry) {
	at := sojourn.Time(p.value(1).duration())
	p.next()
	if p.tok == assignVerb {
		p.next()
		p.assign(e, at)
	} else {
		e.Kind = Observe
		e.Event.Kind, e.Event.At = p.kind(), at
		p.event(&e.Event)
		e.Err = p.result()
	}
	if p.tok != "" {
		p.fail(p.off, "unexpected %q", brief(p.tok))
	}
}

// kind reads the name of a kind of event.
func (p *parser) kind() sojourn.EventKind {
	word := p.tok
	for k := sojourn.EventKind(1); k.Valid(); k++ {
		if k.String() == word {
			p.next()
			return k
		}
	}
	// Kinds that do not exist are written as numbers.
	if n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(word, "EventKind("), ")"), 10, 8); err == nil {
		if k := sojourn.EventKind(n); k.String() == word {
			p.next()
			return k
		}
	}
	if word == "" {
		p.fail(p.off, "want a kind of event or %s", assignVerb)
	} else {
		p.fail(p.off, "unknown kind of event %q; want one of package sojourn, such as JobArrived, or %s", brief(word), assignVerb)
	}
	return 0
}

// event reads what follows the kind of an event.
func (p *parser) event(ev *sojourn.Event) {
	switch ev.Kind {
	case sojourn.SlotAdded:
		ev.Slot.ID = sojourn.SlotID(p.number("slot", 32))
		p.fields([]string{"node", "rack", "class", "speed"}, func(key string, v value) {
			switch key {
			case "node":
				ev.Slot.Node = sojourn.NodeID(v.uint(32))
			case "rack":
				ev.Slot.Rack = sojourn.RackID(v.uint(32))
			case "class":
				ev.Slot.Class = sojourn.Class(v.uint(16))
			case "speed":
				ev.Slot.Speed = uint16(v.uint(16))
			}
		})
	case sojourn.SlotRemoved:
		ev.Slot.ID = sojourn.SlotID(p.number("slot", 32))
	case sojourn.NodeDown, sojourn.NodeUp:
		ev.Slot.Node = sojourn.NodeID(p.number("node", 32))
		p.fields([]string{"rack"}, func(_ string, v value) { ev.Slot.Rack = sojourn.RackID(v.uint(32)) })
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised, sojourn.JobCancelled:
		if p.tok == noJob {
			p.next()
			return
		}
		ev.Job = &sojourn.Job{ID: sojourn.JobID(p.number("job", 64))}
		if ev.Kind != sojourn.JobCancelled {
			p.job(ev)
		}
	case sojourn.PoolChanged:
		if p.tok == noJob {
			p.next()
			return
		}
		ev.Pool = p.pool()
	case sojourn.TaskHeld, sojourn.TaskReady:
		ev.Task, ev.Attempt = p.task(strings.Contains(p.tok, "#"))
	case sojourn.TaskDone:
		ev.Task, _ = p.task(false)
	case sojourn.OutputLost:
		ev.Task, ev.Attempt = p.task(true)
	case sojourn.TaskAdopted:
		p.report(ev, "slot", "service")
	case sojourn.TaskFinished:
		p.report(ev, "slot", "service", "cost")
	case sojourn.TaskProgress:
		p.report(ev, "slot", "progress", "service")
	case sojourn.TaskFailed:
		p.report(ev, "slot", "cause", "service", "cost")
	case sojourn.TaskRefused, sojourn.TaskPinned:
		p.report(ev, "slot")
	}
}

// report reads the fields of a report about an attempt.
func (p *parser) report(ev *sojourn.Event, keys ...string) {
	ev.Task, ev.Attempt = p.task(true)
	slot := false
	p.fields(keys, func(key string, v value) {
		switch key {
		case "slot":
			slot = true
			ev.Slot.ID = sojourn.SlotID(v.uint(32))
		case "progress":
			ev.Progress = uint16(v.uint(16))
		case "cause":
			ev.Cause = named(v, causes)
		case "service":
			ev.Service = v.duration()
		case "cost":
			ev.Cost = v.uint(64)
		}
	})
	if !slot {
		p.fail(p.off, "want the slot, such as slot=0")
	}
}

// job reads the fields and the phases of a job, and the age of one that is adopted.
func (p *parser) job(ev *sojourn.Event) {
	j, keys := ev.Job, []string{"name", "pool", "weight", "priority", "deadline", "parallelism", "release", "sequence", "open"}
	if ev.Kind == sojourn.JobAdopted {
		keys = append(keys, "age")
	}
	p.fields(keys, func(key string, v value) {
		switch key {
		case "age":
			ev.Service = v.duration()
		case "name":
			j.Name = v.string()
		case "pool":
			j.Pool = v.string()
		case "weight":
			j.Weight = v.float()
		case "priority":
			j.Priority = int32(v.int(32))
		case "deadline":
			j.Deadline = sojourn.Time(v.duration())
		case "parallelism":
			j.Parallelism = uint32(v.uint(32))
		case "release":
			j.Release = sojourn.Time(v.duration())
		case "sequence":
			j.Sequence = v.string()
		case "open":
			j.Open = v.all(key)
		}
	})
	for p.tok == "|" {
		p.next()
		j.Phases = append(j.Phases, p.phase())
	}
}

// pool reads the name and the fields of a pool.
func (p *parser) pool() *sojourn.Pool {
	n, named := new(sojourn.Pool), false
	p.fields([]string{"pool", "weight", "min", "max", "max-jobs", "paused"}, func(key string, v value) {
		switch key {
		case "pool":
			n.Name, named = v.string(), true
		case "weight":
			n.Weight = v.float()
		case "min":
			n.Min = v.slots()
		case "max":
			n.Max = v.slots()
		case "max-jobs":
			n.MaxJobs = int(v.int(strconv.IntSize))
		case "paused":
			n.Paused = v.all(key)
		}
	})
	if !named {
		p.fail(p.off, "want the name of the pool, such as pool=etl")
	}
	return n
}

// phase reads a phase after the bar.
func (p *parser) phase() (ph sojourn.Phase) {
	if p.tok == "" {
		p.fail(p.off, "want a number of tasks, such as 3 or 3x10s")
		return ph
	}
	head := p.value(0)
	if count, estimate, ok := strings.Cut(head.text, "x"); ok {
		ph.Tasks = int(value{p, head.off, count}.int(strconv.IntSize))
		ph.Estimate = value{p, head.off + len(count) + 1, estimate}.duration()
	} else {
		ph.Tasks = int(head.int(strconv.IntSize))
	}
	p.next()
	p.fields([]string{"class", "after", "needs", "held", "estimates", "inputs", "bytes", "delays"}, func(key string, v value) {
		switch key {
		case "class":
			ph.Class = sojourn.Class(v.uint(16))
		case "after":
			if ph.After = sojourn.NoBarrier; v.text != noTask {
				ph.After = int(v.int(strconv.IntSize))
			}
		case "needs":
			ph.Needs = numbers(v, func(v value) int { return int(v.int(strconv.IntSize)) })
			if ph.Needs == nil {
				ph.Needs = []int{}
			}
		case "held":
			ph.Held = v.all(key)
		case "estimates":
			ph.Estimates = list(v, value.duration, one)
		case "inputs":
			ph.Inputs = sojourn.MakeInputs(list(v, value.nodes, func(ids []sojourn.NodeID) int { return 1 + len(ids) }))
		case "bytes":
			ph.Bytes = list(v, func(v value) int64 { return v.int(64) }, one)
		case "delays":
			ph.Delays = list(v, value.duration, one)
		}
	})
	return ph
}

// assign reads what follows Assign.
func (p *parser) assign(e *Entry, at sojourn.Time) {
	e.Kind, e.At = Assign, at
	e.Slot = sojourn.SlotID(p.number("slot", 32))
	if p.tok != "->" {
		p.fail(p.off, "want -> and the decision")
		return
	}
	p.next()
	if p.tok == noTask {
		p.next()
		return
	}
	e.OK = true
	a := &e.Assignment
	a.Slot = e.Slot
	a.Task, a.Attempt = p.task(true)
	p.fields([]string{"slot", "source", "locality"}, func(key string, v value) {
		switch key {
		case "slot":
			a.Slot = sojourn.SlotID(v.uint(32))
		case "source":
			a.Source = sojourn.NodeID(v.uint(32))
		case "locality":
			a.Locality = named(v, localities)
		}
	})
}

// result reads the answer to an event: nothing, or "!" and an error.
func (p *parser) result() error {
	name, ok := strings.CutPrefix(p.tok, "!")
	if !ok {
		return nil
	}
	v := p.value(1)
	if strings.HasPrefix(name, `"`) {
		text := v.string()
		p.next()
		return foreignError(text)
	}
	for _, s := range sentinels {
		if s.name != name {
			continue
		}
		p.next()
		if s.err == sojourn.ErrRejected {
			return p.rejection()
		}
		return s.err
	}
	p.fail(v.off, "unknown error %q; want one of package sojourn, such as ErrUnknownJob", brief(name))
	return nil
}

// rejection reads the fields of a RejectedError, if any.
func (p *parser) rejection() error {
	var r sojourn.RejectedError
	any := false
	p.fields([]string{"job", "misses", "by", "offer", "exact"}, func(key string, v value) {
		any = true
		switch key {
		case "job":
			r.Job = sojourn.JobID(v.uint(64))
		case "misses":
			r.Misses = sojourn.JobID(v.uint(64))
		case "by":
			r.By = v.duration()
		case "offer":
			r.Offer = sojourn.Time(v.duration())
		case "exact":
			if r.Exact = v.text == "true"; !r.Exact && v.text != "false" {
				v.p.fail(v.off, "want true or false, found %q", brief(v.text))
			}
		}
	})
	if !any {
		return sojourn.ErrRejected
	}
	return &r
}

// number reads a word that is a number.
func (p *parser) number(what string, bits int) uint64 {
	if p.tok == "" {
		p.fail(p.off, "want the number of a %s", what)
		return 0
	}
	n := p.value(0).uint(bits)
	p.next()
	return n
}

// task reads job/phase/index, and #attempt if attempt is set.
func (p *parser) task(attempt bool) (id sojourn.TaskID, number uint32) {
	form := "job/phase/index"
	if attempt {
		form += "#attempt"
	}
	v := p.value(0)
	text, tries, counted := strings.Cut(v.text, "#")
	job, rest, _ := strings.Cut(text, "/")
	phase, index, ok := strings.Cut(rest, "/")
	if !ok || counted != attempt {
		p.fail(v.off, "want a task as %s, found %q", form, brief(v.text))
		return id, 0
	}
	off := v.off
	part := func(text string, bits int) uint64 {
		n := value{p, off, text}.uint(bits)
		off += len(text) + 1
		return n
	}
	id.Job = sojourn.JobID(part(job, 64))
	id.Phase = uint16(part(phase, 16))
	id.Index = uint32(part(index, 32))
	if attempt {
		number = uint32(part(tries, 32))
	}
	p.next()
	return id, number
}

// fields reads words key=value, each key at most once, and calls set for each.
func (p *parser) fields(keys []string, set func(key string, v value)) {
	seen := 0
	for p.tok != "" && isLetter(p.tok[0]) {
		key, _, ok := strings.Cut(p.tok, "=")
		i := slices.Index(keys, key)
		switch {
		case !ok:
			p.fail(p.off, "unexpected %q", brief(p.tok))
			return
		case i < 0:
			p.fail(p.off, "unknown field %q; known are %s", brief(key), strings.Join(keys, ", "))
			return
		case seen&(1<<i) != 0:
			p.fail(p.off, "duplicate field %q", key)
			return
		}
		seen |= 1 << i
		set(key, p.value(len(key)+1))
		p.next()
	}
}

// isFlate reports whether err is an error of broken compressed data.
func isFlate(err error) bool {
	var corrupt flate.CorruptInputError
	var internal flate.InternalError
	return errors.As(err, &corrupt) || errors.As(err, &internal)
}
