package locality_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A world is an account of a cluster that is as simple as possible: maps and
// linear searches. It trusts the ledger's Check to say which events fit, and
// nothing else in the ledger.
type world struct {
	ledger ledger.Ledger[struct{}]
	index  *locality.Index[struct{}]

	now   sojourn.Time
	jobs  map[sojourn.JobID]*job
	nodes map[sojourn.NodeID]node
	slots map[sojourn.SlotID]*slot
	last  sojourn.JobID
}

type job struct {
	spec  *sojourn.Job
	state [][]state // by phase and task
}

type state struct {
	at    string // "pending", "held", "running", "done"
	tries uint32
}

type node struct {
	rack  sojourn.RackID
	slots int
	down  bool
}

type slot struct {
	sojourn.Slot
	task     sojourn.TaskID // of the attempt, if any
	attempt  uint32
	busy     bool
	retiring bool
}

// The oracle looks at every task: after any history of arrivals, revisions,
// cancellations, failures and lost nodes, every question has the same answer.
func TestIndexAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			jobs:  map[sojourn.JobID]*job{},
			nodes: map[sojourn.NodeID]node{},
			slots: map[sojourn.SlotID]*slot{},
		}
		w.index = locality.New(&w.ledger)
		t.Repeat(map[string]func(*rapid.T){
			"addSlot":    w.addSlot,
			"removeSlot": w.removeSlot,
			"node":       w.changeNode,
			"arrive":     w.arrive,
			"revise":     w.revise,
			"cancel":     w.cancel,
			"task":       w.changeTask,
			"assign":     w.assign,
			"assign2":    w.assign,
			"end":        w.end,
			"end2":       w.end,
			"":           w.compare,
		})
	})
}

// observe applies an event if it fits, and reports whether it did.
func (w *world) observe(ev sojourn.Event) bool {
	ev.At = w.now
	if w.ledger.Check(&ev) != nil {
		return false
	}
	c := w.ledger.Apply(&ev)
	w.index.Update(&ev, &c)
	return true
}

func (w *world) setNode(id sojourn.NodeID, rack sojourn.RackID, change func(*node)) {
	if id == 0 {
		return
	}
	n := w.nodes[id]
	change(&n)
	if rack != 0 {
		n.rack = rack
	}
	w.nodes[id] = n
	if n.slots == 0 && !n.down {
		delete(w.nodes, id)
	}
}

const numNodes = 7 // some of them without slots

func (w *world) addSlot(t *rapid.T) {
	s := sojourn.Slot{
		ID:   sojourn.SlotID(rapid.IntRange(0, 9).Draw(t, "slot")),
		Node: sojourn.NodeID(rapid.IntRange(0, numNodes).Draw(t, "node")),
		Rack: sojourn.RackID(rapid.IntRange(0, 3).Draw(t, "rack")),
	}
	if was := w.slots[s.ID]; was != nil && was.retiring {
		s = was.Slot
	}
	if !w.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s}) {
		return
	}
	if was := w.slots[s.ID]; was != nil {
		was.retiring = false
		return
	}
	w.slots[s.ID] = &slot{Slot: s}
	w.setNode(s.Node, s.Rack, func(n *node) { n.slots++ })
}

func (w *world) removeSlot(t *rapid.T) {
	s := w.drawSlot(t, func(s *slot) bool { return !s.retiring })
	w.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: s.Slot})
	if s.busy {
		s.retiring = true
		return
	}
	w.dropSlot(s)
}

func (w *world) dropSlot(s *slot) {
	delete(w.slots, s.ID)
	w.setNode(s.Node, s.Rack, func(n *node) { n.slots-- })
}

func (w *world) drawSlot(t *rapid.T, fits func(*slot) bool) *slot {
	var list []*slot
	for id := range sojourn.SlotID(10) {
		if s := w.slots[id]; s != nil && fits(s) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		t.Skip("no such slot")
	}
	return rapid.SampledFrom(list).Draw(t, "slot")
}

func (w *world) changeNode(t *rapid.T) {
	id := sojourn.NodeID(rapid.IntRange(1, numNodes).Draw(t, "node"))
	rack := sojourn.RackID(rapid.IntRange(0, 3).Draw(t, "rack"))
	down := !w.nodes[id].down
	kind := sojourn.NodeUp
	if down {
		kind = sojourn.NodeDown
	}
	if w.observe(sojourn.Event{Kind: kind, Slot: sojourn.Slot{Node: id, Rack: rack}}) {
		w.setNode(id, rack, func(n *node) { n.down = down })
	}
}

func drawInputs(t *rapid.T, n int, keep sojourn.Inputs) sojourn.Inputs {
	lists := make([][]sojourn.NodeID, n)
	for i := range lists {
		if i < keep.Len() {
			lists[i] = keep.Of(i)
			continue
		}
		for range rapid.IntRange(0, 3).Draw(t, "replicas") {
			lists[i] = append(lists[i], sojourn.NodeID(rapid.IntRange(1, numNodes).Draw(t, "replica")))
		}
	}
	return sojourn.MakeInputs(lists)
}

func drawTasks(t *rapid.T) int {
	return rapid.SampledFrom([]int{1, 2, 3, 5, 8, 70}).Draw(t, "tasks")
}

func (w *world) arrive(t *rapid.T) {
	w.last++
	spec := &sojourn.Job{ID: w.last}
	j := &job{spec: spec}
	for range rapid.IntRange(1, 2).Draw(t, "phases") {
		n := drawTasks(t)
		ph := sojourn.Phase{Tasks: n, After: rapid.SampledFrom([]int{0, sojourn.NoBarrier}).Draw(t, "after")}
		if rapid.IntRange(0, 3).Draw(t, "inputs") > 0 {
			ph.Inputs = drawInputs(t, n, sojourn.Inputs{})
		}
		spec.Phases = append(spec.Phases, ph)
		j.state = append(j.state, slices.Repeat([]state{{at: "pending"}}, n))
	}
	spec.Phases[0].After = 0
	kind := rapid.SampledFrom([]sojourn.EventKind{sojourn.JobArrived, sojourn.JobAdopted}).Draw(t, "kind")
	if !w.observe(sojourn.Event{Kind: kind, Job: spec}) {
		t.Fatalf("the ledger refused job %d", spec.ID)
	}
	w.jobs[spec.ID] = j
}

// revise draws other numbers of tasks, or the same.
func (w *world) revise(t *rapid.T) {
	j := w.drawJob(t)
	spec := &sojourn.Job{ID: j.spec.ID, Weight: 2}
	for _, ph := range j.spec.Phases {
		n := ph.Tasks
		if rapid.Bool().Draw(t, "resize") {
			n = drawTasks(t)
		}
		if ph.Inputs.Len() > 0 {
			ph.Inputs = drawInputs(t, n, ph.Inputs)
		}
		ph.Tasks = n
		spec.Phases = append(spec.Phases, ph)
	}
	if !w.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: spec}) {
		return
	}
	j.spec = spec
	for i := range j.state {
		n := spec.Phases[i].Tasks
		for len(j.state[i]) < n {
			j.state[i] = append(j.state[i], state{at: "pending"})
		}
		j.state[i] = j.state[i][:n]
	}
	w.dropEnded(j)
}

func (w *world) drawJob(t *rapid.T) *job {
	var list []*job
	for id := range w.last + 1 {
		if j := w.jobs[id]; j != nil {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		t.Skip("no live job")
	}
	return rapid.SampledFrom(list).Draw(t, "job")
}

func (w *world) cancel(t *rapid.T) {
	j := w.drawJob(t)
	w.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: j.spec.ID}})
	delete(w.jobs, j.spec.ID)
}

func (w *world) dropEnded(j *job) {
	for _, tasks := range j.state {
		for _, st := range tasks {
			if st.at != "done" {
				return
			}
		}
	}
	delete(w.jobs, j.spec.ID)
}

// changeTask holds, readies, finishes, adopts or loses a task.
func (w *world) changeTask(t *rapid.T) {
	j := w.drawJob(t)
	phase := rapid.IntRange(0, len(j.state)-1).Draw(t, "phase")
	index := rapid.IntRange(0, len(j.state[phase])-1).Draw(t, "index")
	st := &j.state[phase][index]
	ev := sojourn.Event{
		Kind: rapid.SampledFrom([]sojourn.EventKind{
			sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.TaskAdopted, sojourn.OutputLost,
		}).Draw(t, "kind"),
		Task:    sojourn.TaskID{Job: j.spec.ID, Phase: uint16(phase), Index: uint32(index)},
		Attempt: st.tries,
	}
	var s *slot
	if ev.Kind == sojourn.TaskAdopted {
		s = w.drawSlot(t, func(s *slot) bool { return !s.busy })
		ev.Slot.ID, ev.Attempt = s.ID, st.tries+2
	}
	if !w.observe(ev) {
		return
	}
	st.at = map[sojourn.EventKind]string{
		sojourn.TaskHeld: "held", sojourn.TaskReady: "pending", sojourn.TaskDone: "done",
		sojourn.TaskAdopted: "running", sojourn.OutputLost: "pending",
	}[ev.Kind]
	if s != nil {
		st.tries = ev.Attempt
		s.busy, s.task, s.attempt = true, ev.Task, ev.Attempt
	}
	w.dropEnded(j)
}

// assign assigns a task as a policy would.
func (w *world) assign(t *rapid.T) {
	s := w.drawSlot(t, func(s *slot) bool { return !s.busy })
	j := w.drawJob(t)
	limit := drawLimit(t)
	phase := rapid.IntRange(0, len(j.state)-1).Draw(t, "phase")
	account := w.ledger.Job(j.spec.ID)
	if !account.Phase(phase).Ready() {
		t.Skip("the phase is not ready")
	}
	pick, ok := w.index.Find(account, phase, s.Slot, limit)
	if !ok {
		return
	}
	a := w.index.Take(account, phase, pick, s.ID)
	if a.Task.Index != pick.Index || a.Locality != pick.Locality || a.Source != pick.Source || a.Slot != s.ID {
		t.Fatalf("Take(%+v) = %+v", pick, a)
	}
	st := &j.state[phase][a.Task.Index]
	st.at, st.tries = "running", st.tries+1
	s.busy, s.task, s.attempt = true, a.Task, a.Attempt
}

func (w *world) end(t *rapid.T) {
	s := w.drawSlot(t, func(s *slot) bool { return s.busy })
	kind := rapid.SampledFrom([]sojourn.EventKind{
		sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused,
	}).Draw(t, "kind")
	if !w.observe(sojourn.Event{Kind: kind, Task: s.task, Attempt: s.attempt, Slot: s.Slot}) {
		t.Fatalf("the ledger refused %v", kind)
	}
	s.busy = false
	if s.retiring {
		w.dropSlot(s)
	}
	j := w.jobs[s.task.Job]
	if j == nil {
		return // cancelled
	}
	st := &j.state[s.task.Phase][s.task.Index]
	st.at = "pending"
	if kind == sojourn.TaskFinished {
		st.at = "done"
	}
	w.dropEnded(j)
}

func drawLimit(t *rapid.T) sojourn.Locality {
	return rapid.SampledFrom([]sojourn.Locality{sojourn.NodeLocal, sojourn.RackLocal, sojourn.Remote}).Draw(t, "limit")
}

// compare asks the index about every phase and a few slots.
func (w *world) compare(t *rapid.T) {
	limit := drawLimit(t)
	probe := sojourn.Slot{
		Node: sojourn.NodeID(rapid.IntRange(0, numNodes).Draw(t, "probe")),
		Rack: sojourn.RackID(rapid.IntRange(0, 3).Draw(t, "probeRack")),
	}
	for id, j := range w.jobs {
		account := w.ledger.Job(id)
		for phase := range j.state {
			got, ok := w.index.Find(account, phase, probe, limit)
			want, wantOK := w.find(j, phase, probe, limit)
			if ok != wantOK || ok && got != want {
				t.Fatalf("Find(job %d, phase %d, %+v, %v) = %+v, %v, want %+v, %v", id, phase, probe, limit, got, ok, want, wantOK)
			}
			if got, want := w.index.Local(account, phase, probe.Node), w.local(j, phase, probe.Node); got != want {
				t.Fatalf("Local(job %d, phase %d, node %d) = %d, want %d", id, phase, probe.Node, got, want)
			}
			if got, want := w.index.HasInputs(account, phase), j.spec.Phases[phase].Inputs.Len() > 0; got != want {
				t.Fatalf("HasInputs(job %d, phase %d) = %v, want %v", id, phase, got, want)
			}
			w.compareFreeSlot(t, j, phase, limit)
		}
	}
}

func (w *world) compareFreeSlot(t *rapid.T, j *job, phase int, limit sojourn.Locality) {
	var want sojourn.SlotID
	wantOK := false
	for id := range sojourn.SlotID(10) {
		if s := w.slots[id]; s != nil && !s.busy && !wantOK {
			if _, ok := w.find(j, phase, s.Slot, limit); ok {
				want, wantOK = id, true
			}
		}
	}
	got, ok := w.index.FreeSlot(w.ledger.Job(j.spec.ID), phase, limit)
	if ok != wantOK || ok && got != want {
		t.Fatalf("FreeSlot(job %d, phase %d, %v) = %d, %v, want %d, %v", j.spec.ID, phase, limit, got, ok, want, wantOK)
	}
}

// find tries every pending task, with every node of its input, and keeps the one
// with the least key.
func (w *world) find(j *job, phase int, s sojourn.Slot, limit sojourn.Locality) (best locality.Pick, ok bool) {
	rack := s.Rack
	if rack == 0 {
		rack = w.nodes[s.Node].rack
	}
	var bestKey []int // rank; for tasks on the rack, whether their node comes before the slot's, and the node; index
	for i, st := range j.state[phase] {
		if st.at != "pending" {
			continue
		}
		nodes := j.spec.Phases[phase].Inputs.Of(i)
		lost := true
		try := func(key []int, p locality.Pick, far sojourn.Locality) {
			p.Index = uint32(i)
			if key = append(key, i); far <= limit && (bestKey == nil || slices.Compare(key, bestKey) < 0) {
				best, bestKey = p, key
			}
		}
		for at, n := range nodes {
			if w.nodes[n].down {
				continue
			}
			if lost { // the first one that is up
				try([]int{4, i, at}, locality.Pick{Locality: sojourn.Remote, Source: n}, sojourn.Remote)
			}
			lost = false
			if n == s.Node {
				try([]int{1}, locality.Pick{Locality: sojourn.NodeLocal, Source: n}, sojourn.NodeLocal)
			} else if rack != 0 && w.nodes[n].rack == rack {
				before := 0
				if n < s.Node {
					before = 1
				}
				try([]int{3, before, int(n)}, locality.Pick{Locality: sojourn.RackLocal, Source: n}, sojourn.RackLocal)
			}
		}
		if len(nodes) == 0 {
			try([]int{2}, locality.Pick{}, sojourn.AnyNode)
		} else if lost {
			try([]int{4, i}, locality.Pick{Locality: sojourn.Remote}, sojourn.AnyNode)
		}
	}
	return best, bestKey != nil
}

func (w *world) local(j *job, phase int, n sojourn.NodeID) int {
	count := 0
	for i, st := range j.state[phase] {
		if st.at == "pending" && !w.nodes[n].down && slices.Contains(j.spec.Phases[phase].Inputs.Of(i), n) {
			count++
		}
	}
	return count
}

// The stop-watch is compared with one that looks at every instant.
func TestWaitAgainstCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := locality.Delay{
			Node: time.Duration(rapid.IntRange(0, 5).Draw(t, "node")),
			Rack: time.Duration(rapid.IntRange(0, 5).Draw(t, "rack")),
		}
		var w locality.Wait
		now, runs := sojourn.Time(0), false
		level, waited := 0, 0 // as in the paper
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				w.Start(now)
				runs = true
			case 1:
				w.Stop(now)
				runs = false
			case 2:
				level = rapid.IntRange(0, 2).Draw(t, "level")
				waited = 0
				w.Launched(sojourn.Assignment{Source: 1, Locality: reach[level]}, now)
			case 3:
				w.Launched(sojourn.Assignment{Locality: sojourn.Remote}, now)
			}
			next, timed := w.Next(d, 1, now)
			timed = timed && runs
			before := paperLevel(d, level, waited)
			for range rapid.IntRange(0, 8).Draw(t, "pass") {
				now++
				if runs {
					waited++
				}
				got, want := w.Limit(d, now), reach[paperLevel(d, level, waited)]
				if got != want {
					t.Fatalf("at %d: Limit(%v) = %v after level %d and a wait of %d, want %v", now, d, got, level, waited, want)
				}
				if after := paperLevel(d, level, waited); after != before {
					if !timed || next != now {
						t.Fatalf("Next(%v) = %d, %v, but the limit changed at %d", d, next, timed, now)
					}
					before = after
					next, timed = w.Next(d, 1, now)
				}
				if timed && next <= now {
					t.Fatalf("Next(%v) = %d at %d, but the limit has not changed", d, next, now)
				}
			}
		}
	})
}

// A job that takes any slot as soon as it is not allowed to wait any longer leaves at most a
// sixteenth of the slot time of its near tasks unused, if it is asked at each instant that Next
// names. The account of the test looks at every instant.
// Reference: package comment, "Delay scheduling".
func TestUnusedIsAShare(t *testing.T) {
	waits := 0
	rapid.Check(t, func(t *rapid.T) {
		d := locality.Delay{
			Node: time.Duration(rapid.SampledFrom([]int{0, 1, 5, 1000}).Draw(t, "node")),
			Rack: time.Duration(rapid.SampledFrom([]int{0, 1, 5, 1000}).Draw(t, "rack")),
		}
		var w locality.Wait
		now, used, earned, unused := sojourn.Time(0), 0, 0, 0
		level, waited, runs := 0, 0, false // as in the paper
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				took := rapid.IntRange(0, 400).Draw(t, "took")
				used += took
				earned += took / 16
				w.Used(time.Duration(took))
			case 1:
				level, waited = rapid.IntRange(0, 2).Draw(t, "level"), 0
				w.Launched(sojourn.Assignment{Source: 1, Locality: reach[level]}, now)
			case 2:
				if runs = !runs; runs {
					w.Start(now)
				} else {
					w.Stop(now)
				}
			}
			n := rapid.IntRange(1, 20).Draw(t, "free")
			from := now
			for range rapid.IntRange(0, 30).Draw(t, "pass") {
				may := unused+n <= earned
				if w.Allows(n) != may {
					t.Fatalf("Allows(%d) = %v after %d of %d were left unused, want %v", n, !may, unused, earned, may)
				}
				limit := paperLevel(d, level, waited)
				next, timed := w.Next(d, n, now)
				if !may || limit == 2 {
					break // it takes a slot
				}
				w.Unused(n, now, now+1)
				now, waited, unused, waits = now+1, waited+1, unused+n, waits+1
				changes := unused+n > earned || paperLevel(d, level, waited) != limit
				if changes != (timed && next == now) {
					t.Fatalf("Next(%v, %d) = %d, %v at %d, want a change at the next instant: %v", d, n, next, timed, now-1, changes)
				}
			}
			if 16*unused > used {
				t.Fatalf("from %d to %d: %d left unused, of %d used", from, now, unused, used)
			}
			if rapid.Bool().Draw(t, "idle") { // no slot is free
				dt := rapid.IntRange(0, 30).Draw(t, "dt")
				if now += sojourn.Time(dt); runs {
					waited += dt
				}
			}
		}
	})
	if waits == 0 {
		t.Error("no job ever left a slot unused")
	}
}

// reach is how far a task may be from its input at each level.
var reach = []sojourn.Locality{sojourn.NodeLocal, sojourn.RackLocal, sojourn.Remote}

// paperLevel returns the level at which a job may launch a task, by the
// conditions of algorithm 3 in the paper's appendix.
func paperLevel(d locality.Delay, level, waited int) int {
	w1, w2 := int(d.Node), int(d.Rack)
	switch {
	case level == 2 || level == 1 && waited >= w2 || level == 0 && waited >= w1+w2:
		return 2
	case level >= 1 || waited >= w1:
		return 1
	}
	return 0
}
