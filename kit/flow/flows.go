package flow

import (
	"fmt"
	"iter"
	"math"

	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/sfq"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// The limits of weights, costs and depths.
const (
	MaxWeight = sfq.MaxWeight // of a flow: 2^48-1; the least weight is 1
	MaxCost   = sfq.MaxCost   // of a charge: 2^63-1; a greater cost counts as this, and a cost of 0 as 1
	MaxDepth  = 16            // how many flows a flow is below, itself included
)

// Options configure [Flows]. The zero value is the default.
type Options struct {
	// Credit is the service that a flow may get before others after it had nothing to start, in the
	// unit of the costs: as much of it as it left unused while it was there. Zero means none: it is
	// level with the one that is served next.
	Credit uint64
}

// A Flow is the number of a flow. It is free for another one when the flow has left and all its
// charges are settled.
type Flow uint32

// Root is what all flows are below. It is always there.
const Root Flow = 0

// Flows picks the flow that is served next. Make one with [New].
type Flows struct {
	options Options
	nodes   heap.Table[*node] // by Flow; nil where the number is free
	spare   heap.Table[uint32]
	turns   uint64 // flows that have joined and charges so far
}

// A node begins with what a choice, a charge and a correction look at: of many flows none is in a cache, and these are two lines of memory of 64 bytes
// (BenchmarkServe).
type node struct {
	sfq.Account
	parent *node            // nil of the root
	below  map[string]*node // nil if there was never a flow below it
	turn   uint64           // when it was last charged, plus served; or when it joined
	done   wide.Uint128
	id     uint32 // its number among the flows below its parent
	flow   Flow
	active bool     // it, or something below it, has something to start
	gone   bool     // it has left, and charges are not settled yet
	mean   sfq.Mean // of its costs
	name   string
	depth  int

	// Of flows with flows below them.
	kids  heap.Table[*node] // by id; nil where the number is free
	gaps  heap.Table[uint32]
	live  int // flows below that have not left
	clock sfq.Clock
	busy  *heap.Tournament // the active ones
}

// served is added to the turn of flows that were charged: those that never were go first among equals.
const served = 1 << 63

// before is the order of flows side by side: by their tags, and those that tie by who was served longest ago.
func (x *node) before(y *node) bool {
	if c := x.Tag().Compare(y.Tag()); c != 0 {
		return c < 0
	}
	return x.turn < y.turn
}

// open lets flows be below x.
func (x *node) open() {
	x.below = make(map[string]*node)
	x.busy = heap.NewTournament(func(a, b uint32) bool { return (*x.kids.At(a)).before(*x.kids.At(b)) })
}

// first returns the flow below x that is served next, and nil if there is none.
func (x *node) first() *node {
	id, ok := x.busy.Min()
	if !ok {
		return nil
	}
	return *x.kids.At(id)
}

// New returns Flows without any flow.
func New(options Options) *Flows {
	f := &Flows{options: options}
	f.reset()
	return f
}

func (f *Flows) reset() {
	*f = Flows{options: f.options}
	root, _, _ := new(sfq.Clock).Enter("", 1)
	heap.Allot(&f.nodes, &f.spare, &node{Account: root})
}

func (f *Flows) node(n Flow) *node {
	if uint64(n) < uint64(f.nodes.Len()) {
		if x := *f.nodes.At(uint32(n)); x != nil {
			return x
		}
	}
	panic(fmt.Sprintf("flow: there is no flow %d", n))
}

// Join adds a flow below another one, with a weight from 1 to [MaxWeight]. It is not active. If a
// flow of this name has left and its debt is kept, the flow has that debt. Join returns an error if a
// flow of this name is there, if the weight is out of range, or if the flow would be too deep. A flow
// that is active by itself has no flows below it.
func (f *Flows) Join(below Flow, name string, weight uint64) (Flow, error) {
	up := f.node(below)
	switch {
	case weight == 0 || weight > MaxWeight:
		return 0, fmt.Errorf("flow: weight of %q: %d, want 1 to %d", name, weight, uint64(MaxWeight))
	case up.depth == MaxDepth:
		return 0, fmt.Errorf("flow: %q would be deeper than %d", name, MaxDepth)
	}
	x := up.below[name]
	if x != nil && !x.gone {
		return 0, fmt.Errorf("flow: %q is there already", name)
	}
	if up.gone {
		panic(fmt.Sprintf("flow: flow %d has left", below))
	}
	if len(up.below) == 0 && up.active {
		panic(fmt.Sprintf("flow: flow %d is active by itself", below))
	}
	up.live++
	if x != nil {
		x.gone = false
		x.SetWeight(weight)
		return x.flow, nil
	}
	if up.below == nil {
		up.open()
	}
	f.turns++
	account, _, owes := up.clock.Enter(name, weight)
	x = &node{Account: account, name: name, parent: up, depth: up.depth + 1, turn: f.turns}
	if owes { // it has been served
		x.turn |= served
	}
	x.flow = Flow(heap.Allot(&f.nodes, &f.spare, x))
	x.id = heap.Allot(&up.kids, &up.gaps, x)
	up.below[name] = x
	return x.flow, nil
}

// Leave removes a flow. It must have no flows below it. Its debt is kept until virtual time has
// passed it, in so far as no more flows have left than there are: see the package comment. Charges
// that are not settled can still be settled.
func (f *Flows) Leave(n Flow) {
	x := f.node(n)
	if x.parent == nil || x.gone || x.live > 0 {
		panic(fmt.Sprintf("flow: flow %d cannot leave: it is the root, has left, or has flows below it", n))
	}
	f.deactivate(x)
	x.gone = true
	x.parent.live--
	x.parent.clock.Trim(x.parent.live, max(x.parent.mean.Cost, 1))
	f.retire(x)
}

// retire forgets a flow that has left, if all its charges are settled.
func (f *Flows) retire(x *node) {
	if !x.gone || x.Outstanding() > 0 || len(x.below) > 0 {
		return
	}
	up := x.parent
	delete(up.below, x.name)
	heap.Release(&up.kids, &up.gaps, x.id)
	heap.Release(&f.nodes, &f.spare, uint32(x.flow))
	up.clock.Leave(x.name, &x.Account, up.live, max(up.mean.Cost, 1), 0)
}

// Find returns the flow of a name below another one; false if there is none.
func (f *Flows) Find(below Flow, name string) (Flow, bool) {
	x := f.node(below).below[name]
	if x == nil || x.gone {
		return 0, false
	}
	return x.flow, true
}

// Path yields the names of a flow and of those that it is below, the outermost first.
func (f *Flows) Path(n Flow) iter.Seq[string] {
	var names []string
	for x := f.node(n); x.parent != nil; x = x.parent {
		names = append(names, x.name)
	}
	return func(yield func(string) bool) {
		for i := len(names) - 1; i >= 0 && yield(names[i]); i-- {
		}
	}
}

// SetWeight changes the weight of a flow, from 1 to [MaxWeight].
func (f *Flows) SetWeight(n Flow, weight uint64) error {
	x := f.node(n)
	if weight == 0 || weight > MaxWeight || x.parent == nil {
		return fmt.Errorf("flow: weight of %q: %d, want 1 to %d, and none of the root", x.name, weight, uint64(MaxWeight))
	}
	x.SetWeight(weight)
	x.file()
	return nil
}

// file updates the place of a flow among the active ones.
func (x *node) file() {
	if x.active {
		hi, lo := x.Tag().Prefix(x.turn)
		x.parent.busy.Set(x.id, hi, lo)
	}
}

// SetActive says whether a flow has something to start. The flow must have no flows below it.
func (f *Flows) SetActive(n Flow, active bool) {
	x := f.node(n)
	if len(x.below) > 0 || x.gone || x.parent == nil {
		panic(fmt.Sprintf("flow: flow %d cannot be active by itself: it is the root, has left, or has flows below it", n))
	}
	if active {
		f.activate(x)
	} else {
		f.deactivate(x)
	}
}

func (f *Flows) activate(x *node) {
	for ; x.parent != nil && !x.active; x = x.parent {
		x.active = true
		x.parent.clock.Lift(&x.Account, f.options.Credit)
		x.file()
	}
}

func (f *Flows) deactivate(x *node) {
	for ; x.parent != nil && x.active; x = x.parent {
		x.active = false
		x.parent.busy.Remove(x.id)
		if x.parent.first() != nil {
			return
		}
	}
}

// Least returns the active flow that is served next; false if there is none. Of the flows below the
// root it takes the one with the least tag, then of those below that, and so on. It changes nothing.
func (f *Flows) Least() (Flow, bool) {
	x := *f.nodes.At(uint32(Root))
	for len(x.below) > 0 {
		if x = x.first(); x == nil {
			return 0, false
		}
	}
	return x.flow, x.parent != nil
}

// Near is Least where local work goes first: of the active flows that have had at most window more than the least one beside them, for each unit
// of weight, the first one by tag that local says yes of. It goes down from the root, and asks flows that have none below them. If it says yes of
// none, Near returns what Least does, so that nothing idles for locality. The bounds grow by the window: see the package comment. To look at
// k of n flows takes O(k log² n) (TestNear, TestBound).
func (f *Flows) Near(window uint64, local func(Flow) bool) (Flow, bool) {
	if n, ok := f.near(*f.nodes.At(uint32(Root)), window, local); ok {
		return n, true
	}
	return f.Least()
}

func (f *Flows) near(x *node, window uint64, local func(Flow) bool) (Flow, bool) {
	if len(x.below) == 0 {
		return x.flow, x.parent != nil && local(x.flow)
	}
	least := x.first()
	for r := x.busy.Ranking(); ; {
		id, ok := r.Next()
		if !ok {
			return 0, false
		}
		y := *x.kids.At(id)
		if wide.Mul64(window, y.Tag().Weight()).Less(y.Tag().Service(least.Tag())) {
			return 0, false
		}
		if n, found := f.near(y, window, local); found {
			return n, true
		}
	}
}

// Charge charges a flow, and all that it is below, for work that starts, with the cost that it is
// thought to have. The flow need not be the least one.
func (f *Flows) Charge(n Flow, expected uint64) {
	f.turns++
	for x := f.node(n); x.parent != nil; x = x.parent {
		up := x.parent
		to := x.Proved(x.mean.Proves(x.Outstanding(), true).Clamp63())
		if least := up.first(); least != nil && least.Tag().Before(to) {
			to = least.Tag()
		}
		up.clock.Advance(to)
		x.Charge(expected)
		x.turn = served | f.turns
		x.file()
	}
}

// Correct replaces a charge by what the work has cost, when it has ended. expected is what was
// charged.
func (f *Flows) Correct(n Flow, expected, actual uint64) { f.settle(n, expected, sfq.Cost(actual)) }

// Refund takes a charge back: the work was lost and will be done again.
func (f *Flows) Refund(n Flow, expected uint64) { f.settle(n, expected, 0) }

func (f *Flows) settle(n Flow, expected, actual uint64) {
	for x := f.node(n); ; {
		if actual > 0 {
			x.mean.Add(actual, true)
		}
		up := x.parent
		if up == nil {
			return
		}
		x.Settle(expected, actual)
		x.done = x.done.AddCapped(wide.From64(actual))
		x.file()
		f.retire(x)
		x = up
	}
}

// Flows yields the flows below another one, in no useful order but always the same. They must not
// join or leave meanwhile.
func (f *Flows) Flows(below Flow) iter.Seq[Flow] {
	x := f.node(below)
	return func(yield func(Flow) bool) {
		for _, y := range x.kids.All() {
			if y != nil && !y.gone && !yield(y.flow) {
				return
			}
		}
	}
}

// A Standing is where a flow stands among those beside it.
type Standing struct {
	Weight      uint64
	Active      bool   // it, or something below it, has something to start
	Outstanding uint64 // charges that are not settled
	Had         uint64 // the sum of the costs of its work that has ended, at most [MaxCost]

	// Share is the part that the flow is entitled to of what its parent gets, while it and what is active
	// beside it now stay so.
	Share float64

	// Before is how many active flows are served before it, each once at least. Ahead is how much
	// service it has had, or is charged with, beyond the one that is served first, at most [MaxCost]:
	// the others get as much for their weights before it is served.
	Before int
	Ahead  uint64
}

// Explain returns where a flow stands. It takes time in proportion to the flows beside it.
func (f *Flows) Explain(n Flow) Standing {
	x := f.node(n)
	s := Standing{Weight: x.Tag().Weight(), Active: x.active, Outstanding: x.Outstanding(), Had: x.done.Clamp63()}
	if x.parent == nil {
		s.Share = 1
		return s
	}
	var of wide.Uint128
	for _, y := range x.parent.kids.All() {
		if y == nil || !y.active {
			continue
		}
		of = of.Add(wide.From64(y.Tag().Weight()))
		if y != x && y.before(x) {
			s.Before++
		}
	}
	if !x.active {
		of = of.Add(wide.From64(x.Tag().Weight()))
	}
	s.Share = float64(x.Tag().Weight()) / (math.Ldexp(float64(of.Hi), 64) + float64(of.Lo))
	if first := x.parent.first(); first != nil {
		s.Ahead = x.Tag().Service(first.Tag()).Clamp63()
	}
	return s
}
