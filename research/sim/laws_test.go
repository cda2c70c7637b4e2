package sim_test

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// drawConfig draws a cluster, jobs, inputs and a network to read them over, faults, and a
// policy that starts any task that may start, at once or later. The laws below hold for
// all of them.
func drawConfig(t *rapid.T) (sim.Config, []*sim.Job) {
	_, jobs := drawWorkload(t, func(t *rapid.T, p int) int {
		return rapid.SampledFrom([]int{0, 0, sojourn.NoBarrier, 1, 2}).Draw(t, "after")
	})
	drawNeeds(t, jobs)
	for _, j := range jobs {
		if rapid.Bool().Draw(t, "delays") {
			d := make([]time.Duration, j.Phases[0].Tasks)
			for i := range d {
				d[i] = time.Duration(rapid.IntRange(0, 9).Draw(t, "delay")) * time.Millisecond
			}
			j.Phases[0].Delays = d
		}
	}
	c := mapReduce(rapid.IntRange(1, 4).Draw(t, "nodes"), rapid.IntRange(1, 2).Draw(t, "maps"), rapid.IntRange(1, 2).Draw(t, "reduces"))
	for i := range c.Nodes {
		c.Nodes[i].Speed = rapid.SampledFrom([]float64{0, 1, 0.5, 3}).Draw(t, "speed")
	}
	dice := rapid.Uint64().Draw(t, "dice")
	pick := func(tasks []sojourn.TaskID) int {
		dice = dice*6364136223846793005 + 1442695040888963407
		return int(dice >> 33 % uint64(len(tasks)))
	}
	policy := &idler{table: newTable(pick), idle: make([]time.Duration, 2), lazy: rapid.Bool().Draw(t, "lazy")}
	policy.pick = policy.mayDecline(pick)
	cfg := sim.Config{Cluster: c, Jobs: sim.Jobs(jobs...), Policy: policy, Records: true, Seed: dice}
	if rapid.Bool().Draw(t, "network") {
		cfg.Network = sim.Network{
			Bandwidth: rapid.Int64Range(1, 20).Draw(t, "bandwidth") * 1000,
			Split:     rapid.Int64Range(1, 60).Draw(t, "split"),
			Overlap:   rapid.Bool().Draw(t, "overlap"),
		}
		for _, j := range jobs {
			for i := range j.Phases {
				drawInputs(t, &j.Phases[i], len(c.Nodes))
			}
		}
	}
	if rapid.Bool().Draw(t, "stragglers") {
		cfg.Stragglers = sim.Stragglers{Probability: 0.3, Factor: 2.5}
	}
	if rapid.Bool().Draw(t, "progress") {
		cfg.Progress = 2 * time.Millisecond
	}
	if rapid.Bool().Draw(t, "faults") {
		cfg.Faults = sim.Faults{Task: 0.2, Refuse: 0.2}
	}
	if rapid.Bool().Draw(t, "failing nodes") {
		cfg.Faults.MTBF, cfg.Faults.MTTR = 20*time.Millisecond, 3*time.Millisecond
		cfg.Faults.LoseOutput = rapid.Bool().Draw(t, "lose output")
	}
	return cfg, jobs
}

// drawInputs gives inputs, and perhaps sizes, to the tasks of a phase. Some are on a node
// that the cluster does not list.
func drawInputs(t *rapid.T, ph *sojourn.Phase, nodes int) {
	node := rapid.Map(rapid.IntRange(1, nodes+1), func(i int) sojourn.NodeID { return sojourn.NodeID(i) })
	lists := make([][]sojourn.NodeID, ph.Tasks)
	for i := range lists {
		lists[i] = rapid.SliceOfN(node, 0, 3).Draw(t, "inputs")
	}
	ph.Inputs = sojourn.MakeInputs(lists)
	if rapid.Bool().Draw(t, "sizes") {
		ph.Bytes = rapid.SliceOfN(rapid.Int64Range(0, 60), ph.Tasks, ph.Tasks).Draw(t, "bytes")
	}
}

// An idler is a table that may leave slots free for an instant while a task of a first
// phase runs, whose end is certain. It counts how long slots were free although a task
// could have started on them.
type idler struct {
	*table
	lazy bool
	idle []time.Duration // by class, in slots times nanoseconds
}

// mayDecline makes pick decline everything at some instants. Whether it declines follows
// from the latest event and from what has started since.
func (p *idler) mayDecline(pick func([]sojourn.TaskID) int) func([]sojourn.TaskID) int {
	return func(tasks []sojourn.TaskID) int {
		maps, all := 0, 0
		for _, e := range p.jobs {
			for ph, state := range e.state {
				n := bytes.Count(state, []byte("r"))
				all += n
				if ph == 0 {
					maps += n
				}
			}
		}
		if p.lazy && maps > 0 && (uint64(p.now)/1e6+uint64(all))%3 == 0 {
			return -1
		}
		return pick(tasks)
	}
}

func (p *idler) Observe(ev sojourn.Event) error {
	if len(p.jobs) > 0 {
		for class := range p.idle {
			p.idle[class] += time.Duration(p.wasted(sojourn.Class(class))) * ev.At.Sub(p.now)
		}
	}
	return p.table.Observe(ev)
}

// wasted returns how many slots of a class are free for which there is a task.
func (p *idler) wasted(class sojourn.Class) int {
	free, startable := 0, 0
	for _, s := range p.slots {
		if s.Class == class {
			free++
		}
	}
	for _, e := range p.jobs {
		for ph, state := range e.state {
			if e.spec.Phases[ph].Class != class {
				continue
			}
			free -= bytes.Count(state, []byte("r"))
			if e.open(ph) {
				startable += bytes.Count(state, []byte("p"))
			}
		}
	}
	return min(free, startable)
}

// stage ranks the events of one instant.
func stage(ev sojourn.Event) int {
	switch ev.Kind {
	case sojourn.TaskFinished:
		return 0
	case sojourn.TaskFailed:
		if ev.Cause == sojourn.CauseTask {
			return 0
		}
		return 2
	case sojourn.TaskProgress:
		return 1
	case sojourn.OutputLost:
		return 2
	case sojourn.SlotAdded, sojourn.SlotRemoved, sojourn.NodeDown, sojourn.NodeUp:
		return 3
	case sojourn.JobArrived:
		return 4
	}
	return 5
}

// Whatever the policy does and whatever fails, tasks, slots and time are
// conserved.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, jobs := drawConfig(t)
		st := new(story)
		st.watch(&cfg)

		var (
			events   uint64
			last     = -1 // stage of the latest event, -1 after an offer or a new instant
			now      sojourn.Time
			presence = map[sojourn.SlotID][]sojourn.Time{} // added, removed, added, ...
			holds    = map[sojourn.TaskID]int{}            // outputs that exist
		)
		cfg.Hooks.Event = func(ev sojourn.Event, err error) {
			if err != nil {
				t.Fatalf("%v was refused: %v", ev, err)
			}
			events++
			if ev.At != now {
				last = -1
			}
			now = ev.At
			if ev.Kind != sojourn.TaskRefused {
				if stage(ev) < last {
					t.Errorf("%v came after an event of stage %d", ev, last)
				}
				last = stage(ev)
			}
			switch ev.Kind {
			case sojourn.SlotAdded, sojourn.SlotRemoved:
				presence[ev.Slot.ID] = append(presence[ev.Slot.ID], ev.At)
			case sojourn.TaskFinished:
				holds[ev.Task]++
			case sojourn.OutputLost:
				holds[ev.Task]--
			}
		}
		cfg.Hooks.Assigned = func(sojourn.SlotID, sojourn.Assignment, bool) { last = -1 }

		r, err := sim.Run(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}

		if r.Jobs != len(jobs) || r.Jobs != r.Finished+r.Unfinished || r.Finished != r.Sojourn.N {
			t.Errorf("%d jobs: result %+v", len(jobs), r)
		}
		if r.Unfinished > 0 && !slices.ContainsFunc(jobs, func(j *sim.Job) bool { return len(j.Phases) > 2 }) {
			t.Errorf("%d of %d jobs unfinished, although reduces cannot keep maps from running", r.Unfinished, r.Jobs)
		}
		if r.Events != events {
			t.Errorf("%d events, hooks saw %d", r.Events, events)
		}
		for i, rec := range r.JobRecords {
			for p, ph := range jobs[i].Phases {
				for k := range ph.Tasks {
					id := sojourn.TaskID{Job: rec.ID, Phase: uint16(p), Index: uint32(k)}
					if n := holds[id]; n > 1 || rec.Outcome == sim.Finished && n != 1 {
						t.Errorf("job %d %v: task %v finished %d times, lost outputs deducted", rec.ID, rec.Outcome, id, n)
					}
				}
			}
		}

		// A slot never runs two attempts at once, and the times that slots are held add
		// up.
		held, offered := make([]time.Duration, 2), make([]time.Duration, 2)
		first, end := jobs[0].At, jobs[0].At.Add(r.Makespan)
		within := func(from, to sojourn.Time) time.Duration { return max(0, min(to, end).Sub(max(from, first))) }
		busyUntil := map[sojourn.SlotID]sojourn.Time{}
		slots := cfg.Cluster.Slots()
		var attempts, wasted uint64
		slices.SortStableFunc(st.attempts, func(a, b sim.TaskRecord) int { return cmp.Compare(a.Start, b.Start) })
		for _, a := range st.attempts {
			if a.Start < busyUntil[a.Slot] || a.End < a.Start {
				t.Errorf("attempt %+v overlaps one that ends at %v", a, busyUntil[a.Slot])
			}
			busyUntil[a.Slot] = a.End
			held[slots[a.Slot].Class] += within(a.Start, a.End)
			if a.Outcome != sim.Refused {
				attempts++
			}
			if a.Outcome != sim.Refused && a.Outcome != sim.Finished {
				wasted++
			}
			if a.Node != slots[a.Slot].Node {
				t.Errorf("attempt %+v on node %d", a, slots[a.Slot].Node)
			}
		}
		for id, times := range presence {
			for i := 0; i < len(times); i += 2 {
				gone := sojourn.Time(math.MaxInt64)
				if i+1 < len(times) {
					gone = times[i+1]
				}
				offered[slots[id].Class] += within(times[i], gone)
			}
		}
		if r.Unfinished == 0 {
			if attempts != r.Attempts || wasted != r.Wasted {
				t.Errorf("%d attempts, %d wasted; hooks saw %d and %d", r.Attempts, r.Wasted, attempts, wasted)
			}
			for class := range held {
				if want := float64(held[class]) / float64(max(1, offered[class])); math.Abs(r.Utilisation[class]-want) > 1e-12 {
					t.Errorf("utilisation of class %d = %v, want %v of %v", class, r.Utilisation[class], held[class], offered[class])
				}
			}
		}
		if idle := cfg.Policy.(*idler).idle; r.Unfinished == 0 && !slices.Equal(r.Idle, []float64{float64(idle[0]) / 1e9, float64(idle[1]) / 1e9}) {
			t.Errorf("idle %v, want %v", r.Idle, idle)
		}
		if cfg.Network.Bandwidth > 0 {
			checkTransferred(t, cfg, jobs, st.attempts, r)
		}
		if cfg.Faults.MTBF == 0 {
			checkTimes(t, cfg, jobs, st.attempts)
		}
	})
}

// fetched returns how many bytes an attempt had to fetch.
func fetched(cfg *sim.Config, jobs []*sim.Job, a *sim.TaskRecord) int64 {
	if cfg.Network.Bandwidth == 0 || a.Locality != sojourn.Remote && a.Locality != sojourn.RackLocal {
		return 0
	}
	if sizes := jobs[a.Task.Job-1].Phases[a.Task.Phase].Bytes; sizes != nil {
		return sizes[a.Task.Index]
	}
	return cfg.Network.Split
}

// checkTransferred checks that every attempt that has something to fetch has one
// transfer, that the transfer ends or is cut off, and that no node sends or receives more
// than its links carry.
func checkTransferred(t *rapid.T, cfg sim.Config, jobs []*sim.Job, attempts []sim.TaskRecord, r *sim.Result) {
	transfers := 0
	links := map[[2]sojourn.NodeID]struct {
		bytes    int64
		from, to sojourn.Time
	}{}
	for i := range attempts {
		a := &attempts[i]
		bytes := fetched(&cfg, jobs, a)
		if bytes == 0 || a.Outcome == sim.Refused {
			continue
		}
		transfers++
		for end, n := range [2]sojourn.NodeID{a.Source, a.Node} {
			if a.Outcome != sim.Finished || n == 0 || int(n) > len(cfg.Cluster.Nodes) || end == 0 && cfg.Faults.MTBF > 0 {
				continue // the input was moved, perhaps
			}
			key := [2]sojourn.NodeID{sojourn.NodeID(end), n}
			l, seen := links[key]
			l.bytes += bytes
			if !seen {
				l.from = a.Start
			}
			l.from, l.to = min(l.from, a.Start), max(l.to, a.End)
			links[key] = l
		}
	}
	if got := r.Transfers.Finished + r.Transfers.Cut; got < transfers || got > transfers && cfg.Faults.MTBF == 0 && r.Unfinished == 0 {
		t.Errorf("%d transfers, %d attempts had to fetch something", got, transfers)
	}
	for key, l := range links {
		if carried := float64(cfg.Network.Bandwidth) * l.to.Sub(l.from).Seconds(); float64(l.bytes) > carried+1e-6 {
			t.Errorf("link %d of node %d carried %d bytes from %v to %v, at %d a second", key[0], key[1], l.bytes, l.from, l.to, cfg.Network.Bandwidth)
		}
	}
}

// checkTimes computes again, from the ends of the phase before, how long each attempt
// that finished had to hold its slot. No outputs were lost.
func checkTimes(t *rapid.T, cfg sim.Config, jobs []*sim.Job, attempts []sim.TaskRecord) {
	type phase struct {
		job   sojourn.JobID
		phase uint16
	}
	arrived := map[phase]sojourn.Time{}
	for _, a := range attempts {
		if a.Outcome == sim.Finished {
			id := phase{a.Task.Job, a.Task.Phase}
			at := a.End
			if d := jobs[id.job-1].Phases[id.phase].Delays; d != nil {
				at = at.Add(d[a.Task.Index])
			}
			arrived[id] = max(arrived[id], at)
		}
	}
	for _, a := range attempts {
		if a.Outcome != sim.Finished {
			continue
		}
		j, p := jobs[a.Task.Job-1], int(a.Task.Phase)
		work := a.Start
		for _, k := range reads(&j.Job, p) {
			work = max(work, arrived[phase{j.ID, uint16(k)}])
		}
		speed := cfg.Cluster.Nodes[a.Node-1].Speed
		if speed == 0 {
			speed = 1
		}
		need := float64(j.Times[p].Of(int(a.Task.Index))) / speed
		took := float64(a.End.Sub(work))
		if bytes := fetched(&cfg, jobs, &a); bytes > 0 {
			// In the best case it has both links for itself.
			there := a.Start.Add(time.Duration(float64(bytes) / float64(cfg.Network.Bandwidth) * 1e9))
			least := max(float64(work)+need, float64(there))
			if !cfg.Network.Overlap {
				least = max(float64(work), float64(there)) + need
			}
			if float64(a.End) < least-1 {
				t.Errorf("attempt %+v ends at %v, with %d bytes to fetch: want %v ns or later", a, a.End, bytes, least)
			}
			continue
		}
		if slow := need * 2.5; math.Abs(took-need) > 1 && (cfg.Stragglers.Probability == 0 || math.Abs(took-slow) > 1) {
			t.Errorf("attempt %+v worked %v ns, want %v", a, took, need)
		}
	}
}

// bruteAlone makes a list schedule by brute force. Each task in turn goes to the slot
// that lets it start first, among these to the fastest, among these to the first.
func bruteAlone(c sim.Cluster, j *sim.Job) time.Duration {
	type machine struct {
		class sojourn.Class
		speed float64
		free  time.Duration
	}
	var slots []machine
	for _, slot := range c.Slots() {
		speed := c.Nodes[slot.Node-1].Speed
		if speed == 0 {
			speed = 1
		}
		slots = append(slots, machine{slot.Class, speed, 0})
	}
	var end time.Duration
	arrived := make([]time.Duration, len(j.Phases))
	for p, ph := range j.Phases {
		from, class := time.Duration(0), sojourn.Class(min(p, 1))
		for _, k := range reads(&j.Job, p) {
			from = max(from, arrived[k])
		}
		if c.Uniform {
			class = 0
		}
		for i := range ph.Tasks {
			best := -1
			for k, m := range slots {
				if m.class != class {
					continue
				}
				if best < 0 || max(m.free, from) < max(slots[best].free, from) ||
					max(m.free, from) == max(slots[best].free, from) && m.speed > slots[best].speed {
					best = k
				}
			}
			m := &slots[best]
			m.free = max(m.free, from) + time.Duration(math.Floor(float64(j.Times[p].Of(i))/m.speed+0.5))
			end = max(end, m.free)
			at := m.free
			if ph.Delays != nil {
				at += ph.Delays[i]
			}
			arrived[p] = max(arrived[p], at)
		}
	}
	return end
}

// Alone is the list schedule, even where it is computed in one step.
func TestAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, jobs := drawConfig(t)
		if rapid.Bool().Draw(t, "uniform cluster") {
			cfg.Cluster.Uniform = true
			for i := range cfg.Cluster.Nodes {
				cfg.Cluster.Nodes[i].Slots[1] = 0
			}
		}
		even := rapid.Bool().Draw(t, "even")
		for i := range cfg.Cluster.Nodes {
			if even {
				cfg.Cluster.Nodes[i].Speed = cfg.Cluster.Nodes[0].Speed
			}
		}
		for _, j := range jobs {
			for p := range j.Times {
				if rapid.Bool().Draw(t, "each") {
					j.Times[p] = sim.Times{Each: j.Times[p].List[0]}
				}
			}
		}
		r, err := sim.Run(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range r.JobRecords {
			if want := bruteAlone(cfg.Cluster, jobs[i]); rec.Alone != want {
				t.Errorf("job %d: alone %v, want %v", rec.ID, rec.Alone, want)
			}
		}
	})
}

// Alone takes no longer for a job of a million equal tasks than for a job of a few. On 3
// slots of speed 2 there are 333,334 rounds of 0.5 s.
func TestAloneOfManyTasks(t *testing.T) {
	c := uniform(3)
	c.Nodes[0].Speed = 2
	j := &sim.Job{Times: []sim.Times{{Each: s}}}
	j.ID, j.Pool, j.Phases = 1, "odd", []sojourn.Phase{{Tasks: 1_000_000}}
	r, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Jobs: sim.Jobs(j), Policy: picky{newTable(first)}, Records: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.JobRecords[0].Alone; got != 166667*s {
		t.Errorf("alone = %v, want 166667s", got)
	}
}
