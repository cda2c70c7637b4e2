package gate

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
)

// The books are the gate's copy of the queue: which tasks there are, where they are, and which task
// of the policy each one is.
type books struct {
	driver *driver.Driver
	opts   Options
	epoch  time.Time
	last   sojourn.JobID

	slots []slot // by ID
	count int    // of slots that are there
	fleet fleet

	jobs   map[string]*job // by ID in the queue; those that take more tasks
	byID   map[sojourn.JobID]*job
	tasks  map[string]*task
	parked map[string]Parked // by ID of the task; in none of the above
	timers timers
	chosen []*task // to be let go
}

// A slot is one of the policy's.
type slot struct {
	there bool
	task  *task // that is counted as running on it
}

// A job is a batch that the policy knows. It ends with its last task, and a later task of the
// batch begins another one.
type job struct {
	name  string
	spec  *sojourn.Job
	tasks []*task // index of the policy's tasks
	left  int     // that have not ended
}

// A task is one that has not ended.
type task struct {
	id      string
	job     *job
	at      sojourn.TaskID
	state   taskState
	running sojourn.Assignment // if it was let go; the last attempt otherwise
	begun   time.Time          // when it was let go, if by this gate
	ready   time.Time          // if it is delayed
	timer   int                // index in the timers
	doubted bool               // the last comparison did not fit

	seen   time.Time // since when the queue has called it running
	server string    // that told that it runs it
	orphan bool      // it runs on no worker that is counted
}

type taskState uint8

const (
	pending  taskState = iota
	delayed            // failed, and not to be tried yet
	released           // let go; counts as running
)

// longest is the longest service time that is believed. Estimates are made of them.
const longest = 365 * 24 * time.Hour

func newBooks(p sojourn.Policy, o Options) (*books, error) {
	b := &books{opts: o, epoch: time.Now(), jobs: map[string]*job{}, byID: map[sojourn.JobID]*job{}, tasks: map[string]*task{}, parked: map[string]Parked{}}
	b.fleet = fleet{workers: o.Workers, fixed: o.Workers > 0, live: map[string]Server{}}
	var err error
	b.driver, err = driver.New(p, driver.Options{Now: func() sojourn.Time { return sojourn.Time(time.Since(b.epoch)) }})
	if err != nil {
		return nil, err
	}
	b.resize()
	return b, nil
}

// must reports what no policy refuses.
func (b *books) must(ev sojourn.Event) {
	if err := b.driver.Observe(ev); err != nil {
		panic("gate: the policy refuses what is true: " + err.Error())
	}
}

// want is how many slots there are to be: one for each worker and each task ahead, and one for each orphan, which takes
// none of the workers.
func (b *books) want() int {
	return min(b.fleet.workers+b.opts.Ahead+b.fleet.ahead+b.fleet.orphans, sojourn.MaxSlots)
}

// resize adds slots up to the number wanted, and removes free ones above it. Busy ones above it leave when their tasks end.
func (b *books) resize() {
	want := b.want()
	for id := 0; b.count < want; id++ {
		if id == len(b.slots) || !b.slots[id].there {
			b.addSlot(id)
		}
	}
	for id := len(b.slots) - 1; b.count > want && id >= 0; id-- {
		if b.slots[id].there && b.slots[id].task == nil {
			b.removeSlot(id)
		}
	}
}

func (b *books) addSlot(id int) {
	if id == len(b.slots) {
		b.slots = append(b.slots, slot{})
	}
	b.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
	b.slots[id].there = true
	b.count++
}

func (b *books) removeSlot(id int) {
	b.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
	b.slots[id] = slot{}
	b.count--
}

// adopt enters that pending tasks were let go by somebody else. If there are more of them than slots, there are more
// slots until as many tasks have ended.
func (b *books) adopt(all []*task) {
	id := 0
	for _, t := range all {
		for id < len(b.slots) && (!b.slots[id].there || b.slots[id].task != nil) {
			id++
		}
		if id == sojourn.MaxSlots {
			return // what runs beyond is outside the books
		}
		if id == len(b.slots) {
			b.addSlot(id)
		}
		if t.state == delayed {
			b.undelay(t)
		}
		a := sojourn.Assignment{Task: t.at, Attempt: t.running.Attempt + 1, Slot: sojourn.SlotID(id)}
		b.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		b.run(t, a)
		t.begun = time.Time{}
	}
}

// end enters the end of an attempt. A slot too many leaves with it.
func (b *books) end(t *task, ev sojourn.Event, service time.Duration) {
	if ev.Kind == sojourn.TaskFailed && t.orphan {
		ev.Cause = sojourn.CauseSlotLost
	}
	if !t.begun.IsZero() {
		service = min(service, time.Since(t.begun))
	}
	if ev.Kind != sojourn.TaskRefused {
		ev.Service = min(max(service, 0), longest)
	}
	b.must(ev)
	b.slots[ev.Slot.ID].task = nil
	b.setOrphan(t, false)
	t.seen, t.server, t.state = time.Time{}, "", pending
	if b.count > b.want() {
		b.removeSlot(int(ev.Slot.ID))
	}
}

// add enters the tasks that are not in the books, as pending.
func (b *books) add(tasks []Task) {
	type group struct {
		job   Job
		tasks []Task
		since time.Time // of the oldest
	}
	var groups []*group
	byJob := map[string]*group{}
	for _, t := range tasks {
		if b.tasks[t.ID] != nil || t.State == Gone {
			continue
		}
		g := byJob[t.Job.ID]
		if g == nil {
			g = &group{job: t.Job, since: t.Since}
			groups, byJob[t.Job.ID] = append(groups, g), g
		}
		if !t.Since.IsZero() && t.Since.Before(g.since) {
			g.since = t.Since
		}
		g.tasks = append(g.tasks, t)
	}
	slices.SortStableFunc(groups, func(x, y *group) int {
		return cmp.Or(x.since.Compare(y.since), cmp.Compare(x.job.ID, y.job.ID))
	})
	for _, g := range groups {
		b.addTo(g.job, g.tasks, g.since)
	}
}

// addTo adds tasks to a job, or begins one.
func (b *books) addTo(spec Job, tasks []Task, since time.Time) {
	j := b.jobs[spec.ID]
	if j == nil || !b.extend(j, len(tasks)) {
		var err error
		if j, err = b.begin(spec, len(tasks), since); err != nil {
			b.park(spec, tasks, err)
			return
		}
	}
	now := time.Now()
	for i := range tasks {
		t := &tasks[i]
		if j.tasks = append(j.tasks, nil); b.tasks[t.ID] != nil {
			// The queue names a task twice. The policy has one too many.
			b.must(sojourn.Event{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: j.spec.ID, Index: uint32(len(j.tasks) - 1)}})
			continue
		}
		entered := &task{id: t.ID, job: j, at: sojourn.TaskID{Job: j.spec.ID, Index: uint32(len(j.tasks) - 1)}}
		j.tasks[entered.at.Index] = entered
		j.left++
		b.tasks[t.ID] = entered
		delete(b.parked, t.ID)
		if t.NotBefore.After(now) {
			b.delay(entered, t.NotBefore)
		}
	}
}

// park keeps tasks of a job that the policy refuses whatever is said of it. They stay where they are in the queue.
func (b *books) park(spec Job, tasks []Task, err error) {
	told := false
	for i := range tasks {
		p := Parked{Task: tasks[i].ID, Job: spec.ID, Reason: err.Error()}
		if _, known := b.parked[p.Task]; !known && !told {
			b.opts.Log.Error("gate: the policy refuses a job; its tasks are parked", "job", spec.ID, "pool", spec.Pool, "tasks", len(tasks), "err", err)
			told = true
		}
		b.parked[p.Task] = p
	}
}

// extend adds tasks to a job. It reports whether the policy accepts that.
func (b *books) extend(j *job, tasks int) bool {
	revised := *j.spec
	revised.Phases = slices.Clone(revised.Phases)
	revised.Phases[0].Tasks += tasks
	if err := b.driver.Observe(sojourn.Event{Kind: sojourn.JobRevised, Job: &revised}); err != nil {
		return false
	}
	j.spec = &revised
	return true
}

// begin tells the policy of a job. If the policy refuses it, the job is begun without what the policy does not know, then as
// one of which only the pool is known, or nothing. The error is the policy's first one.
func (b *books) begin(spec Job, tasks int, since time.Time) (*job, error) {
	b.last++
	told := &sojourn.Job{ID: b.last, Pool: spec.Pool, Name: spec.Name, Weight: spec.Weight, Priority: spec.Priority, Parallelism: spec.Parallelism, Sequence: spec.Sequence,
		Phases: []sojourn.Phase{{Tasks: tasks, Estimate: spec.Estimate}}}
	unknown := []sojourn.Phase{{Tasks: tasks}}
	less := told.Without(told.Features() &^ sojourn.Supports(b.driver.Policy()))
	tries := []sojourn.Event{
		{Kind: sojourn.JobArrived, Job: told},
		{Kind: sojourn.JobArrived, Job: less},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: b.last, Pool: spec.Pool, Phases: unknown}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: b.last, Phases: unknown}},
	}
	if age := time.Since(since); !since.IsZero() && age > b.opts.Compare {
		tries = slices.Insert(tries, 0,
			sojourn.Event{Kind: sojourn.JobAdopted, Job: told, Service: age}, sojourn.Event{Kind: sojourn.JobAdopted, Job: less, Service: age})
	}
	var refused error
	for i := range tries {
		err := b.driver.Observe(tries[i])
		if err != nil {
			refused = cmp.Or(refused, err)
			continue
		}
		if tries[i].Job != told {
			b.opts.Log.Warn("gate: the policy refuses a job; it is scheduled as one of which less is known", "job", spec.ID, "pool", tries[i].Job.Pool, "err", refused)
		}
		j := &job{name: spec.ID, spec: tries[i].Job}
		b.jobs[spec.ID], b.byID[b.last] = j, j
		return j, nil
	}
	return nil, refused
}

// note enters what has happened in the queue.
func (b *books) note(n *Note) {
	if n.Kind == Added {
		b.add(n.Tasks)
		return
	}
	if n.Kind == Finished || n.Kind == Dropped {
		delete(b.parked, n.Task)
	}
	t := b.tasks[n.Task]
	if t == nil {
		return // it was entered before
	}
	switch {
	case n.Kind == Failed && t.state == released:
		b.fail(t, n.Service, n.After, n.Cost)
	case n.Kind == Finished && t.state == released:
		ev := driver.Finished(t.running)
		ev.Cost = n.Cost
		b.end(t, ev, n.Service)
		b.forget(t)
	case n.Kind == Finished, n.Kind == Dropped:
		b.drop(t)
	}
	// A failure was entered before, and other kinds are those of another version.
}

// fail enters that an attempt has failed.
func (b *books) fail(t *task, service, after time.Duration, cost uint64) {
	ev := driver.Failed(t.running, sojourn.CauseTask)
	ev.Cost = cost
	b.end(t, ev, service)
	if after > 0 {
		b.delay(t, time.Now().Add(after))
	}
}

// refuse enters that a task that was chosen was not let go.
func (b *books) refuse(t *task) { b.end(t, driver.Refused(t.running), 0) }

// delay holds a pending task back until a time.
func (b *books) delay(t *task, until time.Time) {
	b.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: t.at})
	t.state, t.ready = delayed, until
	heap.Push(&b.timers, t)
}

// undelay makes a delayed task pending.
func (b *books) undelay(t *task) {
	heap.Remove(&b.timers, t.timer)
	t.state = pending
	b.must(sojourn.Event{Kind: sojourn.TaskReady, Task: t.at})
}

// timers is a heap of delayed tasks: the one that is ready first is first.
type timers []*task

func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].ready.Before(h[j].ready) }
func (h timers) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].timer, h[j].timer = i, j }
func (h *timers) Push(x any)        { t := x.(*task); t.timer = len(*h); *h = append(*h, t) }
func (h *timers) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return t
}

// drop enters that a task will not be run again.
func (b *books) drop(t *task) {
	switch t.state {
	case released:
		b.end(t, driver.Failed(t.running, sojourn.CauseTask), 0)
	case delayed:
		heap.Remove(&b.timers, t.timer)
	}
	b.must(sojourn.Event{Kind: sojourn.TaskDone, Task: t.at})
	b.forget(t)
}

// forget removes a task that has ended, and its job with the last one.
func (b *books) forget(t *task) {
	delete(b.tasks, t.id)
	j := t.job
	j.tasks[t.at.Index] = nil
	if j.left--; j.left == 0 {
		delete(b.byID, j.spec.ID)
		if b.jobs[j.name] == j {
			delete(b.jobs, j.name)
		}
	}
}

// run enters that a task counts as running.
func (b *books) run(t *task, a sojourn.Assignment) {
	t.state, t.running, t.doubted, t.begun = released, a, false, time.Now()
	b.slots[a.Slot].task = t
}

// settle chooses the tasks to let go. It returns how long it takes until it may choose more though
// nothing happens.
func (b *books) settle() time.Duration {
	now := time.Now()
	for len(b.timers) > 0 && !b.timers[0].ready.After(now) {
		b.undelay(b.timers[0])
	}
	r := b.driver.Settle()
	if r.Err != nil {
		panic(r.Err)
	}
	for _, a := range r.Starts {
		t := b.byID[a.Task.Job].tasks[a.Task.Index]
		b.run(t, a)
		b.chosen = append(b.chosen, t)
	}
	if len(b.timers) > 0 {
		return min(r.Sleep, b.timers[0].ready.Sub(now))
	}
	return r.Sleep
}

// doubtful returns the tasks of the books that the queue has elsewhere. If a note may be on its way, it returns those
// that the last comparison had found, too: one comparison may be too early for the note.
func (b *books) doubtful(tasks []Task, notes bool) (ids []string) {
	states := make(map[string]State, len(tasks))
	for _, t := range tasks {
		states[t.ID] = t.State
	}
	for id, t := range b.tasks {
		want := Held
		if t.state == released {
			want = Released
		}
		if states[id] == want {
			t.doubted = false
			continue
		}
		if t.doubted || !notes {
			ids = append(ids, id)
		}
		t.doubted = true
	}
	for id := range b.parked {
		if states[id] == Gone {
			delete(b.parked, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// running returns the tasks that were let go.
func (b *books) running() (ids []string) {
	for i := range b.slots {
		if t := b.slots[i].task; t != nil {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// doubt enters the state of a task that was let go, if it was not so the last time either.
func (b *books) doubt(id string, state State) {
	t := b.tasks[id]
	switch {
	case t == nil || t.state != released:
	case state == Released:
		t.doubted = false
	case t.doubted:
		b.correct(id, state)
	default:
		t.doubted = true
	}
}

// correct enters the state that a task has in the queue.
func (b *books) correct(id string, state State) {
	t := b.tasks[id]
	switch {
	case t == nil:
	case state == Gone && t.state == released:
		b.note(&Note{Kind: Finished, Task: id})
	case state == Gone:
		b.drop(t)
	case state == Held && t.state == released:
		b.fail(t, 0, 0, 0)
	case state == Released && t.state != released:
		b.adopt([]*task{t})
	}
}
