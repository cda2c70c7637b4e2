package statuspage

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

// Bounds of what a recorder keeps, besides what it knows of live jobs.
const (
	chunk       = 1024             // jobs that are looked at while the recorder is locked
	mostTenants = 1000             // tenants that are told apart; the others share one line
	inSample    = 8                // tenants of a sample; the others count together
	sampleEvery = 10 * time.Second // of which an hour has 360
	samples     = 361
	windowEvery = 5 * time.Minute // over which waits are counted
	windows     = 12              // an hour, the last one not whole
	bins        = 96              // of waits, up to 18 days
	keptJobs    = 1000            // that have ended well, and that have not
	keptSpans   = 16384           // attempts that have ended well, and that have not
	mostText    = 300             // bytes of a name or an error of what has ended
)

// A Recorder is an observer that keeps what the page shows of the last hour: what waited and ran for each tenant, how long jobs
// waited for their first task, jobs that have ended, attempts and their errors. Its memory is bounded, but for
// about 200 bytes for each live job (TestRecorderIsBounded). Make one for each pool:
//
//	rec := statuspage.NewRecorder(live.Log(logger))
//	pool, err := live.New(policy, live.Options{Observer: rec})
//	...
//	page := statuspage.Handler(pool, statuspage.WithRecorder(rec))
type Recorder struct {
	others []live.Observer
	pool   looker // nil without Watch

	mu      sync.Mutex
	now     sojourn.Time // of the last thing that is known
	polled  bool         // it is told by load and not by notes
	jobs    jobTable
	all     *tenant // Invariant: the sums over all tenants, which share no list with it
	other   *tenant // those above mostTenants
	tenants map[string]*tenant
	numbers int // of tenants that there were
	due     deadlines
	next    sojourn.Time // of the next sample
	hour    ring[sample]
	slots   map[sojourn.SlotID]*span
	ended   ring[gone] // jobs that have ended well
	failed  ring[gone]
	spans   ring[span] // attempts that have ended well, or were stopped
	bad     ring[span]
	longest int // the most jobs that were looked at while it was locked
}

// A looker is what live.New gives to Watch.
type looker interface {
	Status(ids []sojourn.JobID) (live.Status, []sojourn.Time)
	Hasten(id sojourn.JobID) bool
}

// NewRecorder returns a recorder that tells other observers of the pool everything, too. If one of them panics, none is told any
// more.
func NewRecorder(others ...live.Observer) *Recorder {
	r := &Recorder{others: others, tenants: map[string]*tenant{}, slots: map[sojourn.SlotID]*span{}, now: -1}
	r.all, r.other = r.newTenant(""), r.newTenant("other tenants")
	r.hour.most, r.ended.most, r.failed.most, r.spans.most, r.bad.most = samples, keptJobs, keptJobs, keptSpans, keptSpans
	return r
}

// Watch is called by live.New.
func (r *Recorder) Watch(pool any) { r.pool, _ = pool.(looker) }

// A job is what is known of a live one.
type job struct {
	spec                   *sojourn.Job
	tenant                 *tenant
	at, since              sojourn.Time // it was submitted; since then nothing of it runs
	waiting, running, done int32        // tasks
	late                   bool
	started                bool
	place                  int // in deadlines; -1: nowhere
	before, after          *job
	bad                    *trouble // nil for most
}

// A trouble is what is known of a job of which something has failed.
type trouble struct {
	tasks map[sojourn.TaskID]bool // that have failed, and not succeeded since
	last  string                  // why the last attempt failed
	stuck string                  // why the job cannot go on
}

// A tenant is the jobs of one name of a pool.
type tenant struct {
	key                 string // stands for the name in addresses
	name                string
	number              int  // of its colour
	live, late, failing int  // jobs
	waiting, running    int  // tasks
	first, last         *job // of those of which nothing runs, by since
	idle                int  // their number
	at                  int64
	window              [windows]*window // by time, modulo windows
}

// A window is what became of the jobs of a tenant in windowEvery.
type window struct {
	ended, failed uint32
	waits         [bins]uint32 // for their first tasks: bin i has those below 1.25^i ms
}

// bin returns the bin of a wait, and the least wait above that bin.
func bin(wait time.Duration) (i int, above time.Duration) {
	for above = time.Millisecond; i < bins-1 && wait >= above; i++ {
		above += above / 4
	}
	return i, above
}

func (r *Recorder) newTenant(name string) *tenant {
	r.numbers++
	return &tenant{name: name, key: keyOf(name), number: r.numbers - 3} // the first two are not told apart
}

// tenant returns the tenant of a name.
func (r *Recorder) tenant(name string) *tenant {
	t := r.tenants[name]
	if t != nil {
		return t
	}
	if len(r.tenants) >= mostTenants {
		for k, t := range r.tenants { //sojourn:unordered any that is idle
			if t.live == 0 {
				delete(r.tenants, k)
				break
			}
		}
		if len(r.tenants) >= mostTenants {
			return r.other
		}
	}
	t = r.newTenant(name)
	r.tenants[name] = t
	return t
}

// keyOf returns what stands for the name of a tenant in an address: the name, unless it is long or cannot be shown.
func keyOf(name string) string {
	switch {
	case name == "":
		return noTenant
	case len(name) <= 100 && shown(name) == name && utf8.ValidString(name):
		return name
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("~%016x", h.Sum64())
}

// atNow returns the window of now, empty if it is new.
func (t *tenant) atNow(now sojourn.Time) *window {
	n := int64(now) / int64(windowEvery)
	for ; t.at < n; t.at++ {
		if t.at < n-windows {
			t.at = n - windows
		}
		t.window[(t.at+1)%windows] = nil
	}
	w := &t.window[n%windows]
	if *w == nil {
		*w = new(window)
	}
	return *w
}

// hourOf adds up windows: those that began so many windows ago at most.
func (t *tenant) hourOf(now sojourn.Time, from, to int64) (sum window) {
	n := int64(now) / int64(windowEvery)
	for i := max(0, n-to); i <= n-from; i++ {
		if w := t.window[i%windows]; w != nil && i <= t.at && i > t.at-windows {
			sum.ended += w.ended
			sum.failed += w.failed
			for k := range w.waits {
				sum.waits[k] += w.waits[k]
			}
		}
	}
	return sum
}

// quantile returns the wait that so many of 100 jobs had at most, and false if no job has started.
func (w *window) quantile(percent uint64) (time.Duration, bool) {
	total := uint64(0)
	for _, n := range w.waits {
		total += uint64(n)
	}
	sum := uint64(0)
	for i, n := range w.waits {
		if sum += uint64(n); n > 0 && sum*100 >= total*percent {
			_, above := bin(0)
			for ; i > 0; i-- {
				above += above / 4
			}
			return above - above/10, true // the middle of the bin
		}
	}
	return 0, false
}

// seconds is quantile in seconds, nil if no job has started.
func (w *window) seconds(percent uint64) *float64 {
	d, ok := w.quantile(percent)
	if !ok {
		return nil
	}
	v := d.Seconds()
	return &v
}

// A sample is what waited and ran at one time.
type sample struct {
	at               sojourn.Time
	waiting, running int
	of               [inSample]part // the largest ones
}

type part struct {
	t                *tenant
	waiting, running int
}

// A span is an attempt.
type span struct {
	task       sojourn.TaskID
	attempt    uint32
	slot       sojourn.SlotID
	tenant     *tenant
	start, end sojourn.Time
	err        string
	stopped    error
}

// A gone job has ended.
type gone struct {
	id        sojourn.JobID
	name      string
	key       string // of the tenant
	tenant    string
	colour    int
	at, end   sojourn.Time
	done, all int
	late      bool
	err       string
}

// A ring keeps the last values that were put in.
type ring[V any] struct {
	list []V
	most int
	from int // of the oldest
}

func (r *ring[V]) put(v V) {
	if len(r.list) < r.most {
		r.list = append(r.list, v)
		return
	}
	r.list[r.from] = v
	r.from = (r.from + 1) % r.most
}

// each calls f for all values, the oldest first.
func (r *ring[V]) each(f func(*V)) {
	for i := range r.list {
		f(&r.list[(r.from+i)%len(r.list)])
	}
}

// advance does what happens by time alone, up to now.
func (r *Recorder) advance(now sojourn.Time) {
	if r.now < 0 {
		r.next = now
	}
	if now < r.now {
		return
	}
	if old := now.Add(-samples * sampleEvery); r.next < old {
		r.next = old
	}
	if r.next <= now {
		for s := r.sample(); r.next <= now; r.next = r.next.Add(sampleEvery) {
			s.at = r.next
			r.hour.put(s)
		}
	}
	r.overdue(now)
	r.now = now
}

func (r *Recorder) overdue(now sojourn.Time) {
	for len(r.due) > 0 && r.due[0].spec.Deadline < now {
		j := heap.Pop(&r.due).(*job)
		j.late = true
		j.tenant.late++
		r.all.late++
	}
}

// sample returns what waits and runs, at no time.
func (r *Recorder) sample() sample {
	s := sample{waiting: r.all.waiting, running: r.all.running}
	var all []part
	for _, t := range r.tenants { //sojourn:unordered sorted below
		if t.waiting+t.running > 0 {
			all = append(all, part{t, t.waiting, t.running})
		}
	}
	slices.SortFunc(all, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.waiting+b.running, a.waiting+a.running), cmp.Compare(a.t.number, b.t.number))
	})
	copy(s.of[:], all)
	return s
}

// Note implements [live.Observer].
func (r *Recorder) Note(n live.Note) {
	r.note(n)
	for _, o := range r.others {
		o.Note(n)
	}
}

func (r *Recorder) note(n live.Note) {
	if n.Kind == live.Decided || n.Kind == live.JobRefused {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(n.At)
	var j *job
	if n.Job != nil {
		j = r.jobs.get(n.Job.ID)
	}
	switch n.Kind {
	case live.JobSubmitted:
		r.enter(n.Job, n.At.Add(-n.Age), n.At, 0)
		return
	case live.JobResumed:
		done := 0
		for _, k := range n.Done {
			done += k
		}
		r.enter(n.Job, n.At.Add(-n.Age), n.At.Add(-n.Took), done)
		return
	}
	if j == nil {
		return
	}
	switch n.Kind {
	case live.JobRevised:
		r.move(j, int32(tasksOf(n.Job)-tasksOf(j.spec)), 0)
		j.spec = n.Job
	case live.JobStuck:
		j.trouble().stuck = line(n.Err)
	case live.JobEnded:
		r.leave(j, n.Err)
	case live.TaskStarted:
		if !j.started {
			j.started = true
			r.waited(j, n.At.Sub(j.at))
		}
		if j.bad != nil {
			j.bad.stuck = ""
		}
		r.slots[n.Slot] = &span{task: n.Task, attempt: n.Attempt, slot: n.Slot, tenant: j.tenant, start: n.At}
		r.move(j, -1, 1)
	case live.TaskStopped:
		if s := r.slots[n.Slot]; s != nil {
			s.stopped = n.Err
		}
	case live.TaskGivenUp:
		j.done++
		r.move(j, -1, 0)
	case live.TaskEnded:
		r.attemptEnded(j, &n)
	}
}

func (r *Recorder) attemptEnded(j *job, n *live.Note) {
	s := r.slots[n.Slot]
	if s == nil {
		s = &span{task: n.Task, attempt: n.Attempt, slot: n.Slot, tenant: j.tenant, start: n.At.Add(-n.Took)}
	}
	delete(r.slots, n.Slot)
	s.end = n.At
	away := errors.Is(s.stopped, live.ErrPreempted) || errors.Is(s.stopped, live.ErrSlotRemoved)
	switch {
	case n.Err == nil:
		j.done++
		r.move(j, 0, -1)
		if j.bad != nil && j.bad.tasks[n.Task] {
			r.mend(j, n.Task)
		}
	case away:
		s.err = line(s.stopped)
		r.move(j, 1, -1)
	default:
		s.err = line(n.Err)
		r.move(j, 1, -1)
		b := j.trouble()
		if len(b.tasks) == 0 {
			j.tenant.failing++
			r.all.failing++
			b.tasks = map[sojourn.TaskID]bool{}
		}
		b.tasks[n.Task], b.last = true, s.err
	}
	s.stopped = nil
	if n.Err == nil || away {
		r.spans.put(*s)
	} else {
		r.bad.put(*s)
	}
}

func (j *job) trouble() *trouble {
	if j.bad == nil {
		j.bad = new(trouble)
	}
	return j.bad
}

// mend enters that a task which had failed has succeeded, or is of no interest any more.
func (r *Recorder) mend(j *job, task sojourn.TaskID) {
	if delete(j.bad.tasks, task); len(j.bad.tasks) == 0 {
		j.tenant.failing--
		r.all.failing--
	}
}

// line returns the beginning of the first line of an error.
func line(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return short(text)
}

// short returns a text of at most mostText bytes and a sign that it was longer. It keeps nothing of a longer text alive.
func short(text string) string {
	if len(text) <= mostText {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:mostText], "") + "…"
}

// tasksOf returns how many tasks a job has.
func tasksOf(spec *sojourn.Job) (n int) {
	for i := range spec.Phases {
		n += spec.Phases[i].Tasks
	}
	return n
}

// enter enters a live job.
func (r *Recorder) enter(spec *sojourn.Job, at, since sojourn.Time, done int) *job {
	j := &job{spec: spec, tenant: r.tenant(spec.Pool), at: at, since: since, waiting: int32(tasksOf(spec) - done), done: int32(done), started: done > 0, place: -1}
	r.jobs.put(spec.ID, j)
	for _, t := range []*tenant{j.tenant, r.all} {
		t.live++
		t.waiting += int(j.waiting)
	}
	j.tenant.rest(j)
	r.all.idle++
	if spec.Deadline > 0 {
		heap.Push(&r.due, j)
		r.overdue(r.now)
	}
	return j
}

// leave forgets a job that has ended, but for what is kept of the ended ones.
func (r *Recorder) leave(j *job, err error) {
	g := gone{id: j.spec.ID, name: short(j.spec.Name), tenant: short(j.spec.Pool), key: keyOf(j.spec.Pool), colour: j.tenant.number, at: j.at, end: r.now, done: int(j.done), late: j.late}
	for i := range j.spec.Phases {
		g.all += j.spec.Phases[i].Tasks
	}
	for _, t := range []*tenant{j.tenant, r.all} {
		t.live--
		t.waiting -= int(j.waiting)
		t.running -= int(j.running)
		if j.late {
			t.late--
		}
		if j.bad != nil && len(j.bad.tasks) > 0 {
			t.failing--
		}
		w := t.atNow(r.now)
		if w.ended++; err != nil {
			w.failed++
		}
	}
	if j.running == 0 {
		j.tenant.wake(j)
		r.all.idle--
	}
	if j.place >= 0 {
		heap.Remove(&r.due, j.place)
	}
	r.jobs.remove(j.spec.ID)
	if err == nil {
		r.ended.put(g)
		return
	}
	g.err = line(err)
	r.failed.put(g)
}

// waited enters how long a job waited for its first task.
func (r *Recorder) waited(j *job, wait time.Duration) {
	i, _ := bin(wait)
	j.tenant.atNow(r.now).waits[i]++
	r.all.atNow(r.now).waits[i]++
}

// move enters that tasks of a job begin to wait or to run.
func (r *Recorder) move(j *job, waiting, running int32) {
	was := j.running
	j.waiting += waiting
	j.running += running
	for _, t := range []*tenant{j.tenant, r.all} {
		t.waiting += int(waiting)
		t.running += int(running)
	}
	switch {
	case was == 0 && j.running > 0:
		j.tenant.wake(j)
		r.all.idle--
	case was > 0 && j.running == 0:
		j.since = r.now
		j.tenant.rest(j)
		r.all.idle++
	}
}

// rest puts a job of which nothing runs into the list: at the end, unless a process before has left it.
func (t *tenant) rest(j *job) {
	t.idle++
	at := t.last
	for at != nil && at.since > j.since {
		at = at.before
	}
	j.before = at
	if at == nil {
		j.after, t.first = t.first, j
	} else {
		j.after, at.after = at.after, j
	}
	if j.after == nil {
		t.last = j
	} else {
		j.after.before = j
	}
}

// wake takes a job out of the list.
func (t *tenant) wake(j *job) {
	t.idle--
	if j.before == nil {
		t.first = j.after
	} else {
		j.before.after = j.after
	}
	if j.after == nil {
		t.last = j.before
	} else {
		j.after.before = j.before
	}
	j.before, j.after = nil, nil
}

// load takes over what the status of a pool says, for pools that tell the recorder nothing.
func (r *Recorder) load(st *live.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.polled = true
	r.advance(st.Now)
	r.jobs, r.due = jobTable{}, nil
	for _, t := range r.tenants { //sojourn:unordered all are the same
		*t = tenant{name: t.name, key: t.key, number: t.number}
	}
	*r.all, *r.other = tenant{}, tenant{name: r.other.name, key: r.other.key, number: r.other.number}
	for i := range st.Jobs {
		s := &st.Jobs[i]
		at := st.Now.Add(-s.Age)
		j := r.enter(&sojourn.Job{ID: s.ID, Name: s.Name, Pool: s.Pool, Deadline: s.Deadline, Phases: []sojourn.Phase{{Tasks: s.Progress.Tasks}}}, at, at, s.Progress.Done+s.Progress.FailedTasks)
		r.move(j, -int32(s.Progress.Running), int32(s.Progress.Running))
		if s.Progress.Failed > 0 {
			j.trouble().tasks = map[sojourn.TaskID]bool{{Job: s.ID}: true}
			j.tenant.failing++
			r.all.failing++
		}
	}
	clear(r.slots)
	for _, s := range st.Slots {
		if s.Busy {
			t := r.other
			if j := r.jobs.get(s.Task.Job); j != nil {
				t = j.tenant
			}
			r.slots[s.Slot.ID] = &span{task: s.Task, attempt: s.Attempt, slot: s.Slot.ID, tenant: t, start: -1}
		}
	}
}

// deadlines is a heap of the jobs whose deadlines are to come.
type deadlines []*job

func (d deadlines) Len() int { return len(d) }
func (d deadlines) Less(i, k int) bool {
	return d[i].spec.Deadline < d[k].spec.Deadline || d[i].spec.Deadline == d[k].spec.Deadline && d[i].spec.ID < d[k].spec.ID
}
func (d deadlines) Swap(i, k int) {
	d[i], d[k] = d[k], d[i]
	d[i].place, d[k].place = i, k
}
func (d *deadlines) Push(x any) {
	x.(*job).place = len(*d)
	*d = append(*d, x.(*job))
}
func (d *deadlines) Pop() any {
	j := (*d)[len(*d)-1]
	j.place = -1
	(*d)[len(*d)-1] = nil
	*d = (*d)[:len(*d)-1]
	return j
}

// A jobTable finds live jobs by ID, in pages of chunk jobs. IDs count up.
type jobTable struct {
	pages []*jobPage // nil: no job of the page is live
	base  sojourn.JobID
}

type jobPage struct {
	jobs [chunk]*job
	live int
}

func (t *jobTable) get(id sojourn.JobID) *job {
	i := id/chunk - t.base
	if i >= sojourn.JobID(len(t.pages)) || t.pages[i] == nil {
		return nil
	}
	return t.pages[i].jobs[id%chunk]
}

func (t *jobTable) put(id sojourn.JobID, j *job) {
	k := id / chunk
	if len(t.pages) == 0 {
		t.base = k
	}
	for k < t.base { // after load, or of a process before
		t.pages = append([]*jobPage{nil}, t.pages...)
		t.base--
	}
	for k-t.base >= sojourn.JobID(len(t.pages)) {
		t.pages = append(t.pages, nil)
	}
	p := &t.pages[k-t.base]
	if *p == nil {
		*p = new(jobPage)
	}
	(*p).jobs[id%chunk] = j
	(*p).live++
}

func (t *jobTable) remove(id sojourn.JobID) {
	p := &t.pages[id/chunk-t.base]
	(*p).jobs[id%chunk] = nil
	if (*p).live--; (*p).live > 0 {
		return
	}
	*p = nil
	for len(t.pages) > 0 && t.pages[0] == nil {
		t.pages = t.pages[1:]
		t.base++
	}
}
