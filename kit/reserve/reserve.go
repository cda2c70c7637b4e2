package reserve

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// Options say how much is reserved.
type Options struct {
	// Share is the part of the slots of each class that is reserved. It refers to the present
	// number of slots.
	Share Share

	// Up rounds the number of slots up, instead of to the nearest whole number.
	Up bool

	// From is the least number of slots with which a class has a reserve.
	From int

	// Counted makes slots that are held out of turn count as free: see the package comment.
	Counted bool

	// In, unless nil, is the reserve of a cluster of which the policy has a part, as the policy
	// of a pool has. It then takes the place of this one: how much is reserved, and how many
	// slots count as free, are numbers of the whole cluster. The other options have no effect.
	In *Reserve
}

// On reports whether anything is reserved, of whatever number of slots.
func (o Options) On() bool { return o.Share > 0 || o.In != nil && o.In.opts.On() }

// Header returns the options under which a snapshot has to be restored: whether there is a
// reserve, and Counted.
func (o Options) Header() []snapshot.Option {
	return []snapshot.Option{
		snapshot.Opt("reserve", o.On()),
		snapshot.Opt("counted", o.On() && o.Counted),
	}
}

// waves is how many times as many tasks as a class has slots a phase has, for anything to be reserved against its job
// while that is the only live one. So a phase of equal tasks takes at most an eighth longer than without the reserve, rounded up
// to the time of a task, and beside the part that is reserved.
const waves = 8

// A cluster answers the questions of a Reserve. A [ledger.Ledger] is one.
//
// [ledger.Ledger]: https://pkg.go.dev/github.com/sojourn-sched/sojourn/kit/ledger#Ledger
type cluster interface {
	// Capacity returns the number of slots of a class.
	Capacity(sojourn.Class) int

	// FreeSlots returns the number of slots of a class that could run something now.
	FreeSlots(sojourn.Class) int

	// Alone reports whether at most one job is live. It returns how many tasks the phase has that the job starts
	// next on slots of a class; 0 if it has nothing to start there.
	Alone(sojourn.Class) (tasks int, alone bool)

	// Busy returns a slot that runs something; false if it runs nothing or does not exist.
	Busy(sojourn.SlotID) (sojourn.Slot, bool)
}

// A Reserve says which levels may start now. Use [New] to make one.
type Reserve struct {
	opts    Options
	cluster cluster
	lengths []*Lengths // by class; nil where no phase was counted

	// By class: the slots that are held out of turn. Invariant: each is busy; empty unless
	// Counted.
	out []bitset.Set
}

// New returns a reserve with no slot held out of turn.
func New(c cluster, opts Options) *Reserve { return &Reserve{opts: opts, cluster: c} }

// Slots returns how many slots of a class are reserved: k.
func (r *Reserve) Slots(c sojourn.Class) int {
	if r.opts.In != nil {
		return r.opts.In.Slots(c)
	}
	n := r.cluster.Capacity(c)
	if n < r.opts.From {
		return 0
	}
	return r.opts.Share.slots(n, r.opts.Up)
}

// free returns how many slots of a class count as free: the free ones and, if Counted, those
// that are held out of turn.
func (r *Reserve) free(c sojourn.Class) int {
	if r.opts.In != nil {
		return r.opts.In.free(c)
	}
	return r.cluster.FreeSlots(c) + r.outOfTurn(c)
}

// outOfTurn returns q, the number of slots of a class that tasks started out of turn hold. It
// is 0 unless Counted.
func (r *Reserve) outOfTurn(c sojourn.Class) int {
	if int(c) >= len(r.out) {
		return 0
	}
	return r.out[c].Len()
}

// Highest returns the highest level whose tasks may start on a slot of a class now; -1 if
// none may.
func (r *Reserve) Highest(c sojourn.Class) int {
	if r.opts.In != nil {
		return r.opts.In.Highest(c)
	}
	return r.highest(c, r.free(c))
}

// HighestPlain is Highest in the plain form: slots that are held out of turn do not count as free.
func (r *Reserve) HighestPlain(c sojourn.Class) int {
	if r.opts.In != nil {
		return r.opts.In.Highest(c)
	}
	return r.highest(c, r.cluster.FreeSlots(c))
}

// highest returns the highest level that may start if so many slots of a class count as free.
func (r *Reserve) highest(c sojourn.Class, free int) int {
	if tasks, alone := r.cluster.Alone(c); alone && tasks < waves*r.cluster.Capacity(c) {
		return Levels - 1
	}
	return highestOf(free, r.Slots(c))
}

// Counted reports whether Started uses its argument inTurn.
func (r *Reserve) Counted() bool { return r.opts.Counted }

// Started reports the start of a task on a slot. inTurn says that no other job with something
// to start in that class comes before the task's job in the order.
func (r *Reserve) Started(s sojourn.Slot, inTurn bool) {
	if inTurn || !r.opts.Counted {
		return
	}
	for int(s.Class) >= len(r.out) {
		r.out = append(r.out, bitset.Set{})
	}
	r.out[s.Class].Add(int(s.ID))
}

// Ended reports the end of the attempt on a slot.
func (r *Reserve) Ended(s sojourn.Slot) {
	if int(s.Class) < len(r.out) {
		r.out[s.Class].Remove(int(s.ID))
	}
}

// Lengths returns the lengths of the phases of a class that have arrived.
func (r *Reserve) Lengths(c sojourn.Class) *Lengths {
	for int(c) >= len(r.lengths) {
		r.lengths = append(r.lengths, nil)
	}
	if r.lengths[c] == nil {
		r.lengths[c] = new(Lengths)
	}
	return r.lengths[c]
}

// Explain appends to the attributes of a job one group for each class N in which it has something
// to start. list calls filed with each of these classes, and with a level: the least one counts, if it
// calls more than once. If it is plain, slots that are held out of turn do not count as free: see [Reserve.HighestPlain]. Its keys are those of
// [ledger.Ledger.Attrs], which attrs begins with, and
//
//	key           unit   meaning
//	classN        group  class N of slots, from 0, if it has something to start there
//	classN.level  1      its level there, from 0, for the last free slot, to 15
//	classN.needs  slots  how many have to count as free for it to start something there
//	classN.free   slots  how many count as free
//
// If slots are free and it may take none of them, in any class, why says so.
//
// [ledger.Ledger.Attrs]: https://pkg.go.dev/github.com/sojourn-sched/sojourn/kit/ledger#Job.Attrs
func (r *Reserve) Explain(attrs []slog.Attr, list func(filed func(c sojourn.Class, level int, plain bool))) []slog.Attr {
	type side struct {
		class sojourn.Class
		level int
		plain bool
	}
	var sides []side
	list(func(c sojourn.Class, level int, plain bool) {
		if i := slices.IndexFunc(sides, func(s side) bool { return s.class == c }); i >= 0 {
			sides[i].level = min(sides[i].level, level)
		} else {
			sides = append(sides, side{c, level, plain})
		}
	})
	held, may := false, false
	for _, s := range sides {
		highest, free := r.Highest(s.class), r.free(s.class)
		if s.plain {
			highest, free = r.HighestPlain(s.class), free-r.outOfTurn(s.class)
		}
		if s.level <= highest {
			may = true
		} else if r.cluster.FreeSlots(s.class) > 0 {
			held = true
		}
		attrs = append(attrs, slog.Group(fmt.Sprintf("class%d", s.class),
			slog.Uint64("level", uint64(s.level)),
			slog.Int("needs", Threshold(s.level, r.Slots(s.class))+1),
			slog.Int("free", free)))
	}
	if held && !may {
		attrs[0] = slog.String("why", "leaves the last free slots to shorter tasks and jobs that run less")
	}
	return attrs
}

// Save writes the lengths, and which slots are held out of turn.
func (r *Reserve) Save(w *snapshot.Writer) {
	w.Len(len(r.lengths))
	for _, h := range r.lengths {
		w.Bool(h != nil)
		if h != nil {
			h.save(w)
		}
	}
	w.Len(len(r.out))
	for c := range r.out {
		w.Len(r.out[c].Len())
		for id := r.out[c].Next(0); id >= 0; id = r.out[c].Next(id + 1) {
			w.Uint(uint64(id))
		}
	}
}

func (h *Lengths) save(w *snapshot.Writer) {
	for b := range buckets {
		w.Uint(h.below[b+1] - h.below[b])
	}
}

// Restore reads what Save has written into a new reserve with the same value of Counted. The
// cluster must have been restored before.
func (r *Reserve) Restore(from *snapshot.Reader) {
	r.lengths = make([]*Lengths, from.Len())
	from.Check(len(r.lengths) <= sojourn.MaxClasses, "there are too many classes")
	for c := range r.lengths {
		if from.Bool() {
			r.lengths[c] = new(Lengths)
			r.lengths[c].restore(from)
		}
	}
	r.out = make([]bitset.Set, from.Len())
	from.Check(len(r.out) == 0 || r.opts.Counted && len(r.out) <= sojourn.MaxClasses, "slots are held out of turn that are not counted")
	for c := range r.out {
		next := uint64(0)
		for range from.Len() {
			id := from.Below(sojourn.MaxSlots)
			s, ok := r.cluster.Busy(sojourn.SlotID(id))
			if from.Err() != nil || !from.Check(id >= next && ok && int(s.Class) == c, "a slot is held out of turn that is not busy") {
				return
			}
			r.out[c].Add(int(id))
			next = id + 1
		}
	}
}

func (h *Lengths) restore(from *snapshot.Reader) {
	for b := range buckets {
		h.below[b+1] = h.below[b] + from.Below(maxLengths)
	}
	from.Check(h.below[buckets] < maxLengths, "there are too many lengths")
}
