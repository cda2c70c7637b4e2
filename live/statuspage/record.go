package statuspage

import (
	"cmp"
	"container/heap"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/live"
)

// Bounds of what a recorder keeps, besides what it knows of live jobs.
const (
	chunk       = 1024 // jobs that are looked at while the recorder is locked
	mostTenants = 1000 // tenants that are told apart; the others share one line
	largest     = 8    // tenants of a sample that have the most tasks
	holders     = 4    // those of the others that have the most slots
	inSample    = largest + holders
	ofClasses   = 8                // classes of slots that are told apart
	sampleEvery = 10 * time.Second // of which an hour has 360
	samples     = 361
	windowEvery = 5 * time.Minute // over which waits are counted
	windows     = 12              // an hour, the last one not whole
	bins        = 96              // of waits, up to 18 days
	keptJobs    = 1000            // that have ended well, and that have not
	keptSpans   = 16384           // attempts that have ended well, and that have not
	mostText    = 300             // bytes of a name or an error of what has ended
	mostAsked   = 500             // jobs about which the pool is asked at a time
	mostStuck   = 64              // jobs that are known not to be able to go on
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
	numbers int               // of tenants that there were
	due     queue             // what happens by time alone, by next
	stuck   []sojourn.JobID   // that cannot go on, as the pool has said
	turns   map[string][]*job // jobs of each sequence, in the order of arrival
	next    sojourn.Time      // of the next sample
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
	Stuck(ids []sojourn.JobID) []bool
	Void() []sojourn.JobID
	Hasten(id sojourn.JobID) bool
}

// NewRecorder returns a recorder that tells other observers of the pool everything, too. If one of them panics, none is told any
// more.
func NewRecorder(others ...live.Observer) *Recorder {
	r := &Recorder{others: others, tenants: map[string]*tenant{}, slots: map[sojourn.SlotID]*span{}, turns: map[string][]*job{}, now: -1, due: queue{of: next}}
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
	at                     sojourn.Time // it was submitted
	waiting, running, done int32        // tasks
	late, started          bool
	times                  [2]sojourn.Time
	places                 [2]int32 // in a queue by that time; -1: in none
	queue                  *queue   // by since, of its tenant; nil: it is in none
	bad                    *trouble // nil for most
}

// Times of a job by which a queue is ordered.
const (
	since = iota // nothing of it has run since then, though something waits
	next         // what happens then happens by time alone
)

// A trouble is what is known of a job of which something has failed, or that cannot go on.
type trouble struct {
	tasks map[sojourn.TaskID]bool // that have failed, and not succeeded since
	last  string                  // why the last attempt failed
	ready bool                    // a task waits for a slot though all have failed
	stuck string                  // why the job cannot go on
}

// A who is the name of a tenant. It does not change.
type who struct {
	key    string // stands for the name in addresses
	name   string // for people
	number int    // of its colour; negative: several tenants
}

// A tally counts jobs and tasks.
type tally struct {
	live, late, failing int // jobs
	active, idle        int // jobs of which something runs, and of which something waits and nothing runs
	waiting, running    int // tasks
}

// A tenant is the jobs of one name of a pool.
type tenant struct {
	*who
	tally
	full  string // the name
	waits queue  // jobs of which nothing runs, and something waits for nothing but a slot
	doubt queue  // jobs of which nothing runs, and all that waits has failed: the pool knows what it waits for
	past
}

// A past is what became of the jobs of a tenant in the last hour. Only the last of the windows changes.
type past struct {
	at     int64            // the number of the last window
	window [windows]*window // by number, modulo windows
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
	x := &who{keyOf(name), cmpName(short(name)), r.numbers - 3} // the first two are not told apart
	if x.key[0] == '#' && name != "" {
		x.name = clipped(x.name, 150) + " " + x.key[:7] // what is shown is not all
	}
	return &tenant{full: name, who: x}
}

// tenantOf returns the tenant of the jobs of a pool: the sessions of a tenant of package door are pools inside its own.
func tenantOf(pool string) string {
	if i := strings.LastIndex(pool, "/~s:"); i > 0 {
		return pool[:i]
	}
	return pool
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

// keyOf returns what stands for the name of a tenant in an address: the name, unless it is long, cannot be shown or could stand for
// another one. Different names have different ones.
func keyOf(name string) string {
	if len(name) > 0 && len(name) <= 100 && name[0] != '#' && name != noTenant && shown(name) == name && utf8.ValidString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("#%x", sum[:16])
}

// atNow returns the window of now, empty if it is new.
func (t *past) atNow(now sojourn.Time) *window {
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
func (t *past) hourOf(now sojourn.Time, from, to int64) (sum window) {
	n := int64(now) / int64(windowEvery)
	for i := max(0, n-to); i <= n-from; i++ {
		if w := t.window[i%windows]; w != nil && i <= t.at && i > t.at-windows {
			sum.add(w)
		}
	}
	return sum
}

func (w *window) add(v *window) {
	w.ended += v.ended
	w.failed += v.failed
	for k := range v.waits {
		w.waits[k] += v.waits[k]
	}
}

// copied returns a copy that does not change.
func (t *past) copied() past {
	c := *t
	if w := &c.window[t.at%windows]; *w != nil {
		last := **w
		*w = &last
	}
	return c
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
	of               [inSample]part // the largest ones, then those that have the most slots
	class            sojourn.Class  // of all slots that run something, if held is nil
	held             []held         // of each class in which something runs
}

type part struct {
	*who
	waiting, running int
}

// held is how many slots of a class run something: all, and of each part of a sample.
type held struct {
	class sojourn.Class
	all   int
	of    [inSample]int
}

// in returns what a sample would be without slots of other classes.
func (s *sample) in(c sojourn.Class) sample {
	var h held
	for i := range s.held {
		if s.held[i].class == c {
			h = s.held[i]
		}
	}
	of := *s
	if s.held == nil && s.class == c {
		return of
	}
	of.running = h.all
	for i := range of.of {
		of.of[i].running = h.of[i]
	}
	return of
}

// A span is an attempt.
type span struct {
	task       sojourn.TaskID
	attempt    uint32
	slot       sojourn.SlotID
	class      sojourn.Class
	*who       // nil when it has ended
	start, end sojourn.Time
	err        string
	stopped    error
}

// A gone job has ended.
type gone struct {
	id        sojourn.JobID
	name      string
	who       *who
	at, end   sojourn.Time
	done, all int
	late      bool
	failed    bool // not one that was cancelled, or refused before something of it ran
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
	r.now = now
	for len(r.due.jobs) > 0 && r.due.jobs[0].times[next] <= now {
		j := r.due.jobs[0]
		r.change(j, func() { j.late = j.late || j.overdue(now) })
	}
}

func (j *job) overdue(now sojourn.Time) bool { return j.spec.Deadline > 0 && j.spec.Deadline < now }

// sample returns what waits and runs, at no time.
func (r *Recorder) sample() sample {
	s := sample{waiting: r.all.waiting, running: r.all.running}
	var all []part
	for _, t := range r.tenants { //sojourn:unordered sorted below
		if t.waiting+t.running > 0 {
			all = append(all, part{t.who, t.waiting, t.running})
		}
	}
	slices.SortFunc(all, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.waiting+b.running, a.waiting+a.running), cmp.Compare(a.number, b.number))
	})
	copy(s.of[:largest], all)
	for i, p := range r.holders(all[min(len(all), largest):]) {
		s.of[largest+i] = p
	}
	place := map[sojourn.Class]int{}
	for _, x := range r.slots { //sojourn:unordered counts
		i, ok := place[x.class]
		if !ok {
			if i = len(s.held); i == ofClasses {
				continue
			}
			place[x.class] = i
			s.held = append(s.held, held{class: x.class})
		}
		s.held[i].all++
		for k := range s.of {
			if s.of[k].who == x.who {
				s.held[i].of[k]++
			}
		}
	}
	if len(s.held) == 1 {
		s.class, s.held = s.held[0].class, nil
	}
	return s
}

// holders returns those of some parts that have the most slots of a class, a few of each class.
func (r *Recorder) holders(some []part) (list []part) {
	if len(some) == 0 {
		return nil
	}
	of := map[sojourn.Class]map[*who]int{}
	for _, x := range r.slots { //sojourn:unordered counts
		if of[x.class] == nil {
			of[x.class] = map[*who]int{}
		}
		of[x.class][x.who]++
	}
	for _, c := range slices.Sorted(maps.Keys(of)) {
		if len(list) == holders {
			break
		}
		n := max(1, holders/len(of))
		for _, p := range slices.SortedStableFunc(slices.Values(some), func(a, b part) int { return cmp.Compare(of[c][b.who], of[c][a.who]) }) {
			if n == 0 || of[c][p.who] == 0 || len(list) == holders {
				break
			}
			if n--; !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
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
		r.enter(n.Job, n.At.Add(-n.Age), n.At, 0, 0)
		return
	case live.JobResumed:
		done := 0
		for _, k := range n.Done {
			done += k
		}
		r.enter(n.Job, n.At.Add(-n.Age), n.At.Add(-n.Took), done, 0)
		return
	}
	if j == nil {
		return
	}
	switch n.Kind {
	case live.JobRevised:
		r.change(j, func() {
			j.waiting += int32(tasksOf(n.Job) - tasksOf(j.spec))
			j.spec = n.Job
		})
	case live.JobStuck:
		if len(r.stuck) < mostStuck {
			r.stuck = append(r.stuck, n.Job.ID)
			r.change(j, func() { j.trouble().stuck = line(n.Err) })
		}
	case live.JobEnded:
		r.leave(j, n.Err)
	case live.TaskStarted:
		if !j.started {
			j.started = true
			r.waited(j, n.At.Sub(max(j.at, j.spec.Release)))
		}
		r.slots[n.Slot] = &span{task: n.Task, attempt: n.Attempt, slot: n.Slot, class: j.classOf(n.Task), who: j.tenant.who, start: n.At}
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
		s = &span{task: n.Task, attempt: n.Attempt, slot: n.Slot, start: n.At.Add(-n.Took)}
	}
	delete(r.slots, n.Slot)
	s.end = n.At
	why := cmp.Or(s.stopped, n.Err) // what was stopped has not failed by itself
	kept, waits := &r.spans, int32(1)
	if s.who = nil; n.Err == nil {
		j.done++
		waits = 0
	} else {
		s.err = line(why)
	}
	r.change(j, func() {
		j.running--
		j.waiting += waits
		switch {
		case n.Err == nil && j.bad != nil:
			delete(j.bad.tasks, n.Task)
			j.mend()
		case n.Err != nil && s.stopped == nil:
			b := j.trouble()
			if b.tasks == nil {
				b.tasks = map[sojourn.TaskID]bool{}
			}
			b.tasks[n.Task], b.last, b.ready = true, s.err, false
			kept = &r.bad
		}
	})
	s.stopped = nil
	kept.put(*s)
}

func (j *job) trouble() *trouble {
	if j.bad == nil {
		j.bad = new(trouble)
	}
	return j.bad
}

// mend forgets the trouble of a job in which all is well again.
func (j *job) mend() {
	if len(j.bad.tasks) == 0 && j.bad.stuck == "" {
		j.bad = nil
	}
}

func (j *job) failing() bool { return j.bad != nil && len(j.bad.tasks) > 0 }

// line returns the beginning of the first line of an error.
func line(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return short(text)
}

// short returns a text of at most mostText bytes and a sign that it was longer, without what would turn or break the line. It keeps
// nothing of a longer text alive.
func short(text string) string {
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + "…"
	}
	if !strings.ContainsFunc(text, visible.Obeyed) {
		return strings.Clone(text)
	}
	return clipped(text, mostText)
}

// classOf returns the class of the slots that a task runs on.
func (j *job) classOf(t sojourn.TaskID) sojourn.Class {
	if int(t.Phase) < len(j.spec.Phases) {
		return j.spec.Phases[t.Phase].Class
	}
	return 0
}

// needs returns the classes of the slots that phases of a job run on, one entry for each of the first phases.
func needs(spec *sojourn.Job) (list []sojourn.Class) {
	for i := range spec.Phases[:min(len(spec.Phases), 8)] {
		list = append(list, spec.Phases[i].Class)
	}
	return list
}

// tasksOf returns how many tasks a job has.
func tasksOf(spec *sojourn.Job) (n int) {
	for i := range spec.Phases {
		n += spec.Phases[i].Tasks
	}
	return n
}

// enter enters a live job, of which nothing runs since a time.
func (r *Recorder) enter(spec *sojourn.Job, at, idle sojourn.Time, done, running int) *job {
	j := &job{spec: spec, tenant: r.tenant(tenantOf(spec.Pool)), at: at, waiting: int32(tasksOf(spec) - done - running), running: int32(running), done: int32(done),
		started: done+running > 0, times: [2]sojourn.Time{since: max(idle, spec.Release)}, places: [2]int32{-1, -1}}
	j.late = j.overdue(r.now)
	r.jobs.put(j)
	if spec.Sequence != "" {
		r.turns[spec.Sequence] = append(r.turns[spec.Sequence], j)
	}
	r.count(j, 1)
	r.file(j)
	return j
}

// count adds a job to what is counted, or takes it away if n is -1.
func (r *Recorder) count(j *job, n int) {
	for _, t := range [...]*tenant{j.tenant, r.all} {
		t.live += n
		t.waiting += n * int(j.waiting)
		t.running += n * int(j.running)
		if j.late {
			t.late += n
		}
		if j.failing() {
			t.failing += n
		}
		switch {
		case j.running > 0:
			t.active += n
		case j.waiting > 0:
			t.idle += n
		}
	}
}

// change changes what is known of a job.
func (r *Recorder) change(j *job, how func()) {
	was := j.idle()
	r.count(j, -1)
	if how(); j.idle() && !was {
		j.times[since] = r.now
	}
	r.count(j, 1)
	r.file(j)
}

// before returns the job that has to end before one of the same sequence may start, nil if there is none.
func (r *Recorder) before(j *job) *job {
	if turns := r.turns[j.spec.Sequence]; len(turns) > 0 && turns[0] != j {
		return turns[0]
	}
	return nil
}

func (j *job) idle() bool { return j.running == 0 && j.waiting > 0 }

// file puts a job into the queues to which it belongs now.
func (r *Recorder) file(j *job) {
	t, to := j.tenant, (*queue)(nil)
	switch {
	case !j.idle() || j.bad != nil && j.bad.stuck != "" || j.spec.Release > r.now || r.before(j) != nil:
	case j.bad == nil || j.bad.ready || int(j.waiting) > len(j.bad.tasks):
		to = &t.waits
	default:
		to = &t.doubt
	}
	if j.queue != to {
		j.queue.remove(j)
		if j.queue = to; to != nil {
			heap.Push(to, j)
		}
	}
	at := sojourn.Time(math.MaxInt64)
	if j.spec.Release > r.now {
		at = j.spec.Release
	}
	if j.spec.Deadline > 0 && !j.late {
		at = min(at, j.spec.Deadline.Add(1))
	}
	if at != j.times[next] {
		r.due.remove(j)
		if j.times[next] = at; at < math.MaxInt64 {
			heap.Push(&r.due, j)
		}
	}
}

// leave forgets a job that has ended, but for what is kept of the ended ones.
func (r *Recorder) leave(j *job, err error) {
	g := gone{id: j.spec.ID, name: short(j.spec.Name), who: j.tenant.who, at: j.at, end: r.now, done: int(j.done), all: tasksOf(j.spec), late: j.late}
	if err != nil {
		g.err = line(err)
		g.failed = j.started
		for _, away := range []error{live.ErrCancelled, live.ErrClosed, live.ErrSuspended, context.Canceled} {
			g.failed = g.failed && !errors.Is(err, away)
		}
		g.failed = g.failed || errors.Is(err, live.ErrJobTimeout) || errors.Is(err, context.DeadlineExceeded)
	}
	r.count(j, -1)
	for _, t := range [...]*tenant{j.tenant, r.all} {
		w := t.atNow(r.now)
		if w.ended++; g.failed {
			w.failed++
		}
	}
	j.queue.remove(j)
	r.due.remove(j)
	r.jobs.remove(j.spec.ID)
	if turns := r.turns[j.spec.Sequence]; len(turns) == 1 && turns[0] == j {
		delete(r.turns, j.spec.Sequence)
	} else if i := slices.Index(turns, j); i == 0 {
		turns[0] = nil
		r.turns[j.spec.Sequence] = turns[1:]
		turns[1].times[since] = max(r.now, turns[1].spec.Release)
		r.file(turns[1])
	} else if i > 0 {
		r.turns[j.spec.Sequence] = slices.Delete(turns, i, i+1)
	}
	r.stuck = slices.DeleteFunc(r.stuck, func(id sojourn.JobID) bool { return id == g.id })
	if g.failed {
		r.failed.put(g)
		return
	}
	r.ended.put(g)
}

// waited enters how long a job waited for its first task.
func (r *Recorder) waited(j *job, wait time.Duration) {
	i, _ := bin(wait)
	j.tenant.atNow(r.now).waits[i]++
	r.all.atNow(r.now).waits[i]++
}

// move enters that tasks of a job begin to wait or to run.
func (r *Recorder) move(j *job, waiting, running int32) {
	r.change(j, func() {
		j.waiting += waiting
		j.running += running
	})
}

// load takes over what the status of a pool says, for pools that tell the recorder nothing.
func (r *Recorder) load(st *live.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.polled = true
	r.advance(st.Now)
	r.jobs, r.due.jobs = jobTable{}, nil
	clear(r.turns)
	for _, t := range r.tenants { //sojourn:unordered all are the same
		t.clear()
	}
	r.all.clear()
	r.other.clear()
	order := make([]*live.JobStatus, len(st.Jobs))
	for i := range st.Jobs {
		order[i] = &st.Jobs[i]
	}
	slices.SortFunc(order, func(a, b *live.JobStatus) int { return cmp.Compare(a.ID, b.ID) })
	for _, s := range order {
		at, p := st.Now.Add(-s.Age), &s.Progress
		j := r.enter(&sojourn.Job{ID: s.ID, Name: s.Name, Pool: s.Pool, Deadline: s.Deadline, Phases: []sojourn.Phase{{Tasks: p.Tasks}}}, at, at, p.Done+p.FailedTasks, p.Running)
		if p.Failed > 0 {
			r.change(j, func() {
				*j.trouble() = trouble{tasks: map[sojourn.TaskID]bool{{Job: s.ID}: true}, ready: int(j.waiting) > p.Held}
			})
		}
	}
	clear(r.slots)
	for _, s := range st.Slots {
		if s.Busy {
			t := r.other
			if j := r.jobs.get(s.Task.Job); j != nil {
				t = j.tenant
			}
			r.slots[s.Slot.ID] = &span{task: s.Task, attempt: s.Attempt, slot: s.Slot.ID, class: s.Slot.Class, who: t.who, start: -1}
		}
	}
}

// clear forgets the live jobs of a tenant.
func (t *tenant) clear() { t.tally, t.waits, t.doubt = tally{}, queue{}, queue{} }

// doubts returns jobs of which the pool knows better whether they wait for a slot, and those that it has said to be stuck.
func (r *Recorder) doubts() (ids, stuck []sojourn.JobID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.tenants { //sojourn:unordered the answer has the same part of each
		for _, j := range t.doubt.jobs[:min(len(t.doubt.jobs), max(1, mostAsked/len(r.tenants)))] {
			ids = append(ids, j.spec.ID)
		}
	}
	return ids[:min(len(ids), mostAsked)], slices.Clone(r.stuck)
}

// settle enters what the pool has said of such jobs.
func (r *Recorder) settle(jobs []live.JobStatus, stuck []sojourn.JobID, still []bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range jobs {
		p := &jobs[i].Progress
		if j := r.jobs.get(jobs[i].ID); j != nil && j.bad != nil && p.Tasks-p.Done-p.FailedTasks-p.Running > p.Held {
			r.change(j, func() { j.bad.ready = true })
		}
	}
	for i, id := range stuck {
		if j := r.jobs.get(id); j != nil && j.bad != nil && !still[i] {
			r.change(j, func() {
				j.bad.stuck = ""
				j.mend()
			})
			r.stuck = slices.DeleteFunc(r.stuck, func(x sojourn.JobID) bool { return x == id })
		}
	}
}

// each calls f with each number below n, and locks the recorder for a chunk of them at a time.
func (r *Recorder) each(n int, f func(i int)) {
	for i := 0; i < n; {
		r.mu.Lock()
		for end := min(n, i+chunk); i < end; i++ {
			f(i)
		}
		r.mu.Unlock()
	}
}

// A queue is a heap of jobs, in the order of one of their times.
type queue struct {
	of   int
	jobs []*job
}

// remove takes a job out, if it is there.
func (q *queue) remove(j *job) {
	if q != nil && j.places[q.of] >= 0 {
		heap.Remove(q, int(j.places[q.of]))
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (q *queue) Len() int { return len(q.jobs) }
func (q *queue) Less(i, k int) bool {
	a, b := q.jobs[i], q.jobs[k]
	return a.times[q.of] < b.times[q.of] || a.times[q.of] == b.times[q.of] && a.spec.ID < b.spec.ID
}
func (q *queue) Swap(i, k int) {
	q.jobs[i], q.jobs[k] = q.jobs[k], q.jobs[i]
	q.jobs[i].places[q.of], q.jobs[k].places[q.of] = int32(i), int32(k)
}
func (q *queue) Push(x any) {
	x.(*job).places[q.of] = int32(len(q.jobs))
	q.jobs = append(q.jobs, x.(*job))
}
func (q *queue) Pop() any {
	last := len(q.jobs) - 1
	j := q.jobs[last]
	j.places[q.of], q.jobs[last] = -1, nil
	q.jobs = q.jobs[:last]
	return j
}

// A jobTable finds live jobs by ID, in parts of at most chunk jobs. Whatever the IDs are, a part has a quarter of that in the mean.
type jobTable struct {
	parts []*jobPart // by ID
}

type jobPart struct {
	ids  []sojourn.JobID
	jobs []*job
}

// part returns the number of the part in which an ID is, or would be.
func (t *jobTable) part(id sojourn.JobID) int {
	i, ok := slices.BinarySearchFunc(t.parts, id, func(p *jobPart, id sojourn.JobID) int { return cmp.Compare(p.ids[0], id) })
	if !ok && i > 0 {
		i--
	}
	return i
}

func (t *jobTable) get(id sojourn.JobID) *job {
	if i := t.part(id); i < len(t.parts) {
		if k, ok := slices.BinarySearch(t.parts[i].ids, id); ok {
			return t.parts[i].jobs[k]
		}
	}
	return nil
}

func (t *jobTable) put(j *job) {
	i := t.part(j.spec.ID)
	switch {
	case i == len(t.parts):
		t.parts = append(t.parts, new(jobPart))
	case len(t.parts[i].ids) == chunk:
		p, at := t.parts[i], chunk/2
		if i == len(t.parts)-1 && j.spec.ID > p.ids[chunk-1] {
			at = chunk // the usual case: IDs count up
		}
		t.parts = slices.Insert(t.parts, i+1, &jobPart{slices.Clone(p.ids[at:]), slices.Clone(p.jobs[at:])})
		clear(p.jobs[at:])
		if p.ids, p.jobs = p.ids[:at], p.jobs[:at]; at == chunk || j.spec.ID > t.parts[i+1].ids[0] {
			i++
		}
	}
	p := t.parts[i]
	k, _ := slices.BinarySearch(p.ids, j.spec.ID)
	p.ids, p.jobs = slices.Insert(p.ids, k, j.spec.ID), slices.Insert(p.jobs, k, j)
}

func (t *jobTable) remove(id sojourn.JobID) {
	i := t.part(id)
	p := t.parts[i]
	switch k, _ := slices.BinarySearch(p.ids, id); k {
	case 0: // the usual case: the oldest goes first
		p.jobs[0] = nil
		p.ids, p.jobs = p.ids[1:], p.jobs[1:]
	default:
		p.ids, p.jobs = slices.Delete(p.ids, k, k+1), slices.Delete(p.jobs, k, k+1)
	}
	if len(p.ids) == 0 {
		t.parts = slices.Delete(t.parts, i, i+1)
		return
	}
	for k := max(0, i-1); k <= i && k+1 < len(t.parts); k++ {
		if a, b := t.parts[k], t.parts[k+1]; len(a.ids)+len(b.ids) <= chunk/2 {
			t.parts[k] = &jobPart{slices.Concat(a.ids, b.ids), slices.Concat(a.jobs, b.jobs)}
			t.parts = slices.Delete(t.parts, k+1, k+2)
			return
		}
	}
}

// from returns the part of the first job whose ID is at least id, from that job on, at most chunk jobs.
func (t *jobTable) from(id sojourn.JobID) []*job {
	for i := t.part(id); i < len(t.parts); i++ {
		if k, _ := slices.BinarySearch(t.parts[i].ids, id); k < len(t.parts[i].ids) {
			return t.parts[i].jobs[k:]
		}
	}
	return nil
}
