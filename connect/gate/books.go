package gate

import (
	"cmp"
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
	slots  int // that were ever added

	surplus int // slots that leave with the next ends of attempts

	jobs   map[string]*job // by ID in the queue; those that take more tasks
	byID   map[sojourn.JobID]*job
	tasks  map[string]*task
	timers []*task // held for a time, by the time
	chosen []*task // to be let go
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
	running sojourn.Assignment // if it was let go
	ready   time.Time          // if it is delayed
	doubted bool               // the last comparison did not fit
}

type taskState uint8

const (
	pending  taskState = iota
	delayed            // failed, and not to be tried yet
	released           // let go; counts as running
)

func newBooks(p sojourn.Policy, o Options) (*books, error) {
	b := &books{opts: o, epoch: time.Now(), jobs: map[string]*job{}, byID: map[sojourn.JobID]*job{}, tasks: map[string]*task{}}
	var err error
	b.driver, err = driver.New(p, driver.Options{Now: func() sojourn.Time { return sojourn.Time(time.Since(b.epoch)) }})
	if err != nil {
		return nil, err
	}
	b.grow(o.Workers + o.Ahead)
	return b, nil
}

// grow adds slots up to a number.
func (b *books) grow(slots int) {
	for ; b.slots < slots; b.slots++ {
		b.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(b.slots)}})
	}
}

// must reports what no policy refuses.
func (b *books) must(ev sojourn.Event) {
	if err := b.driver.Observe(ev); err != nil {
		panic("gate: the policy refuses what is true: " + err.Error())
	}
}

// adopt begins the books with the tasks of a queue. If an earlier gate let more go than there are
// slots now, there are more slots until as many tasks have ended.
func (b *books) adopt(tasks []Task) {
	b.add(tasks)
	var slot sojourn.SlotID
	for i := range tasks {
		t := b.tasks[tasks[i].ID]
		if tasks[i].State != Released || t.state == released {
			continue
		}
		b.grow(int(slot) + 1)
		b.run(t, sojourn.Assignment{Task: t.at, Attempt: 1, Slot: slot})
		b.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: t.at, Attempt: 1, Slot: sojourn.Slot{ID: slot}})
		slot++
	}
	b.surplus = b.slots - b.opts.Workers - b.opts.Ahead
}

// end enters the end of an attempt. A slot too many leaves with it.
func (b *books) end(ev sojourn.Event, service time.Duration) {
	ev.Service = service
	b.must(ev)
	if b.surplus > 0 {
		b.surplus--
		b.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: ev.Slot})
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
		j = b.begin(spec, len(tasks), since)
	}
	for _, t := range tasks {
		at := sojourn.TaskID{Job: j.spec.ID, Index: uint32(len(j.tasks))}
		entered := &task{id: t.ID, job: j, at: at}
		j.tasks = append(j.tasks, entered)
		j.left++
		b.tasks[t.ID] = entered
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

// begin tells the policy of a job. If the policy refuses it, the job is begun as one of which
// nothing is known.
func (b *books) begin(spec Job, tasks int, since time.Time) *job {
	b.last++
	told := &sojourn.Job{ID: b.last, Pool: spec.Pool, Name: spec.Name, Weight: spec.Weight, Parallelism: spec.Parallelism,
		Phases: []sojourn.Phase{{Tasks: tasks, Estimate: spec.Estimate}}}
	ev := sojourn.Event{Kind: sojourn.JobArrived, Job: told}
	if age := time.Since(since); !since.IsZero() && age > b.opts.Compare {
		ev.Kind, ev.Service = sojourn.JobAdopted, age
	}
	if err := b.driver.Observe(ev); err != nil {
		b.opts.Log.Warn("gate: the policy refuses a job; it is scheduled as one of which nothing is known", "job", spec.ID, "err", err)
		told = &sojourn.Job{ID: b.last, Phases: []sojourn.Phase{{Tasks: tasks}}}
		b.must(sojourn.Event{Kind: sojourn.JobArrived, Job: told})
	}
	j := &job{name: spec.ID, spec: told}
	b.jobs[spec.ID], b.byID[b.last] = j, j
	return j
}

// note enters what has happened in the queue.
func (b *books) note(n *Note) {
	if n.Kind == Added {
		b.add(n.Tasks)
		return
	}
	t := b.tasks[n.Task]
	if t == nil {
		return // it was entered before
	}
	switch {
	case n.Kind == Failed && t.state == released:
		b.fail(t, n.Service, n.After)
	case n.Kind == Failed: // it was entered before
	case n.Kind == Finished && t.state == released:
		b.end(driver.Finished(t.running), n.Service)
		b.forget(t)
	default:
		b.drop(t)
	}
}

// fail enters that an attempt has failed.
func (b *books) fail(t *task, service, after time.Duration) {
	b.end(driver.Failed(t.running, sojourn.CauseTask), service)
	t.state = pending
	if after > 0 {
		b.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: t.at})
		t.state, t.ready = delayed, time.Now().Add(after)
		i, _ := slices.BinarySearchFunc(b.timers, t, func(x, y *task) int { return cmp.Or(x.ready.Compare(y.ready), -1) })
		b.timers = slices.Insert(b.timers, i, t)
	}
}

// drop enters that a task will not be run again.
func (b *books) drop(t *task) {
	if t.state == released {
		b.end(driver.Failed(t.running, sojourn.CauseTask), 0)
	}
	b.timers = slices.DeleteFunc(b.timers, func(x *task) bool { return x == t })
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
	t.state, t.running, t.doubted = released, a, false
}

// settle chooses the tasks to let go. It returns how long it takes until it may choose more though
// nothing happens.
func (b *books) settle() time.Duration {
	now := time.Now()
	for len(b.timers) > 0 && !b.timers[0].ready.After(now) {
		t := b.timers[0]
		b.timers = b.timers[1:]
		t.state = pending
		b.must(sojourn.Event{Kind: sojourn.TaskReady, Task: t.at})
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

// doubtful returns the tasks of the books that the queue has elsewhere, for the second time in a
// row: one comparison may be too early for a note that is on its way.
func (b *books) doubtful(tasks []Task) (ids []string) {
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
		if t.doubted {
			ids = append(ids, id)
		}
		t.doubted = true
	}
	slices.Sort(ids)
	return ids
}

// correct enters the state that a task has in the queue.
func (b *books) correct(id string, state State) {
	t := b.tasks[id]
	switch {
	case state == Gone && t.state == released:
		b.note(&Note{Kind: Finished, Task: id})
	case state == Gone:
		b.drop(t)
	case state == Held && t.state == released:
		b.fail(t, 0, 0)
	}
	// A task that somebody else let go runs outside the books, until a note says that it has ended.
}
