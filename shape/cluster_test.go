package shape_test

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/shape"
)

// A tape supplies numbers below n, as rapid or a fuzzer does.
type tape func(n int) int

// story runs a random history: nodes come, change and leave, attempts start, end and are adopted.
// After each step, the free slots are what fits.
func story(tb rapid.TB, next tape, reserves, anyNode bool) {
	amounts := []int64{0, 1, 2, 3, 5, 8, math.MaxInt64 / 2, math.MaxInt64}
	draw := func() shape.Resources {
		return shape.Resources{amounts[next(len(amounts))], amounts[next(len(amounts))]}
	}
	opts := shape.Options{Patience: -1, AnyNode: anyNode}
	if reserves {
		opts.Patience, opts.Reserved = time.Duration(1+next(5)), 1+next(3)
	}
	for range 1 + next(4) {
		s := draw()
		s[0] = max(s[0], 1)
		opts.Shapes = append(opts.Shapes, s)
	}
	d := newDriver(tb, newFIFO(tb), opts)
	jobs := sojourn.JobID(0)
	for range 5 + next(40) {
		d.now += sojourn.Time(next(4))
		id := sojourn.NodeID(1 + next(3))
		class := next(len(opts.Shapes))
		_, present := d.rooms[id]
		busy := slices.ContainsFunc(d.running, func(a attempt) bool { return a.node == id })
		room := draw()
		switch next(8) {
		case 0, 1:
			events, err := d.c.AppendNode(nil, d.now, id, 0, room)
			if (err == nil) != (!present && !busy) {
				tb.Fatalf("AppendNode(%d) = %v, present %v, busy %v", id, err, present, busy)
			}
			if err == nil {
				d.rooms[id] = room
			}
			d.report(events)
		case 2:
			events, err := d.c.AppendResize(nil, d.now, id, room)
			if (err == nil) != present {
				tb.Fatalf("AppendResize(%d) = %v, present %v", id, err, present)
			}
			if present {
				d.rooms[id] = room
			}
			d.report(events)
		case 3:
			events, err := d.c.AppendLoss(nil, d.now, id)
			if (err == nil) != present {
				tb.Fatalf("AppendLoss(%d) = %v, present %v", id, err, present)
			}
			delete(d.rooms, id)
			d.report(events)
		case 4:
			jobs++
			d.job(jobs, "", class, 1+next(5))
		case 5:
			if len(d.running) > 0 {
				d.end(next(len(d.running)))
			}
		case 6:
			jobs++
			d.job(jobs, "", class, 1)
			used, over := int64(0), false
			for r, need := range opts.Shapes[class] {
				used = 0
				for _, a := range d.running {
					if a.node == id {
						used += opts.Shapes[a.class][r]
					}
				}
				over = over || used > math.MaxInt64-need
			}
			events, slot, err := d.c.AppendAdopt(nil, d.now, id, sojourn.Class(class))
			if (err == nil) != (present && !over) {
				tb.Fatalf("AppendAdopt(%d, %d) = %v, present %v, too much %v", id, class, err, present, over)
			}
			d.report(events)
			if err == nil {
				a := sojourn.Assignment{Task: sojourn.TaskID{Job: jobs}, Attempt: 1, Slot: slot}
				d.observe(sojourn.Event{Kind: sojourn.TaskAdopted, Task: a.Task, Attempt: 1, Slot: sojourn.Slot{ID: slot}})
				delete(d.free, slot)
				d.running = append(d.running, attempt{a, id, sojourn.Class(class), d.now})
			}
		case 7:
			d.offer()
		}
		d.check(reserves)
		for _, a := range d.running {
			room, present := d.rooms[a.node]
			over := false
			for r, need := range opts.Shapes[a.class] {
				used := int64(0)
				for _, b := range d.running {
					if b.node == a.node {
						used += opts.Shapes[b.class][r]
					}
				}
				over = over || present && need > 0 && used > room[r]
			}
			if got := d.c.Overdrawn(a.Slot); got != over {
				tb.Fatalf("Overdrawn(%d) = %v, want %v", a.Slot, got, over)
			}
		}
		for slot := range d.free {
			if d.c.Overdrawn(slot) {
				tb.Fatalf("Overdrawn(%d), which is free", slot)
			}
		}
		for c, need := range opts.Shapes {
			holds := false
			for _, room := range d.rooms {
				holds = holds || need[0] <= room[0] && need[1] <= room[1]
			}
			if got := d.c.Holds(sojourn.Class(c)); got != holds {
				tb.Fatalf("Holds(%d) = %v, want %v: %v in %v", c, got, holds, need, d.rooms)
			}
		}
	}
}

// Free slots are what fits, whatever happens. With reservations, some of it may be closed.
func TestFreeSlotsAreWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		story(t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }, rapid.Bool().Draw(t, "reserves"), rapid.Bool().Draw(t, "any node"))
	})
}

func FuzzCluster(f *testing.F) {
	for _, seed := range []string{"", "aA0zZ9", strings.Repeat("\x00\x04\x07\x05\x01", 40), strings.Repeat("\x07\x00\x06\x03\x02\x05", 50), strings.Repeat("\x03\x00\x04\x07\x05", 50)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		i := 0
		next := func(n int) int {
			if i >= len(data) {
				return 0
			}
			i++
			return int(data[i-1]) % n
		}
		mode := next(4)
		story(t, next, mode&1 != 0, mode&2 != 0)
	})
}

// Every attempt ends within D. Small tasks keep every node full, and a job of large ones waits. With
// reservations each class with tasks is served within the bound; without, the large ones starve.
func TestNoShapeStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const d, patience = 20, 30
		shapes := []shape.Resources{{1, 1}, {2, 1}, {5, 3}, {8, 8}}
		total := shape.Resources{24, 24}
		p := newFIFO(t)
		if rapid.Bool().Draw(t, "fair") {
			p = newFair(t, shapes, total)
		}
		run := newDriver(t, p, shape.Options{Shapes: shapes, Patience: patience,
			Reserved: rapid.IntRange(1, 2).Draw(t, "reserved"), AnyNode: rapid.Bool().Draw(t, "any node")})
		for id := range sojourn.NodeID(3) {
			run.node(id+1, 8, 8)
		}
		for class := range shapes {
			run.job(sojourn.JobID(class+1), string(rune('a'+class)), class, 1<<20)
		}
		ends := map[sojourn.TaskID]sojourn.Time{}
		last := make([]sojourn.Time, len(shapes))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for run.now < 600 {
			for i := 0; i < len(run.running); {
				if ends[run.running[i].Task] <= run.now {
					run.end(i)
				} else {
					i++
				}
			}
			run.offer()
			for _, a := range run.running {
				if ends[a.Task] == 0 {
					ends[a.Task] = run.now + 1 + sojourn.Time(r.IntN(d))
					last[a.class] = run.now
				}
			}
			for class, at := range last {
				if most := patience + sojourn.Time(len(shapes)*d); run.now-at > most {
					t.Fatalf("at %d no task of class %d has started since %d, want one within %d", run.now, class, at, most)
				}
			}
			run.now++
		}
	})
}

// Without reservations, large tasks starve: this is what the bound is about.
func TestLargeTasksStarveWithoutReservation(t *testing.T) {
	for _, patience := range []time.Duration{-1, 30} {
		run := newDriver(t, newFIFO(t), shape.Options{Shapes: []shape.Resources{{1}, {8}}, Patience: patience})
		run.node(1, 8)
		run.job(1, "", 0, 1<<20)
		run.job(2, "", 1, 3)
		run.offer()
		large := 0
		for range 1000 {
			run.now++
			if a := run.running[0]; a.class == 1 {
				large++
			}
			run.end(0)
			run.offer()
		}
		if want := map[bool]int{true: 0, false: 3}[patience < 0]; large != want {
			t.Errorf("with a patience of %d, %d large tasks have run, want %d", patience, large, want)
		}
	}
}

// Nothing is reserved for a class that wants nothing, and a reservation ends when it is not needed.
func TestReservationsEnd(t *testing.T) {
	run := newDriver(t, newFIFO(t), shape.Options{Shapes: []shape.Resources{{1}, {4}, {8}}, Patience: 10})
	run.node(1, 8)
	run.job(1, "", 0, 1<<20)
	run.offer()
	if at, ok := run.c.NextReserve(); !ok || at != 10 {
		t.Fatalf("NextReserve = %d, %v, want 10", at, ok)
	}
	run.now = 10
	run.offer() // the large classes want nothing, so the node is reserved for small tasks
	run.now = 15
	run.end(0)
	if len(run.free) != 1 {
		t.Fatalf("%v are free where one small task has ended", run.free)
	}
	run.offer()
	run.job(2, "", 2, 1)
	run.now = 21 // the large classes were found to want nothing at 10, and a small task started at 15
	run.offer()
	if _, ok := run.c.NextReserve(); ok {
		t.Error("NextReserve = true with the one reservation taken")
	}
	run.end(0)
	if len(run.free) != 0 {
		t.Errorf("node 1 is reserved for a task of 8, but %v are free", run.free)
	}
	run.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 2}})
	for len(run.running) > 0 {
		run.end(0)
	}
	run.offer()
	if len(run.running) != 8 {
		t.Errorf("%d tasks run when the reservation has ended, want 8", len(run.running))
	}
	run.check(false)
}

// Section 6.1 of the paper: 48 nodes with 4 CPUs and 14 GB. First tasks of job 1 take <1, 10> and those
// of job 2 <1, 1>: about 70% of memory and 75% of CPUs. Then they take <2, 4> and <1, 3>: half of the
// CPUs each. Then <1, 7> and <1, 4>, where memory is the dominant resource of both.
//
// Reference: [Ghodsi et al., Dominant resource fairness, NSDI 2011], figure 5.
func TestDynamicSharesOfDRF(t *testing.T) {
	for _, anyNode := range []bool{false, true} {
		dynamicShares(t, anyNode)
	}
}

func dynamicShares(t *testing.T, anyNode bool) {
	shapes := []shape.Resources{{1, 10}, {1, 1}, {2, 4}, {1, 3}, {1, 7}, {1, 4}}
	d := newDriver(t, newFair(t, shapes, shape.Resources{48 * 4, 48 * 14}), shape.Options{Shapes: shapes, Patience: -1, AnyNode: anyNode})
	for id := range sojourn.NodeID(48) {
		d.node(id+1, 4, 14)
	}
	for stage, want := range [][2]float64{{0.7, 0.75}, {0.5, 0.5}, {0.5, 0.5}} {
		for k := range 2 {
			d.job(sojourn.JobID(2*stage+k+1), []string{"job1", "job2"}[k], 2*stage+k, 1<<20)
		}
		if stage > 0 { // what ran before ends, in any order, and the jobs start no more of it
			for k := range 2 {
				d.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: sojourn.JobID(2*stage + k - 1)}})
			}
		}
		r := rand.New(rand.NewPCG(uint64(stage), 7))
		for range 2000 {
			d.offer()
			d.end(r.IntN(len(d.running)))
		}
		d.offer()
		var cpu, memory [2]float64
		for _, a := range d.running {
			cpu[a.class%2] += float64(d.shapes[a.class][0]) / (48 * 4)
			memory[a.class%2] += float64(d.shapes[a.class][1]) / (48 * 14)
		}
		for k := range 2 {
			if share := max(cpu[k], memory[k]); share < want[k]-0.1 || share > want[k]+0.1 {
				t.Errorf("stage %d: job %d has %.2f of its dominant resource, want about %v", stage+1, k+1, share, want[k])
			}
		}
	}
}

// Events for a placement under DRF, with its end, in a full cluster where all of 20 shapes have tasks.
// Large tasks keep their share, and each of them opens and closes slots of many classes.
func TestEventsOfAPlacement(t *testing.T) {
	for _, tc := range []struct {
		policy  string
		anyNode bool
		most    float64
	}{{"fair", false, 14}, {"fair", true, 5}, {"fifo", true, 1.1}} {
		d, r := fullCluster(t, 50, tc.policy, tc.anyNode)
		seen, placed := d.seen, 0
		for range 1000 {
			d.now++
			before := len(d.running)
			d.end(r.IntN(before))
			d.offer()
			placed += len(d.running) - before + 1
		}
		if got := float64(d.seen-seen) / float64(placed); got > tc.most {
			t.Errorf("%s, any node %v: %.1f events for a placement, want at most %v", tc.policy, tc.anyNode, got, tc.most)
		}
	}
}

// fullCluster fills nodes of 64 CPUs and 256 GB with tasks of 20 shapes, of 200 jobs in 5 pools.
func fullCluster(tb rapid.TB, nodes sojourn.NodeID, policy string, anyNode bool) (*driver, *rand.Rand) {
	r := rand.New(rand.NewPCG(1, 2))
	var shapes []shape.Resources
	for range 20 {
		cpu := int64(250) << r.IntN(7)
		shapes = append(shapes, shape.Resources{cpu, cpu << r.IntN(4), 1})
	}
	n := int64(nodes)
	p := newFIFO(tb)
	if policy == "fair" {
		p = newFair(tb, shapes, shape.Resources{64_000 * n, 256_000 * n, 110 * n})
	}
	d := newDriver(tb, p, shape.Options{Shapes: shapes, AnyNode: anyNode})
	for id := range nodes {
		d.node(id+1, 64_000, 256_000, 110)
	}
	for i := range 200 {
		d.job(sojourn.JobID(i+1), string(rune('a'+i%5)), r.IntN(len(shapes)), 1<<20)
	}
	d.offer()
	return d, r
}

// BenchmarkProjected measures an end and the placements that follow, with the account of the test.
func BenchmarkProjected(b *testing.B) {
	for _, name := range []string{"fifo", "fair", "fifo, any node", "fair, any node"} {
		b.Run(name, func(b *testing.B) {
			policy, _, anyNode := strings.Cut(name, ",")
			d, r := fullCluster(b, 1000, policy, anyNode)
			seen, n := d.seen, -len(d.running)
			b.ReportAllocs()
			for b.Loop() {
				d.now++
				d.end(r.IntN(len(d.running)))
				d.offer()
				n++
			}
			n += len(d.running)
			b.ReportMetric(float64(d.seen-seen)/float64(n), "events/placement")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/placement")
		})
	}
}

// Bad input gets an error that says what is wrong.
func TestRefusals(t *testing.T) {
	many := make([]shape.Resources, 257)
	for i := range many {
		many[i] = shape.Resources{1}
	}
	for _, tc := range []struct {
		opts shape.Options
		want string
	}{
		{shape.Options{}, "shape: 0 Shapes: want 1 to 256"},
		{shape.Options{Shapes: many}, "shape: 257 Shapes: want 1 to 256; Quantize makes fewer"},
		{shape.Options{Shapes: []shape.Resources{{1}, {0}}}, "Shapes[1] needs nothing"},
		{shape.Options{Shapes: []shape.Resources{{}}}, "Shapes[0] has 0 resources"},
		{shape.Options{Shapes: []shape.Resources{{1}, {1, 2}}}, "Shapes[1] has 2 resources: want 1"},
		{shape.Options{Shapes: []shape.Resources{{1, -2}}}, "Shapes[0] has -2 of resource 1: want at least 0"},
		{shape.Options{Shapes: []shape.Resources{{1}}, Reserved: -1}, "Reserved is -1"},
	} {
		if _, err := shape.New(newFIFO(t), tc.opts); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New(%+v) = %v, want %q", tc.opts, err, tc.want)
		}
	}
	good := shape.Options{Shapes: []shape.Resources{{1, 1}}}
	least, err := constructors.LeastWork(leastwork.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := pooled.Fair(fair.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []sojourn.Policy{least, plain} {
		if _, err := shape.New(p, good); !errors.Is(err, sojourn.ErrUnsupported) {
			t.Errorf("New(%T) = %v, want ErrUnsupported", p, err)
		}
	}
	c, err := shape.New(newFIFO(t), good)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"no ID":       func() error { _, err := c.AppendNode(nil, 0, 0, 0, shape.Resources{1, 1}); return err },
		"negative":    func() error { _, err := c.AppendNode(nil, 0, 1, 0, shape.Resources{1, -1}); return err },
		"short":       func() error { _, err := c.AppendNode(nil, 0, 1, 0, shape.Resources{1}); return err },
		"resize":      func() error { _, err := c.AppendResize(nil, 0, 1, shape.Resources{1, 1}); return err },
		"loss":        func() error { _, err := c.AppendLoss(nil, 0, 1); return err },
		"adopt, node": func() error { _, _, err := c.AppendAdopt(nil, 0, 1, 0); return err },
		"no such slot": func() (err error) {
			defer func() { _ = recover(); err = errors.New("panic") }()
			c.AppendStart(nil, 0, 7)
			return
		},
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, tc := range []struct {
		shapes []shape.Resources
		total  shape.Resources
	}{
		{[]shape.Resources{{0}}, shape.Resources{1}}, {[]shape.Resources{{2}}, shape.Resources{1}}, {[]shape.Resources{{1}}, shape.Resources{0}},
		{[]shape.Resources{{1}}, shape.Resources{-1}}, {[]shape.Resources{{1}}, shape.Resources{1, 1}}, {nil, shape.Resources{1}},
	} {
		if got, err := shape.Costs(tc.shapes, tc.total); err == nil {
			t.Errorf("Costs(%v, %v) = %v, want an error", tc.shapes, tc.total, got)
		}
	}
}

// A full node on which nothing waits is reserved for nobody: all is asked again after the patience.
func TestNothingIsReservedForClassesThatWantNothing(t *testing.T) {
	run := newDriver(t, newFIFO(t), shape.Options{Shapes: []shape.Resources{{1}, {8}}, Patience: 10})
	run.node(1, 8)
	run.job(1, "", 0, 8)
	run.offer()
	run.now = 10
	run.offer()
	if at, ok := run.c.NextReserve(); !ok || at != 20 {
		t.Errorf("NextReserve = %d, %v, want 20, true", at, ok)
	}
}

// counting counts the events that a policy observes.
type counting struct {
	sojourn.Policy
	events int
}

func (c *counting) Observe(ev sojourn.Event) error {
	c.events++
	return c.Policy.Observe(ev)
}

func (c *counting) Unwrap() sojourn.Policy { return c.Policy }

// AppendReserve asks nothing of the policy before NextReserve, also if a class is due that found no node.
func TestNothingIsAskedBeforeNextReserve(t *testing.T) {
	p := &counting{Policy: newFIFO(t)}
	run := newDriver(t, p, shape.Options{Shapes: []shape.Resources{{1}, {4}, {8}}, Patience: 10, Reserved: 2})
	run.node(1, 8)
	run.job(1, "", 0, 8)
	run.job(2, "", 1, 1)
	run.job(3, "", 2, 1)
	run.offer()
	asked := 0
	for run.now < 100 {
		run.now++
		next, ok := run.c.NextReserve()
		before := p.events
		run.must(run.c.AppendReserve(run.events[:0], run.now)) // at 10 for one of the two classes
		if p.events == before {
			continue
		}
		if asked++; !ok || run.now < next {
			t.Fatalf("the policy observes %d events at %d, want none: NextReserve = %d, %v", p.events-before, run.now, next, ok)
		}
	}
	if asked < 2 {
		t.Errorf("the policy is asked %d times, want 2 and more", asked)
	}
}

// small fills a node of 8 with tasks of 1, which never run out. Tasks of 4 and of 8 do not fit.
func small(t *testing.T) *driver {
	run := newDriver(t, newFIFO(t), shape.Options{Shapes: []shape.Resources{{1}, {4}, {8}}, Patience: 10})
	run.node(1, 8)
	run.job(1, "", 0, 1<<20)
	return run
}

// ended ends one of the tasks of 1, and returns the class of what starts; -1 if nothing does.
func (d *driver) ended() int {
	d.end(slices.IndexFunc(d.running, func(a attempt) bool { return a.class == 0 }))
	before := len(d.running)
	d.offer()
	if len(d.running) == before {
		return -1
	}
	return int(d.running[before].class)
}

// Of two classes that are due, the one that was served longer ago goes first, whatever their numbers.
func TestTheClassThatWaitsLongestGoesFirst(t *testing.T) {
	run := small(t)
	run.now = 3
	run.job(2, "", 1, 2)
	run.start(slices.Collect(maps.Keys(run.slotsOf(1)))[0]) // a task of 4, at 3
	run.job(3, "", 2, 1)
	run.now = 20 // the driver is late: the task of 8 is due since 10, that of 4 since 13
	run.offer()
	run.end(slices.IndexFunc(run.running, func(a attempt) bool { return a.class == 1 }))
	run.offer()
	for len(run.running) > 0 && run.running[0].class == 0 {
		if got := run.ended(); got == 1 {
			t.Fatal("a task of 4 starts, which was served at 3, before one of 8, which never was")
		}
	}
	if len(run.running) != 1 || run.running[0].class != 2 {
		t.Errorf("%+v run, want the task of 8", run.running)
	}
}

// Once a reservation has ended, the next class that is due gets one at once.
func TestTheNextClassIsReservedForAtOnce(t *testing.T) {
	run := small(t)
	run.offer()
	run.now = 5
	run.ended() // another task of 1 starts, so that these are not due before 15
	run.job(2, "", 1, 1)
	run.job(3, "", 2, 1)
	run.now = 10
	run.offer()
	run.now = 11
	for k, want := range []int{-1, -1, -1, 1, -1, -1, -1, -1} { // the task of 4, and then the node is kept for that of 8
		if got := run.ended(); got != want {
			t.Fatalf("after %d ends, what starts is of class %d, want %d", k+1, got, want)
		}
	}
}

// A node that has become too small for the class that it is reserved for goes back to the others.
func TestAShrinkEndsAReservation(t *testing.T) {
	run := small(t)
	run.offer()
	run.now = 5
	run.ended() // another task of 1 starts, so that these are not due before 15
	run.job(2, "", 2, 1)
	run.now = 10
	run.offer()
	if got := run.ended(); got != -1 {
		t.Fatalf("a task of class %d starts on a node that is reserved", got)
	}
	run.rooms[1] = shape.Resources{7}
	run.must(run.c.AppendResize(nil, run.now, 1, shape.Resources{7}))
	run.check(false)
	if got := run.ended(); got != 0 {
		t.Errorf("what starts is of class %d, want 0: the node can never hold a task of 8", got)
	}
	if at, ok := run.c.NextReserve(); !ok {
		t.Errorf("NextReserve = %d, %v: the reservation is not given back", at, ok)
	}
}

// reservedFirst returns two nodes full of small tasks, of which the first is reserved for a task of 8.
func reservedFirst(t *testing.T) *driver {
	run := newDriver(t, newFIFO(t), shape.Options{Shapes: []shape.Resources{{1}, {8}}, Patience: 10})
	run.node(1, 8)
	run.node(2, 8)
	run.job(1, "", 0, 1000)
	run.offer()
	run.now = 5
	run.endOn(1) // another small task starts, so that these are not due before 15
	run.job(2, "", 1, 1)
	run.now = 10
	run.offer()
	return run
}

// endOn ends an attempt on a node, and offers what is free.
func (d *driver) endOn(node sojourn.NodeID) {
	d.end(slices.IndexFunc(d.running, func(a attempt) bool { return a.node == node }))
	d.offer()
}

// If a reserved node leaves, another one is reserved at once.
func TestALossMovesAReservation(t *testing.T) {
	run := reservedFirst(t)
	delete(run.rooms, 1)
	run.must(run.c.AppendLoss(nil, run.now, 1))
	run.offer()
	for range 8 {
		run.endOn(2)
	}
	if last := run.running[len(run.running)-1]; last.node != 2 || last.class != 1 {
		t.Errorf("after 8 tasks have ended on node 2, the latest start is %+v, want the task of 8 there", last)
	}
}

// If a class is served elsewhere, the node that was reserved for it has its room back at once.
func TestAReservedNodeThatIsNotNeededOpens(t *testing.T) {
	run := reservedFirst(t)
	run.endOn(1)
	if len(run.running) != 15 {
		t.Fatalf("%d tasks run, want 15: node 1 is reserved", len(run.running))
	}
	run.node(3, 8)
	id, ok := run.c.Policy().(sojourn.Seeker).Seek(1)
	if !ok {
		t.Fatal("the task of 8 does not want node 3")
	}
	run.start(id)
	run.check(false)
}

// The node that is reserved is the one where the least must end, in parts of the node; among equals
// the one of the least ID, in whatever order nodes came.
func TestTheEmptiestNodeIsReserved(t *testing.T) {
	for _, tc := range []struct {
		used [3]int // by node, of 8
		want sojourn.NodeID
	}{{[3]int{8, 8, 8}, 1}, {[3]int{8, 7, 8}, 2}, {[3]int{8, 7, 6}, 3}, {[3]int{6, 7, 8}, 1}, {[3]int{8, 6, 6}, 2}} {
		for _, order := range [][]sojourn.NodeID{{1, 2, 3}, {3, 2, 1}, {2, 3, 1}} {
			run := newDriver(t, newFIFO(t), shape.Options{Shapes: []shape.Resources{{1}, {8}}, Patience: 10})
			run.job(1, "", 0, tc.used[0]+tc.used[1]+tc.used[2])
			for _, id := range order {
				run.node(id, int64(tc.used[id-1])) // as much as is to run there
				run.offer()
			}
			for id := range sojourn.NodeID(3) {
				run.rooms[id+1] = shape.Resources{8}
				run.must(run.c.AppendResize(nil, 0, id+1, shape.Resources{8}))
			}
			run.job(2, "", 1, 1)
			run.now = 10
			run.offer()
			run.job(3, "", 0, 100)
			run.offer() // fills what is not reserved
			for id, n := range tc.used {
				for _, a := range run.running {
					if a.node == sojourn.NodeID(id+1) {
						n--
					}
				}
				if reserved := tc.want == sojourn.NodeID(id+1); reserved != (n == 0) && tc.used[id] < 8 {
					t.Errorf("%v used, nodes in the order %v: %d started later on node %d, want node %d reserved", tc.used, order, -n, id+1, tc.want)
				}
			}
			k := slices.IndexFunc(run.running, func(a attempt) bool { return a.node == tc.want })
			before := len(run.free)
			run.end(k)
			if len(run.free) != before {
				t.Errorf("%v used, nodes in the order %v: node %d has a free slot, want it reserved", tc.used, order, tc.want)
			}
		}
	}
}
