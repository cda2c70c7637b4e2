package locality_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A watchWorld is a world of watched phases: jobs of one phase, and nodes whose IDs lie
// in several blocks and far apart.
type watchWorld struct {
	ledger ledger.Ledger[struct{}]
	index  *locality.Index[struct{}]
	jobs   []*watchJob
	down   map[sojourn.NodeID]bool
	last   sojourn.JobID
}

type watchJob struct {
	spec    *sojourn.Job
	account *ledger.Job[struct{}]
	state   []string // pending, running, done
	attempt []uint32
	slot    []sojourn.SlotID
	watched bool
	number  uint32
	weight  uint64
}

var watchNodes = []sojourn.NodeID{1, 2, 63, 64, 65, 130, 5000, 1<<32 - 1}

// The oracle looks at every task, after any history.
func TestWatchAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &watchWorld{down: map[sojourn.NodeID]bool{}}
		w.index = locality.New(&w.ledger)
		for i := range sojourn.SlotID(6) {
			w.observe(t, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: i, Node: watchNodes[i], Rack: sojourn.RackID(i%2) + 1}})
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": w.arrive,
			"revise": w.revise,
			"cancel": w.cancel,
			"node":   w.node,
			"watch":  w.watch,
			"watch2": w.watch,
			"assign": w.assign,
			"end":    w.end,
			"":       w.compare,
		})
	})
}

func (w *watchWorld) observe(t *rapid.T, ev sojourn.Event) ledger.Change[struct{}] {
	if err := w.ledger.Check(&ev); err != nil {
		t.Fatal(err)
	}
	c := w.ledger.Apply(&ev)
	w.index.Update(&ev, &c)
	return c
}

func drawWatchInputs(t *rapid.T, n int) sojourn.Inputs {
	lists := make([][]sojourn.NodeID, n)
	for i := range lists {
		lists[i] = rapid.SliceOfN(rapid.SampledFrom(watchNodes), 0, 3).Draw(t, "inputs")
	}
	return sojourn.MakeInputs(lists)
}

func (w *watchWorld) arrive(t *rapid.T) {
	w.last++
	n := rapid.IntRange(1, 9).Draw(t, "tasks")
	spec := &sojourn.Job{ID: w.last, Phases: []sojourn.Phase{{Tasks: n, Inputs: drawWatchInputs(t, n)}}}
	c := w.observe(t, sojourn.Event{Kind: sojourn.JobArrived, Job: spec})
	w.jobs = append(w.jobs, &watchJob{
		spec: spec, account: c.Job, state: slices.Repeat([]string{"pending"}, n),
		attempt: make([]uint32, n), slot: make([]sojourn.SlotID, n),
	})
}

func (w *watchWorld) draw(t *rapid.T) *watchJob {
	if len(w.jobs) == 0 {
		t.Skip("no jobs")
	}
	return rapid.SampledFrom(w.jobs).Draw(t, "job")
}

// revise adds a task, or changes nothing that the index looks at; either ends the
// watch.
func (w *watchWorld) revise(t *rapid.T) {
	j := w.draw(t)
	spec := *j.spec
	spec.Phases = slices.Clone(spec.Phases)
	if rapid.Bool().Draw(t, "grow") {
		var lists [][]sojourn.NodeID
		for i := range j.state {
			lists = append(lists, spec.Phases[0].Inputs.Of(i))
		}
		lists = append(lists, []sojourn.NodeID{rapid.SampledFrom(watchNodes).Draw(t, "input")})
		spec.Phases[0].Tasks++
		spec.Phases[0].Inputs = sojourn.MakeInputs(lists)
		j.state, j.attempt, j.slot = append(j.state, "pending"), append(j.attempt, 0), append(j.slot, 0)
	}
	w.observe(t, sojourn.Event{Kind: sojourn.JobRevised, Job: &spec})
	j.spec, j.watched = &spec, false
}

func (w *watchWorld) cancel(t *rapid.T) {
	j := w.draw(t)
	if slices.Contains(j.state, "running") {
		t.Skip("it runs")
	}
	w.observe(t, sojourn.Event{Kind: sojourn.JobCancelled, Job: j.spec})
	w.drop(j)
}

func (w *watchWorld) drop(j *watchJob) {
	w.jobs = slices.DeleteFunc(w.jobs, func(k *watchJob) bool { return k == j })
}

func (w *watchWorld) node(t *rapid.T) {
	n := rapid.SampledFrom(watchNodes).Draw(t, "node")
	kind := sojourn.NodeDown
	if w.down[n] {
		kind = sojourn.NodeUp
	}
	w.observe(t, sojourn.Event{Kind: kind, Slot: sojourn.Slot{Node: n}})
	w.down[n] = !w.down[n]
}

func (w *watchWorld) watch(t *rapid.T) {
	j := w.draw(t)
	weight := rapid.Uint64Range(0, 5).Draw(t, "weight")
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		w.index.Unwatch(j.account, 0)
		j.watched = false
	case 1:
		w.index.Reweigh(j.account, 0, weight)
		j.weight = weight
	default:
		for n := uint32(0); ; n++ { // numbers from several words
			number := n * 40
			if slices.ContainsFunc(w.jobs, func(k *watchJob) bool { return k != j && k.watched && k.number == number }) {
				continue
			}
			w.index.Watch(j.account, 0, number, weight)
			j.watched, j.number, j.weight = true, number, weight
			break
		}
	}
}

func (w *watchWorld) assign(t *rapid.T) {
	id, ok := w.ledger.FreeSlot(0)
	if !ok {
		t.Skip("no slot is free")
	}
	j := w.draw(t)
	if !slices.Contains(j.state, "pending") {
		t.Skip("nothing is pending")
	}
	s := w.ledger.Free(id)
	n := rapid.SampledFrom(watchNodes).Draw(t, "source")
	pick, ok := w.index.FindAt(j.account, 0, s, n)
	if want := w.at(j, n); ok != (want >= 0) || ok && (int(pick.Index) != want || pick.Source != n) {
		t.Fatalf("FindAt(node %d) = %+v, %v, want task %d", n, pick, ok, want)
	}
	if !ok {
		pick, _ = w.index.Find(j.account, 0, s, sojourn.Remote)
	}
	a := w.index.Take(j.account, 0, pick, id)
	j.state[a.Task.Index], j.attempt[a.Task.Index], j.slot[a.Task.Index] = "running", a.Attempt, id
}

func (w *watchWorld) end(t *rapid.T) {
	j := w.draw(t)
	i := slices.Index(j.state, "running")
	if i < 0 {
		t.Skip("nothing runs")
	}
	kind := rapid.SampledFrom([]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFailed}).Draw(t, "kind")
	c := w.observe(t, sojourn.Event{Kind: kind, Task: sojourn.TaskID{Job: j.spec.ID, Index: uint32(i)}, Attempt: j.attempt[i], Slot: sojourn.Slot{ID: j.slot[i]}})
	j.state[i] = "pending"
	if kind == sojourn.TaskFinished {
		j.state[i] = "done"
	}
	if c.Ended {
		w.drop(j)
	}
}

// count returns how many tasks of j could be read from a node, and at the lowest.
func (w *watchWorld) count(j *watchJob, n sojourn.NodeID) (count, lowest int) {
	lowest = -1
	for i, st := range j.state {
		if st == "pending" && !w.down[n] && slices.Contains(j.spec.Phases[0].Inputs.Of(i), n) {
			if count == 0 {
				lowest = i
			}
			count++
		}
	}
	return count, lowest
}

func (w *watchWorld) at(j *watchJob, n sojourn.NodeID) int {
	_, lowest := w.count(j, n)
	return lowest
}

func (w *watchWorld) load(n sojourn.NodeID) (sum uint64) {
	for _, j := range w.jobs {
		if j.watched {
			count, _ := w.count(j, n)
			sum += j.weight * uint64(count)
		}
	}
	return sum
}

func (w *watchWorld) compare(t *rapid.T) {
	hot := rapid.SliceOfN(rapid.SampledFrom(watchNodes), 0, 3).Draw(t, "hot")
	may := func(n sojourn.NodeID) bool { return !slices.Contains(hot, n) }
	for _, n := range watchNodes {
		if got, want := w.index.Load(n), w.load(n); got != want {
			t.Fatalf("Load(%d) = %d, want %d", n, got, want)
		}
		words := w.index.Watched(n)
		for number := range uint32(64 * 8) {
			want := slices.ContainsFunc(w.jobs, func(j *watchJob) bool {
				return j.watched && j.number == number && w.at(j, n) >= 0
			})
			got := int(number/64) < len(words) && words[number/64]>>(number%64)&1 == 1
			if got != want {
				t.Fatalf("Watched(%d): number %d: %v, want %v", n, number, got, want)
			}
		}
	}
	for _, j := range w.jobs {
		w.compareJob(t, j, may)
	}
}

func (w *watchWorld) compareJob(t *rapid.T, j *watchJob, may func(sojourn.NodeID) bool) {
	var best sojourn.NodeID
	from := rapid.SampledFrom(watchNodes).Draw(t, "from")
	var next sojourn.NodeID
	for _, n := range watchNodes {
		if w.at(j, n) < 0 {
			continue
		}
		if may(n) && (best == 0 || w.load(n) > w.load(best)) {
			best = n
		}
		if n >= from && next == 0 {
			next = n
		}
	}
	if got, ok := w.index.Heaviest(j.account, 0, may); ok != (best != 0) || got != best {
		t.Fatalf("Heaviest(job %d, watched: %v) = %d, %v, want %d", j.spec.ID, j.watched, got, ok, best)
	}
	if got, ok := w.index.NextHolder(j.account, 0, from); ok != (next != 0) || got != next {
		t.Fatalf("NextHolder(job %d, %d) = %d, %v, want %d", j.spec.ID, from, got, ok, next)
	}
	anywhere, lost := 0, -1
	for i, st := range j.state {
		nodes := j.spec.Phases[0].Inputs.Of(i)
		switch {
		case st != "pending":
		case len(nodes) == 0:
			anywhere++
		case lost < 0 && !slices.ContainsFunc(nodes, func(n sojourn.NodeID) bool { return !w.down[n] }):
			lost = i
		}
	}
	if got := w.index.Anywhere(j.account, 0); got != anywhere {
		t.Fatalf("Anywhere(job %d) = %d, want %d", j.spec.ID, got, anywhere)
	}
	if got, ok := w.index.FindLost(j.account, 0); ok != (lost >= 0) || ok && int(got.Index) != lost {
		t.Fatalf("FindLost(job %d) = %+v, %v, want task %d", j.spec.ID, got, ok, lost)
	}
}
