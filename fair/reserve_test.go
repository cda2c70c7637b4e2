package fair_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// Fair with a reserve keeps what it owes to events, questions and snapshots, also with policies of
// pools that keep to the reserve, and with one that does not.
func TestConformanceWithReserve(t *testing.T) {
	histories.Share(t, 20)
	sojourntest.Run(t, func() sojourn.Policy {
		return newWith(fair.Options{Reserve: 0.4, Pools: map[string]fair.Pool{
			"":  {Policy: constructors.LeastWork.With(leastwork.Options{})},
			"a": {Policy: constructors.SRPT.With(baseline.SRPTOptions{Reserve: 0.5}), Weight: 2},
			"b": {MaxJobs: 2},
			"c": {FIFO: true},
			"d": {Policy: constructors.FIFO.With(fifo.Options{})},
			"e": {Policy: constructors.HFSP.With(hfsp.Options{})},
			"f": {Policy: constructors.FSP.With(baseline.FSPOptions{})},
		}})
	}, sojourntest.Options{IdlesOnPurpose: true})
}

// A dispute is a cluster in which jobs of pools compete, and what a list of all of it says.
type dispute struct {
	*rapid.T
	p      sojourn.Policy
	now    sojourn.Time
	jobs   []*disputed
	slots  []*disputed // what each runs; nil if it is free
	tasks  []sojourn.Assignment
	out    []bool // by slot: what it runs was started out of turn
	kept   int
	weight map[string]int
	turn   map[string]int // of each pool with jobs: when it got its first one, or was served last
	turns  int
}

type disputed struct {
	id               sojourn.JobID
	pool             string
	tasks            int
	waiting, running int
}

func (d *dispute) observe(ev sojourn.Event) {
	ev.At = d.now
	if err := d.p.Observe(ev); err != nil {
		d.Fatal(err)
	}
}

func (d *dispute) arrive(pool string, tasks int) {
	d.turns++
	if d.live(pool) == 0 {
		d.turn[pool] = d.turns
	}
	j := &disputed{sojourn.JobID(len(d.jobs) + 1), pool, tasks, tasks, 0}
	d.jobs = append(d.jobs, j)
	d.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: j.id, Pool: pool, Phases: []sojourn.Phase{{Tasks: tasks}}}})
}

// count returns how many slots are free, and how many hold what was started out of turn.
func (d *dispute) count() (free, out int) {
	for i, j := range d.slots {
		if j == nil {
			free++
		} else if d.out[i] {
			out++
		}
	}
	return free, out
}

// live returns how many jobs of some pools are not finished.
func (d *dispute) live(pools ...string) (n int) {
	for _, j := range d.jobs {
		if slices.Contains(pools, j.pool) && j.waiting+j.running > 0 {
			n++
		}
	}
	return n
}

// small reports whether no live job has 8 times as many tasks as there are slots.
func (d *dispute) small() bool {
	for _, j := range d.jobs {
		if j.waiting+j.running > 0 && j.tasks >= 8*len(d.slots) {
			return false
		}
	}
	return true
}

// running returns the tasks of a pool over its weight.
func (d *dispute) running(pool string) float64 {
	n := 0
	for _, j := range d.jobs {
		if j.pool == pool {
			n += j.running
		}
	}
	return float64(n) / float64(d.weight[pool])
}

// offer compares one answer with the rule.
func (d *dispute) offer(slot int) {
	free, out := d.count()
	open := free+out > d.kept || d.live("a", "b", "c") == 1 && d.small()
	a, ok := d.p.Assign(sojourn.SlotID(slot))
	var chosen *disputed
	skipped := false
	if ok {
		chosen = d.jobs[a.Task.Job-1]
		if chosen.running > 0 && !open {
			d.Fatalf("job %d, of which %d tasks run, starts one on one of %d free slots, with %d out of turn and %d reserved", chosen.id, chosen.running, free, out, d.kept)
		}
	}
	for _, j := range d.jobs {
		if j.waiting == 0 {
			continue
		}
		if chosen != nil {
			ahead := d.running(j.pool) - d.running(chosen.pool)
			switch {
			case j.pool == chosen.pool && j.running >= chosen.running, ahead > 0, ahead == 0 && d.turn[j.pool] > d.turn[chosen.pool]:
				continue
			}
		}
		if open || j.running == 0 {
			d.Fatalf("Assign = %v, %v, want a task of job %d: %d slots are free, %d out of turn, %d reserved", a, ok, j.id, free, out, d.kept)
		}
		skipped = true
	}
	if !ok {
		return
	}
	d.turns++
	d.turn[chosen.pool] = d.turns
	chosen.waiting--
	chosen.running++
	d.slots[slot], d.tasks[slot], d.out[slot] = chosen, a, skipped
	if _, out := d.count(); out > d.kept {
		d.Fatalf("%d slots hold what was started out of turn, and %d are reserved", out, d.kept)
	}
}

// A job that runs something takes no reserved slot, pools keep their order on all other slots, and
// nothing that may start waits.
func TestReserveOfPools(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 3, 10, 30}).Draw(rt, "slots")
		share := rapid.SampledFrom([]float64{0.1, 0.34, 1}).Draw(rt, "share")
		d := &dispute{
			T: rt, kept: min(int(math.Floor(share*float64(n)+0.5)), n-1),
			slots: make([]*disputed, n), tasks: make([]sojourn.Assignment, n), out: make([]bool, n),
			weight: map[string]int{"a": 1, "b": 4, "c": 1}, turn: map[string]int{},
		}
		d.p = newWith(fair.Options{Order: fair.Running, Reserve: share, Pools: map[string]fair.Pool{"b": {Weight: 4}}})
		for i := range n {
			d.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			d.now++
			for range rapid.IntRange(0, 2).Draw(rt, "arrivals") {
				d.arrive(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "pool"), rapid.SampledFrom([]int{1, 2, 20}).Draw(rt, "tasks"))
			}
			for i, j := range d.slots {
				if j != nil && rapid.IntRange(0, 3).Draw(rt, "ends") == 0 {
					j.running--
					d.slots[i] = nil
					a := d.tasks[i]
					d.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
				}
			}
			if rapid.IntRange(0, 4).Draw(rt, "restart") == 0 { // what is held out of turn is saved
				data, err := d.p.(sojourn.Snapshotter).AppendBinary(nil)
				if err != nil {
					rt.Fatal(err)
				}
				if err := d.p.(sojourn.Snapshotter).UnmarshalBinary(data); err != nil {
					rt.Fatal(err)
				}
			}
			for i := range d.slots {
				if d.slots[i] == nil {
					d.offer(i)
				}
			}
		}
	})
}

// A stream of short jobs in one pool takes no more of the share of another than is reserved.
func TestFloodLeavesOtherPoolsTheirShare(t *testing.T) {
	const slots, kept = 50, 5
	for _, inside := range []func() sojourn.Policy{nil, constructors.LeastWork.With(leastwork.Options{}), constructors.LAS.With(baseline.LASOptions{})} {
		p := newWith(fair.Options{Order: fair.Running, Reserve: 0.1, Pools: map[string]fair.Pool{"long": {Policy: inside}, "short": {Policy: inside}}})
		now := sojourn.Time(0)
		observe := func(ev sojourn.Event) {
			t.Helper()
			ev.At = now
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		jobs, waiting := sojourn.JobID(1), 0
		fill := func() {
			for ; waiting < 2*slots; waiting++ {
				jobs++
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: jobs, Pool: "short", Phases: []sojourn.Phase{{Tasks: 1}}}})
			}
		}
		fill()
		busy := make([]*sojourn.Assignment, slots)
		long := 0
		for step := range 20 * slots {
			if step == 2*slots {
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Pool: "long", Phases: []sojourn.Phase{{Tasks: 1000}}}})
			}
			i := step % slots // one slot becomes free at a time, and the long tasks do not end
			now++
			if step < slots {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
			} else if a := busy[i]; a != nil && a.Task.Job != 1 {
				busy[i] = nil
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
			}
			fill()
			for k := range min(step+1, slots) {
				if busy[k] != nil {
					continue
				}
				if a, ok := p.Assign(sojourn.SlotID(k)); ok {
					busy[k] = &a
					if a.Task.Job == 1 {
						long++
					} else {
						waiting--
					}
				}
			}
		}
		if least := (slots - kept) / 2; long < least || long > slots/2+1 {
			t.Errorf("%T: the pool of long tasks holds %d of %d slots, want from %d to a half", inside, long, slots, least)
		}
	}
}

// Two jobs of many tasks leave the reserve free, however their pool is served. One task of a job that
// comes then starts at once.
func TestReserveStaysFree(t *testing.T) {
	const slots, kept = 50, 5
	for name, pool := range map[string]fair.Pool{
		"fair": {}, "FIFO": {FIFO: true}, "fifo": {Policy: constructors.FIFO.With(fifo.Options{})},
		"default": {Policy: constructors.LeastWork.With(leastwork.Options{})}, "las": {Policy: constructors.LAS.With(baseline.LASOptions{})},
		"hfsp": {Policy: constructors.HFSP.With(hfsp.Options{})},
	} {
		p := newWith(fair.Options{Reserve: 0.1, Pools: map[string]fair.Pool{"a": pool, "c": {Policy: constructors.FIFO.With(fifo.Options{})}}})
		arrive := func(id sojourn.JobID, pool string, tasks int) {
			if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{{Tasks: tasks}}}}); err != nil {
				t.Fatal(err)
			}
		}
		for id := range sojourn.SlotID(slots) {
			if err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}}); err != nil {
				t.Fatal(err)
			}
		}
		started := 0
		fill := func() {
			for id, ok := p.(sojourn.Seeker).Seek(0); ok; id, ok = p.(sojourn.Seeker).Seek(0) {
				p.Assign(id)
				started++
			}
		}
		arrive(1, "a", 2*slots)
		arrive(2, "a", 2*slots)
		want := slots - kept
		if pool.FIFO {
			want++ // the first of the second job, which runs nothing yet
		}
		if fill(); started != want {
			t.Errorf("%s: %d tasks start on %d slots, of which %d are reserved, want %d", name, started, slots, kept, want)
		}
		arrive(3, "b", 2)
		if fill(); started != want+1 {
			t.Errorf("%s: %d tasks of the new job start, want 1", name, started-want)
		}
		arrive(4, "c", 2)
		if fill(); started != want+2 { // a policy that knows no reserve: its pool counts as one job
			t.Errorf("%s: %d tasks start of a pool that runs nothing, want 1", name, started-want-1)
		}
	}
}

// A job that stands beside pools and may not take a slot does not keep it from jobs in these pools that
// run nothing.
func TestReserveBesideAPool(t *testing.T) {
	p := newWith(fair.Options{Reserve: 0.5, Pools: map[string]fair.Pool{"a/b": {}}})
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	arrive := func(id sojourn.JobID, pool string, weight float64, tasks int) {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: pool, Weight: weight, Phases: []sojourn.Phase{{Tasks: tasks}}}})
	}
	for id := range sojourn.SlotID(100) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	arrive(1, "a", 1<<20, 1000) // beside pool b, and before it while that runs anything
	arrive(2, "a/b", 1, 1000)
	var next sojourn.SlotID
	for ; ; next++ { // until the rest is reserved
		if a, ok := p.Assign(next); !ok {
			break
		} else if next == 60 {
			t.Fatalf("Assign = %v, want none: 50 slots are reserved", a)
		}
	}
	arrive(3, "a/b", 1, 1)
	if a, ok := p.Assign(next); !ok || a.Task.Job != 3 {
		t.Errorf("Assign = %v, %v, want a task of job 3, which runs nothing", a, ok)
	}
}

// A policy that is alone in its pool keeps the reserve as if it had the cluster for itself. The virtual cluster of pfsp has the
// slots that the pool holds, so the order of jobs may differ: the large job leaves as many slots to others.
func TestReserveOfOnePool(t *testing.T) {
	histories.Share(t, 4)
	policies := map[string][2]func() sojourn.Policy{
		"pfsp":    {constructors.PFSP.With(pfsp.Options{Reserve: 0.02}), constructors.PFSP.With(pfsp.Options{})},
		"default": {constructors.LeastWork.With(leastwork.Options{}), constructors.LeastWork.With(leastwork.Options{})},
		"srpt":    {constructors.SRPT.With(baseline.SRPTOptions{Reserve: 0.02}), constructors.SRPT.With(baseline.SRPTOptions{})},
		"las":     {constructors.LAS.With(baseline.LASOptions{Reserve: 0.02}), constructors.LAS.With(baseline.LASOptions{})},
	}
	for _, name := range []string{"default", "srpt", "las", "pfsp"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				const large = 1 // always waits: in a pool, the default does not know that nobody does
				jobs := []*sim.Job{{Job: sojourn.Job{ID: large, Pool: "a", Phases: []sojourn.Phase{{Tasks: 1500}}}, Times: []sim.Times{{Each: 100 * time.Second}}}}
				now := sojourn.Time(0)
				for i := range rapid.IntRange(1, 11).Draw(rt, "jobs") {
					job := &sim.Job{At: now, Job: sojourn.Job{ID: sojourn.JobID(i + 2), Pool: "a", Phases: []sojourn.Phase{{Tasks: rapid.SampledFrom([]int{1, 3, 60}).Draw(rt, "tasks")}}}}
					job.Times = []sim.Times{{Each: time.Duration(rapid.IntRange(1, 100).Draw(rt, "time")) * time.Second}}
					jobs, now = append(jobs, job), now.Add(rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(rt, "gap"))
				}
				history := func(p sojourn.Policy) (steps []string, most int) { // until all but the large job have ended
					ended, last, running := 0, 0, 0
					cfg := sim.Config{Policy: p, Jobs: sim.Jobs(jobs...), NoAudit: true, Cluster: sim.Cluster{Nodes: []sim.Node{{Slots: []int{100}}}}}
					cfg.Hooks.Event = func(ev sojourn.Event, _ error) {
						steps = append(steps, fmt.Sprint(ev.At, ev.Kind, ev.Task, ev.Slot.ID))
						if ev.Kind == sojourn.TaskFinished && ev.Task.Job == large {
							running--
							ended++
						} else if ev.Kind == sojourn.TaskFinished {
							last = len(steps)
							if ended > 1300 {
								rt.Fatal("the large job does not wait any more")
							}
						}
					}
					cfg.Hooks.Assigned = func(_ sojourn.SlotID, a sojourn.Assignment, ok bool) {
						if ok && a.Task.Job == large {
							running++
							most = max(most, running)
						}
					}
					if _, err := sim.Run(context.Background(), cfg); err != nil {
						rt.Fatal(err)
					}
					return steps[:last], most
				}
				alone, most := history(policies[name][0]())
				inPool, mostInPool := history(newWith(fair.Options{Reserve: 0.02, Pools: map[string]fair.Pool{"a": {Policy: policies[name][1]}}}))
				if most != mostInPool || most > 99 {
					rt.Fatalf("at most %d tasks of the large job run at a time alone, and %d in a pool", most, mostInPool)
				}
				if name != "pfsp" && !slices.Equal(alone, inPool) {
					rt.Fatalf("alone: %v\nin a pool: %v", alone, inPool)
				}
			})
		})
	}
}
