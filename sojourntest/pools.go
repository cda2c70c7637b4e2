package sojourntest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// PoolOptions say what a policy promises about pools.
type PoolOptions struct {
	// Within is after how many tasks of others at most a pool that waits gets a slot again. The pools have
	// equal weights, tasks take 1 to 3 seconds, there are at most 3 slots, and at most 6 pools at a time.
	Within int
}

// Pools checks that no pool waits for ever while others come and go. Some pools have a few tasks each.
// As many others have one task at a time, and come again as soon as it has ended, under the same name or a new one, so
// that the slots are never free for those that wait. The law is:
//
//   - turns: a pool that has something to start gets a slot within so many tasks of others
//
// A policy that orders pools by anything that a newcomer can be better at breaks it: the least service if what a
// pool has had is forgotten when it goes, the least work, the latest arrival.
func Pools(t *testing.T, newPolicy func() sojourn.Policy, opts PoolOptions) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) { checkPools(t, t, newPolicy(), opts) })
}

const lawTurns = "turns: a pool that has something to start gets a slot within so many tasks of others"

// maxTurns bounds the tasks of a run of checkPools.
const maxTurns = 2000

// checkPools lets pools come and go, and fails if one waits for too long.
func checkPools(tb rapid.TB, draw *rapid.T, p sojourn.Policy, opts PoolOptions) {
	tb.Helper()
	d := &poolDriver{tb: tb, draw: draw, p: p, opts: opts, pools: map[sojourn.JobID]string{}, waits: map[string]int{}, left: map[string]int{}, runs: map[sojourn.SlotID]poolRun{}}
	slots := rapid.IntRange(1, 3).Draw(draw, "slots")
	for id := range sojourn.SlotID(slots) {
		d.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	others := rapid.IntRange(1, 4).Draw(draw, "others")
	for i := range others {
		d.come(i, "")
	}
	stayers := rapid.IntRange(1, 2).Draw(draw, "stayers")
	from := rapid.IntRange(0, 20).Draw(draw, "from")
	for second := 0; ; second++ {
		if second == from {
			for i := range stayers {
				name := fmt.Sprint("stays", i)
				d.left[name] = rapid.IntRange(1, 4).Draw(draw, "tasks")
				d.arrive(name, d.left[name])
			}
		}
		d.offer(sojourn.SlotID(slots))
		if second >= from && len(d.left) == 0 || d.starts > maxTurns {
			return
		}
		d.now = d.now.Add(time.Second)
		for id := range sojourn.SlotID(slots) {
			r, ok := d.runs[id]
			if !ok || r.end > d.now {
				continue
			}
			delete(d.runs, id)
			ev := sojourn.Event{Kind: sojourn.TaskFinished, Task: r.a.Task, Attempt: r.a.Attempt, Slot: sojourn.Slot{ID: id}}
			d.observe(ev)
			if name := d.pools[r.a.Task.Job]; r.other >= 0 {
				d.come(r.other, name)
			}
		}
	}
}

// A poolDriver drives a policy with pools that come and go.
type poolDriver struct {
	tb     rapid.TB
	draw   *rapid.T
	p      sojourn.Policy
	opts   PoolOptions
	now    sojourn.Time
	next   sojourn.JobID
	pools  map[sojourn.JobID]string
	others []sojourn.JobID // the latest job of each other
	left   map[string]int  // tasks of those that stay, which are not started
	waits  map[string]int  // tasks of others since one of it was started
	starts int
	runs   map[sojourn.SlotID]poolRun
}

type poolRun struct {
	a     sojourn.Assignment
	end   sojourn.Time
	other int // which of the others it is; -1 for one that stays
}

func (d *poolDriver) observe(ev sojourn.Event) {
	ev.At = d.now
	if err := d.p.Observe(ev); err != nil {
		d.tb.Fatalf("law of %s\n%v gets %v", lawAnswers, ev, err)
	}
}

func (d *poolDriver) arrive(pool string, tasks int) sojourn.JobID {
	d.next++
	d.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: d.next, Pool: pool, Phases: []sojourn.Phase{{Tasks: tasks}}}})
	d.pools[d.next] = pool
	return d.next
}

// come lets one of the others come, with the name that it had or a new one.
func (d *poolDriver) come(i int, was string) {
	name := fmt.Sprint("comes", i)
	if was != "" && rapid.Bool().Draw(d.draw, "new") {
		name = fmt.Sprint("new", d.next)
	}
	id := d.arrive(name, 1)
	for i >= len(d.others) {
		d.others = append(d.others, 0)
	}
	d.others[i] = id
}

// offer offers free slots until none is taken.
func (d *poolDriver) offer(slots sojourn.SlotID) {
	if w, ok := sojourn.As[sojourn.Waker](d.p); ok {
		if at, ok := w.NextWake(); ok && at <= d.now {
			d.observe(sojourn.Event{Kind: sojourn.Tick})
		}
	}
	for id := range slots {
		if _, busy := d.runs[id]; busy {
			continue
		}
		a, ok := d.p.Assign(id)
		if !ok {
			continue
		}
		d.starts++
		pool, other := d.pools[a.Task.Job], -1
		for i, id := range d.others {
			if id == a.Task.Job {
				other = i
			}
		}
		if other < 0 {
			d.waits[pool] = 0
			if d.left[pool]--; d.left[pool] == 0 {
				delete(d.left, pool)
			}
		}
		for i := range 2 {
			name := fmt.Sprint("stays", i)
			if d.left[name] == 0 || name == pool {
				continue
			}
			if d.waits[name]++; d.waits[name] > d.opts.Within {
				d.tb.Fatalf("law of %s\npool %s waits at %v with %d tasks, and %d tasks of others were started meanwhile, want at most %d", lawTurns, name, d.now, d.left[name], d.waits[name], d.opts.Within)
			}
		}
		length := time.Duration(rapid.IntRange(1, 3).Draw(d.draw, "length")) * time.Second
		d.runs[id] = poolRun{a, d.now.Add(length), other}
	}
}
