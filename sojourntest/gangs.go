package sojourntest

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/gang"
	"pgregory.net/rapid"
)

// GangOptions say what a policy promises about gangs.
type GangOptions struct {
	// InOrder: the policy starts gangs of one width in the order of their arrival. Then no gang
	// may wait longer than the bound of package gang.
	InOrder bool

	// Reserves: the policy keeps places for wide gangs itself, so the cluster reserves none. The
	// policy may leave gang slots free.
	Reserves bool

	// Turns: the policy is a [gang.Turns], and places are reserved for the gang whose turn it is.
	Turns bool
}

// Gangs checks that a policy runs gangs with package gang, on any number of places. The driver
// makes random gangs, ends or fails them, cancels jobs, and takes places away and brings them
// back. It offers slots in the order of the policy's ranking or in any other. The laws are:
//
//   - all or nothing: whenever a gang starts, all its places are free, and no gang has fewer
//   - no deadlock: while gangs wait that fit into the cluster, something runs
//   - completion: all gangs end
//   - no starvation, with InOrder: a gang starts within its patience and the longest limits of
//     itself and of the gangs that waited before it
func Gangs(t *testing.T, newPolicy func(places int) sojourn.Policy, opts GangOptions) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(1, 9).Draw(t, "places")
		patience := rapid.SampledFrom([]time.Duration{0, time.Second, 7 * time.Second}).Draw(t, "patience")
		if opts.Reserves {
			patience = gang.Never
		}
		policy, options := newPolicy(places), gang.Options{Places: places, Patience: patience}
		if opts.Turns {
			options.Turns, _ = sojourn.As[gang.Turns](policy)
			if options.Turns == nil {
				t.Fatalf("a %T does not say whose turn it is", policy)
			}
		}
		cluster, err := gang.New(options)
		if err != nil {
			t.Fatal(err)
		}
		d := &gangDriver{
			T: t, opts: opts, policy: policy, cluster: cluster, most: places, places: places, patience: patience,
			steady: rapid.Bool().Draw(t, "steady"), waiting: map[sojourn.JobID]gangWait{}, runs: map[sojourn.SlotID]gangRun{},
		}
		for range rapid.IntRange(1, 40).Draw(t, "seconds") {
			d.second(true)
		}
		d.resize(places)
		for left := 0; len(d.waiting) > 0 || len(d.runs) > 0; left++ {
			if left > 10*int(d.next+1)*maxGangLimit {
				t.Fatalf("law broken: completion: %d gangs wait and %d run for ever", len(d.waiting), len(d.runs))
			}
			d.second(false)
		}
	})
}

// maxGangLimit is the longest limit of a gang, in seconds.
const maxGangLimit = 6

// A gangDriver drives a policy with gangs, and keeps its own account of the places.
type gangDriver struct {
	*rapid.T
	opts         GangOptions
	policy       sojourn.Policy
	cluster      *gang.Cluster
	now          sojourn.Time
	next         sojourn.JobID
	most         int // places at first
	places, used int // now
	patience     time.Duration
	steady       bool // the places stay the same and nothing fails, as the bound asks for
	waiting      map[sojourn.JobID]gangWait
	runs         map[sojourn.SlotID]gangRun
}

type gangWait struct {
	gang.Gang
	since  sojourn.Time
	before int // gangs that waited before it
}

type gangRun struct {
	gangWait
	attempt uint32
	end     sojourn.Time
}

func (d *gangDriver) observe(ev sojourn.Event) {
	ev.At = d.now
	if err := d.policy.Observe(ev); err != nil {
		d.Fatalf("law broken: answers: %v gets %v", ev, err)
	}
}

// second is what happens in one second: ends, changes of the cluster, arrivals, offers.
func (d *gangDriver) second(more bool) {
	d.now = d.now.Add(time.Second)
	for id := range sojourn.SlotID(1000) {
		if r, ok := d.runs[id]; ok && (r.end <= d.now || !d.steady && rapid.IntRange(0, 9).Draw(d.T, "dies") == 0) {
			d.end(id, r)
		}
	}
	if more && !d.steady && rapid.IntRange(0, 4).Draw(d.T, "resizes") == 0 {
		d.resize(rapid.IntRange(0, d.most).Draw(d.T, "places"))
	}
	if more {
		for range rapid.IntRange(0, 3).Draw(d.T, "arrivals") {
			d.arrive()
		}
		if rapid.IntRange(0, 9).Draw(d.T, "cancels") == 0 {
			d.cancel(sojourn.JobID(rapid.Uint64Range(1, uint64(d.next)+1).Draw(d.T, "job")))
		}
	}
	if w, ok := sojourn.As[sojourn.Waker](d.policy); ok {
		if at, ok := w.NextWake(); ok && at <= d.now {
			d.observe(sojourn.Event{Kind: sojourn.Tick})
		}
	}
	d.offer()
	// A policy that reserves places itself may keep them for a gang that does not fit now.
	fits := func(w gangWait) bool { return d.places == d.most || w.Width <= d.places && !d.opts.Reserves }
	for id := range d.next + 1 {
		if w, ok := d.waiting[id]; ok && fits(w) && len(d.runs) == 0 {
			d.Fatalf("law broken: no deadlock: nothing runs on %d places, and job %d waits for %d", d.places, id, w.Width)
		}
	}
}

func (d *gangDriver) arrive() {
	d.next++
	g := gang.Gang{Task: sojourn.TaskID{Job: d.next}, Width: rapid.IntRange(1, d.most).Draw(d.T, "width")}
	g.Limit = time.Duration(rapid.IntRange(1, maxGangLimit).Draw(d.T, "limit")) * time.Second
	class, err := d.cluster.Class(g.Width)
	if err != nil {
		d.Fatal(err)
	}
	d.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: d.next,
		Phases: []sojourn.Phase{{Tasks: 1, Class: class, Estimate: g.Limit}}}})
	d.wait(g)
}

func (d *gangDriver) wait(g gang.Gang) {
	if err := d.cluster.Wait(g, d.now); err != nil {
		d.Fatal(err)
	}
	d.waiting[g.Task.Job] = gangWait{g, d.now, len(d.waiting)}
}

func (d *gangDriver) cancel(id sojourn.JobID) {
	if w, ok := d.waiting[id]; ok {
		delete(d.waiting, id)
		d.cluster.Leave(w.Task)
		d.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
	}
}

// end ends a gang on a slot, by failure if its time is not over.
func (d *gangDriver) end(id sojourn.SlotID, r gangRun) {
	delete(d.runs, id)
	d.used -= r.Width
	d.cluster.End(id)
	ev := sojourn.Event{Kind: sojourn.TaskFinished, Task: r.Task, Attempt: r.attempt, Slot: sojourn.Slot{ID: id}}
	if r.end > d.now {
		ev.Kind, ev.Cause = sojourn.TaskFailed, sojourn.CauseTask
	}
	d.observe(ev)
	if r.end > d.now {
		d.wait(r.Gang)
	}
}

// resize changes the places, and kills the gangs that have none any more.
func (d *gangDriver) resize(places int) {
	d.places = places
	if err := d.cluster.Resize(places); err != nil {
		d.Fatal(err)
	}
	for id := range sojourn.SlotID(1000) {
		if r, ok := d.runs[id]; ok && d.used > places {
			r.end = d.now + 1
			d.end(id, r)
		}
	}
}

// offer offers gang slots until none is taken.
func (d *gangDriver) offer() {
	for again := true; again; {
		again = false
		d.change()
		var order []sojourn.Class
		if rapid.Bool().Draw(d.T, "ranked") {
			order = d.cluster.Order(sojourn.Ranking(d.policy))
		}
		any := make([]int, d.cluster.Widths().Len())
		for i := range any {
			any[i] = i
		}
		for _, k := range rapid.Permutation(any).Draw(d.T, "classes") {
			order = append(order, sojourn.Class(k))
		}
		for _, k := range order {
			if slot, ok := d.cluster.FreeSlot(k); ok && d.assign(slot) {
				again = true
				d.change()
			}
		}
	}
}

func (d *gangDriver) change() {
	for _, ev := range d.cluster.AppendChanges(nil, d.now) {
		d.observe(ev)
	}
}

func (d *gangDriver) assign(slot sojourn.SlotID) bool {
	a, ok := d.policy.Assign(slot)
	if !ok {
		return false
	}
	w, ok := d.waiting[a.Task.Job]
	if !ok {
		d.Fatalf("law broken: all or nothing: %v is assigned and does not wait", a.Task)
	}
	if free := d.places - d.used; free < w.Width {
		d.Fatalf("law broken: all or nothing: a gang of %d starts with %d free places", w.Width, free)
	}
	d.cluster.Start(a, d.now)
	bound := d.patience + time.Duration(w.before+1)*maxGangLimit*time.Second
	if waited := d.now.Sub(w.since); d.opts.InOrder && d.steady && !d.opts.Reserves && waited > bound {
		d.Fatalf("law broken: no starvation: a gang of %d waited %v with %d before it, the bound is %v", w.Width, waited, w.before, bound)
	}
	delete(d.waiting, a.Task.Job)
	length := time.Duration(rapid.Int64Range(1, int64(w.Limit/time.Second)).Draw(d.T, "length")) * time.Second
	d.used += w.Width
	d.runs[slot] = gangRun{w, a.Attempt, d.now.Add(length)}
	return true
}
