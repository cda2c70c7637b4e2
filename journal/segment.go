package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// A segment is read from its beginning to where it is whole.
type segment struct {
	file   string
	number uint64
	data   []byte
	from   int64 // where data begins: a journal that follows keeps what it has not used
	at     int64 // of the next record
	dec    decoder

	head   head
	policy []byte                    // its snapshot; nil if there is none
	facts  heap.Table[sojourn.Event] // there may be millions
	owned  attachments
	unborn []sojourn.JobID // those with attachments that have not arrived
	kept   keys
	body   int64 // where what was appended begins
	trace  trace // of what was appended and read

	ended   uint64 // the number of the next segment, if this one was ended
	endedAt int64  // where it says so
	follows bool   // it has no state of its own: it begins with that at the end of the one before
	after   *trace // of the one before, if it follows that, and says so
	torn    bool   // what follows at is the rest of a write that never ended
}

// openSegment reads the head of a segment.
func openSegment(s Store, number uint64) (*segment, error) {
	data, err := s.Read(number)
	if err != nil {
		return nil, visible.Errorf("journal: %w", err)
	}
	g := &segment{file: s.Name(number), number: number, data: data}
	n, err := checkLine(data)
	if errors.Is(err, ErrVersion) {
		return nil, visible.Errorf("journal: %s: %w", g.file, err)
	} else if err != nil {
		return nil, g.damage("%v", err)
	}
	g.at = int64(n)
	if err := g.readHead(); err != nil {
		return nil, err
	}
	g.body = g.at
	return g, nil
}

// readHead reads the records up to kindBegin. A head is whole and synced before a segment counts, so
// whatever is wrong in it is damage.
func (g *segment) readHead() error {
	var jobs, attached []sojourn.JobID
	for first := true; ; first = false {
		body, size := g.record(g.at)
		if body == nil {
			return g.damage("the record is damaged")
		}
		d := &g.dec
		kind := body[0]
		d.b, d.bad = body[1:], false
		begin := false
		switch {
		case first != (kind == kindHead):
			return g.damage("the segment does not begin with a head")
		case kind == kindHead:
			g.head = d.head()
			g.trace = g.head.trace
			d.bad = d.bad || g.head.segment != g.number
		case kind == kindNames:
			for len(d.b) > 0 {
				g.head.names = append(g.head.names, d.text())
			}
			d.bad = d.bad || len(g.head.names) == 0
		case kind == kindFollows:
			d.bad = d.uint() != g.number-1 || d.bad
			d.last, g.follows = sojourn.Time(d.atMost(math.MaxInt64)), true
			if len(d.b) > 0 { // journals of before have none
				t := trace(d.uint32())
				g.after = &t
			}
		case kind == kindPolicy:
			g.policy, d.b = d.b[:len(d.b):len(d.b)], nil
		case kind == kindBegin:
			begin = true
			d.bad = d.uint() != uint64(g.facts.Len()) || d.bad
		case kind == kindAttach:
			id, data := d.attach()
			g.owned.set(id, data)
			attached = append(attached, id)
		case kind == kindKeep:
			g.kept.set(d.keep())
		case sojourn.EventKind(kind).Valid():
			var ev sojourn.Event
			d.event(sojourn.EventKind(kind), &ev)
			g.facts.Append(ev)
			if ev.Job != nil {
				jobs = append(jobs, ev.Job.ID)
			}
		default:
			return g.unknown(kind)
		}
		if d.bad || len(d.b) > 0 {
			return g.damage("the record makes no sense")
		}
		g.at += size
		if begin {
			g.unborn = without(attached, jobs)
			return nil
		}
	}
}

// without returns the IDs of a list that are not in another one. Both are in order as a rule: a million are compared faster than looked up.
func without(list, other []sojourn.JobID) (rest []sojourn.JobID) {
	for _, l := range [][]sojourn.JobID{list, other} {
		if !slices.IsSorted(l) {
			slices.Sort(l)
		}
	}
	for _, id := range list {
		for len(other) > 0 && other[0] < id {
			other = other[1:]
		}
		if len(other) == 0 || other[0] != id {
			rest = append(rest, id)
		}
	}
	return rest
}

// told iterates over the facts.
func (g *segment) told() iter.Seq[sojourn.Event] {
	return func(yield func(sojourn.Event) bool) {
		for _, ev := range g.facts.All() {
			if !yield(ev) {
				return
			}
		}
	}
}

// record returns the body of the record at an offset, and the size of the record; nil if there is no
// whole record.
func (g *segment) record(at int64) ([]byte, int64) {
	rest := g.data[at-g.from:]
	n, k := uint64(0), 1
	if len(rest) > 0 && rest[0] < 1<<7 {
		n = uint64(rest[0])
	} else if n, k = binary.Uvarint(rest); k <= 0 {
		return nil, 0
	}
	rest = rest[k:]
	if n == 0 || n > math.MaxInt64-sumSize || uint64(len(rest)) < n+sumSize {
		return nil, 0
	}
	body := rest[sumSize : sumSize+n : sumSize+n]
	if checksum(body) != binary.LittleEndian.Uint32(rest) {
		return nil, 0
	}
	return body, int64(k) + sumSize + int64(n)
}

// end returns where data ends.
func (g *segment) end() int64 { return g.from + int64(len(g.data)) }

// A chain is segments each of which follows the one before. The first one has a state.
type chain []*segment

// openChain reads the heads of a chain, by the number of its last segment.
func openChain(s Store, number uint64) (chain, error) {
	var c chain
	for {
		g, err := openSegment(s, number)
		if err != nil && len(c) > 0 && errors.Is(err, fs.ErrNotExist) {
			return nil, gap(s, number)
		}
		if err != nil {
			return nil, err
		}
		c = append(c, g)
		if !g.follows {
			slices.Reverse(c)
			return c, nil
		}
		number--
	}
}

func (c chain) last() *segment { return c[len(c)-1] }

// clone returns a chain to be read from its beginning.
func (c chain) clone() chain {
	d := make(chain, len(c))
	for i, g := range c {
		h := *g
		d[i] = &h
	}
	return d
}

// read is that of each segment, and sets at to the one that it reads. All but the last one are whole, since each was synced before
// the next one began. A segment that the next one does not follow is one of another copy of the journal.
func (c chain) read(v visitor, at **segment) error {
	for i, g := range c {
		*at = g
		if err := g.read(v); err != nil {
			return err
		}
		if i+1 == len(c) {
			break
		}
		if g.torn {
			return g.damage("the record is damaged")
		}
		if err := g.precedes(c[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// precedes returns an error if the next segment says that this one, which was read, ends otherwise.
func (g *segment) precedes(next *segment) error {
	if next.after == nil || *next.after == g.trace {
		return nil
	}
	return g.damage("the next segment goes on from another end of this one: they are of two copies of the journal, or of two times")
}

// missing returns the error for the newest segment, which says that another one follows.
func (g *segment) missing(s Store) error {
	return visible.Errorf("journal: %s: %w; or, if it began while this copy was made, or is lost, cut %s to %d bytes to go on without it",
		s.Name(g.ended), ErrMissing, g.file, g.endedAt)
}

// gap returns the error for a segment that is missing before later ones.
func gap(s Store, number uint64) error {
	return visible.Errorf("journal: %s: %w, or move those after it away to lose what they hold", s.Name(number), ErrMissing)
}

// A visitor is told what was appended to a segment.
type visitor interface {
	event(*sojourn.Event) error
	assign(*sojourn.Assignment) error
	attach(sojourn.JobID, []byte) error
	keep(string, []byte) error
}

// read tells v all records after the head. It stops at the first error of v, and returns it with its
// place.
func (g *segment) read(v visitor) error {
	var ev sojourn.Event
	var as sojourn.Assignment
	var id sojourn.JobID
	var key string
	var data []byte
	for g.at < g.end() {
		body, size := g.record(g.at)
		if body == nil {
			if g.syncedBeyond(g.at) {
				return g.damage("the record is damaged")
			}
			g.torn = true
			return nil
		}
		kind := body[0]
		if g.ended != 0 && kind != kindMark {
			return g.damage("a record follows the end of the segment")
		}
		d := &g.dec
		d.b, d.bad = body[1:], false
		switch {
		case kind == kindAssign:
			d.assign(&as)
		case kind == kindMark:
			d.bad = d.uint() != uint64(g.at) || d.bad
			d.uint()
		case kind == kindAttach:
			id, data = d.attach()
		case kind == kindKeep:
			key, data = d.keep()
		case kind == kindEnd:
			g.ended, g.endedAt = d.uint(), g.at
		case sojourn.EventKind(kind).Valid():
			d.event(sojourn.EventKind(kind), &ev)
		default:
			return g.unknown(kind)
		}
		if d.bad || len(d.b) > 0 {
			return g.damage("the record makes no sense")
		}
		var err error
		switch {
		case kind == kindAssign:
			err = v.assign(&as)
		case kind == kindAttach:
			err = v.attach(id, data)
		case kind == kindKeep:
			err = v.keep(key, data)
		case kind < firstOther:
			err = v.event(&ev)
		}
		if err != nil {
			return err
		}
		if g.at += size; kind != kindMark && kind != kindEnd {
			g.trace.add(binary.LittleEndian.Uint32(g.data[g.at-g.from-int64(len(body))-sumSize:]))
		}
	}
	return nil
}

// syncedBeyond reports whether the segment says, at some place after at, that the byte at at was
// synced. Then what is wrong there is damage, and no torn write. A mark names its own offset, so
// nothing else can look like one.
func (g *segment) syncedBeyond(at int64) bool {
	for o := at + 1; o+room+sumSize < g.end(); o++ {
		if b := g.data[o-g.from:]; b[room+sumSize] != kindMark || b[0] == 0 || b[0] > 2*binary.MaxVarintLen64+1 {
			continue
		}
		body, _ := g.record(o)
		if body == nil {
			continue
		}
		d := decoder{b: body[1:]}
		own, synced := d.uint(), d.uint()
		if !d.bad && own == uint64(o) && synced > uint64(at) {
			return true
		}
	}
	return false
}

func (g *segment) damage(format string, args ...any) error {
	return &DamageError{File: g.file, Segment: g.number, Offset: g.at, Reason: fmt.Sprintf(format, args...)}
}

func (g *segment) unknown(kind byte) error {
	return visible.Errorf("journal: %s: byte %d: %w: it has a record of kind %d", visible.Text(g.file), g.at, ErrVersion, kind)
}
