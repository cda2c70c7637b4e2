package journal

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// History returns what a journal holds as the entries of a history, whose lines are record numbers. Its header
// names the policy, if the journal does. If the first segment begins with a snapshot, the history begins with
// the facts at that instant, as events; a policy that is asked from there may decide otherwise than one
// that had lived before. A journal with Options.Keep has the whole history.
//
// The rest of a write that never ended is left out. Damage ends the history with a [*DamageError], and a missing
// segment with ErrMissing.
func History(s Store) iter.Seq2[history.Entry, error] {
	return func(yield func(history.Entry, error) bool) {
		w := teller{yield: yield}
		if err := w.segments(s); err != nil && !w.stop {
			yield(history.Entry{}, err)
		}
	}
}

// teller tells records as entries.
type teller struct {
	yield func(history.Entry, error) bool
	stop  bool
	now   sojourn.Time
	file  string
	line  int
}

// errStop ends the reading of a segment.
var errStop = fmt.Errorf("nobody wants more")

func (w *teller) tell(e history.Entry) error {
	w.line++
	e.File, e.Line = w.file, w.line
	if !w.yield(e, nil) {
		w.stop = true
		return errStop
	}
	return nil
}

func (w *teller) event(ev *sojourn.Event) error {
	w.now = ev.At
	return w.tell(history.Entry{Kind: history.Observe, Event: *ev})
}

func (w *teller) assign(a *sojourn.Assignment) error {
	return w.tell(history.Entry{Kind: history.Assign, At: w.now, Slot: a.Slot, Assignment: *a, OK: true})
}

// attach tells nothing: a history has no place for what belongs to jobs.
func (w *teller) attach(sojourn.JobID, []byte) error { return nil }

// keep tells nothing, for the same reason.
func (w *teller) keep(string, []byte) error { return nil }

func (w *teller) segments(s Store) error {
	list, err := s.Segments()
	if err != nil {
		return visible.Errorf("journal: %w", err)
	}
	var before *segment
	for i, number := range list {
		if i > 0 && number != list[i-1]+1 {
			return gap(s, list[i-1]+1)
		}
		g, err := openSegment(s, number)
		if err != nil {
			return err
		}
		if before != nil && !before.torn {
			if err := before.precedes(g); err != nil {
				return err
			}
		}
		before, w.file = g, g.file
		if i == 0 && g.follows {
			return gap(s, number-1)
		}
		if i == 0 {
			if err := w.first(g); err != nil {
				return err
			}
		}
		if err := g.read(w); err != nil {
			return err
		}
		switch {
		case g.torn && i+1 < len(list):
			if err := g.followed(s); err != nil {
				return err
			}
		case g.ended != 0 && i+1 == len(list):
			return g.missing(s)
		}
	}
	return nil
}

// followed checks a torn segment that another one follows. That is no damage if the other begins with what was true when
// the last whole record had been written: then only the record is torn that should end the segment.
func (g *segment) followed(s Store) error {
	next, err := openSegment(s, g.number+1)
	if err != nil {
		return err
	}
	whole, err := openSegment(s, g.number)
	if err != nil {
		return err
	}
	f := &follower{j: new(Journal), acc: account.New(nil)}
	for ev := range whole.told() {
		if err := f.event(&ev); err != nil {
			return whole.damage("a fact does not fit: %v", err)
		}
	}
	if err := whole.read(f); err != nil && !final(err) {
		return whole.damage("a record does not fit: %v", err)
	} else if err != nil {
		return err
	}
	if !sameFacts(slices.Collect(f.acc.Facts()), next.facts.Slice()) {
		return g.damage("the segment is torn, and the next one begins with what its records do not say")
	}
	return nil
}

// sameFacts reports whether events are the same records.
func sameFacts(a, b []sojourn.Event) bool {
	var x, y encoder
	for i := range a {
		x.event(&a[i])
	}
	for i := range b {
		y.event(&b[i])
	}
	return bytes.Equal(x.buf, y.buf)
}

// first tells what comes before the calls.
func (w *teller) first(g *segment) error {
	if g.head.name != "" {
		if err := w.tell(history.Entry{Kind: history.Header, Name: "policy", Value: g.head.name}); err != nil {
			return err
		}
	}
	for ev := range g.told() {
		if err := w.event(&ev); err != nil {
			return err
		}
	}
	return nil
}

// A Segment says what is in a segment. It is of the tier kit.
type Segment struct {
	Number    uint64        `json:"segment"`
	File      string        `json:"file"`
	Bytes     int64         `json:"bytes"`
	Snapshot  int64         `json:"snapshot"` // bytes of the snapshot of the policy
	Facts     int           `json:"facts"`
	Events    int           `json:"events"` // that were appended
	Decisions int           `json:"decisions"`
	Last      sojourn.Time  `json:"last"`  // the time of the latest event
	Torn      int64         `json:"torn"`  // bytes of a write that never ended
	Epoch     int64         `json:"epoch"` // of Time 0, in nanoseconds since 1970
	MaxJob    sojourn.JobID `json:"maxJob"`
	Policy    string        `json:"policy,omitempty"` // that a swap has put in force, or of Options
}

func (i *Segment) event(ev *sojourn.Event) error {
	i.Events++
	i.Last = ev.At
	if ev.Job != nil {
		i.MaxJob = max(i.MaxJob, ev.Job.ID)
	}
	return nil
}

func (i *Segment) assign(*sojourn.Assignment) error {
	i.Decisions++
	return nil
}

func (i *Segment) attach(sojourn.JobID, []byte) error { return nil }

func (i *Segment) keep(string, []byte) error { return nil }

// Inspect reads all segments, and checks every record. It goes on after an error: each element comes with the
// error of its segment. It is of the tier kit.
func Inspect(s Store) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		list, err := s.Segments()
		if err != nil {
			yield(Segment{}, visible.Errorf("journal: %w", err))
			return
		}
		var before *segment
		for k, number := range list {
			i, g, err := inspect(s, number, k+1 == len(list))
			switch {
			case err != nil:
			case k > 0 && number != list[k-1]+1:
				err = gap(s, list[k-1]+1)
			case k == 0 && g.follows:
				err = gap(s, number-1)
			case before != nil && !before.torn:
				err = before.precedes(g)
			}
			before = g
			if !yield(i, err) {
				return
			}
		}
	}
}

// inspect returns what is in a segment, and the segment unless there is an error.
func inspect(s Store, number uint64, newest bool) (Segment, *segment, error) {
	i := Segment{Number: number, File: s.Name(number)}
	g, err := openSegment(s, number)
	if err != nil {
		return i, nil, err
	}
	i.Bytes, i.Snapshot, i.Facts = int64(len(g.data)), int64(len(g.policy)), g.facts.Len()
	i.Epoch, i.MaxJob, i.Policy = g.head.epoch, g.head.maxJob, cmp.Or(append(slices.Clone(g.head.names), g.head.name)...)
	i.Last = g.dec.last
	err = g.read(&i)
	if g.torn {
		i.Torn = i.Bytes - g.at
	}
	switch {
	case err != nil:
	case g.torn && !newest:
		err = g.followed(s)
	case g.ended != 0 && newest:
		err = g.missing(s)
	}
	if err != nil {
		return i, nil, err
	}
	return i, g, nil
}
