package sojourntest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// Numbers of short jobs.
const (
	leastJobs = 128     // after so many, checkMemory looks for the first time
	mostJobs  = 1 << 15 // what grows up to here is a leak
	leakJobs  = 2       // for a byte of a leak, at most
)

// checkMemory lets short jobs come and go, and looks at what a policy keeps each time their number has doubled. Nothing is
// wrong if that grows no more, as it does at once for most policies; one that remembers the latest 4,096 names
// of each class needs 32,768 jobs. The first look is after least jobs, the last one after most. Then a policy that is restored from what has
// lived so long has to go on like it.
//
// What other goroutines keep may grow as well. So if the heap grows each time, another policy gets the same jobs, and the
// profile of the heap tells what is live of that policy.
func checkMemory(tb rapid.TB, newPolicy func() sojourn.Policy, o Options, least, most int) {
	tb.Helper()
	if o.KeepsHistory {
		return
	}
	churning.Lock()
	defer churning.Unlock()
	c := newChurn(newPolicy, &o)
	c.live(least)
	for was, n := heap(), 2*least; n < most; n *= 2 { // more come beside others than before
		c.live(n)
		is := heap()
		if is < was+uint64(n/leakJobs) {
			c.goOn(tb, newPolicy)
			return
		}
		was = is
	}
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	c = newChurn(newPolicy, &o)
	first, then := most/4, most-most/4
	c.live(first)
	was := kept()
	c.live(then)
	is := kept()
	runtime.KeepAlive(c)
	if grown := total(is) - total(was); grown >= int64(then/leakJobs) {
		tb.Fatalf("law of %s\nthe policy keeps %d bytes after %d short jobs, and %d after %d. At most 3 jobs are live at a time. What grows most was allocated here:%s",
			lawMemory, total(was), first, total(is), most, growth(was, is))
	}
}

// heap returns how many bytes of the heap are live.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // pools are empty after two
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// churning is held while jobs come and go, since the profile cannot tell one churn from another. It guards
// runtime.MemProfileRate as well.
var churning = new(sync.Mutex)

// kept returns how many bytes are live that were allocated below step, by place.
func kept() map[string]int64 {
	for range 2 { // what has just become garbage counts until the collection after it
		runtime.GC()
	}
	var records []runtime.MemProfileRecord
	for n, ok := runtime.MemProfile(nil, false); !ok; {
		records = make([]runtime.MemProfileRecord, n+n/8+64)
		n, ok = runtime.MemProfile(records, false)
		records = records[:min(n, len(records))]
	}
	live := map[string]int64{}
	for i := range records {
		if place, ok := placeOf(records[i].Stack()); ok {
			live[place] += records[i].InUseBytes()
		}
	}
	return live
}

// placeOf returns the lines that led to an allocation, up to three, the innermost first; false if it is not below step.
func placeOf(stack []uintptr) (place string, below bool) {
	frames := runtime.CallersFrames(stack)
	lines := 0
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasSuffix(f.Function, "(*churn).step") {
			return place, true
		}
		if strings.HasSuffix(f.Function, "(*churn).job") {
			place, lines = "\n\t  what the policy was given: a job, its name, or its pool", 3
		}
		if own, _, _ := strings.Cut(f.Function, "."); lines < 3 && !slices.Contains(standard, own) {
			place += fmt.Sprintf("\n\t  %s (%s:%d)", f.Function, f.File, f.Line)
			lines++
		}
	}
	return "", false
}

// standard are packages in which policies allocate by what they call.
var standard = []string{"runtime", "internal/runtime/maps", "slices", "maps", "container/list", "container/heap", "strings", "bytes", "fmt", "sort", "strconv", "reflect"}

func total(bytes map[string]int64) (n int64) {
	for _, b := range bytes { //sojourn:unordered a sum
		n += b
	}
	return n
}

// growth lists the places of which more is live than was, the most first.
func growth(was, is map[string]int64) string {
	for place, n := range was { //sojourn:unordered each place by itself
		is[place] -= n
	}
	const most = 3
	var text strings.Builder
	for i, place := range slices.SortedFunc(maps.Keys(is), func(a, b string) int { return cmp.Or(cmp.Compare(is[b], is[a]), cmp.Compare(a, b)) }) {
		if i < most && is[place] > 0 {
			fmt.Fprintf(&text, "\n\t%d bytes%s", is[place], place)
		}
	}
	return text.String()
}

// A churn is short jobs that come and go, on nodes that come and go: some one after the other, so that what belongs to the last live
// job of all is forgotten, too, and some beside others, so that a policy cannot wait for a moment at which nothing is live.
type churn struct {
	*loop
	o      *Options
	shapes []*sojourn.Job
	n      int // jobs so far
	beside int // jobs that are live at a time
	jobs   []churned
}

// A churned is a job that is live.
type churned struct {
	*sojourn.Job
	left int // tasks that are not done
}

func newChurn(newPolicy func() sojourn.Policy, o *Options) *churn {
	c := &churn{loop: newLoop(newPolicy), o: o}
	o.features = sojourn.Supports(c.s.Policy)
	c.shapes = plainJobs(o, 1, 2, sojourn.Time(0).Add(time.Hour))
	return c
}

// live lets a number of jobs come, and as many go: half of them by themselves.
func (c *churn) live(n int) {
	for i := range n {
		if c.beside = 1; i >= n/2 {
			c.beside = 3
		}
		c.step()
	}
}

// goOn lets a few more jobs come and go, also under a policy that is restored from the one that has had all others. Both must then be in the
// same state. What is kept of thousands of jobs is more than the histories of [Run] lead to.
func (c *churn) goOn(tb rapid.TB, newPolicy func() sojourn.Policy) {
	const more = 64 // jobs
	tb.Helper()
	if c.s.snapshotter == nil {
		return
	}
	data, err := c.s.snapshotter.AppendBinary(nil)
	if err != nil {
		return // it may not be saved for now
	}
	other := newChurn(newPolicy, c.o)
	other.now, other.slots, other.runs = c.now, slices.Clone(c.slots), maps.Clone(c.runs)
	other.n, other.jobs = c.n, slices.Clone(c.jobs)
	if err := other.s.snapshotter.UnmarshalBinary(data); err != nil {
		tb.Fatalf("law of %s\nafter %d short jobs, UnmarshalBinary of what AppendBinary has returned: %v", lawSnapshots, c.n, err)
	}
	c.live(more)
	other.live(more)
	want, err := c.s.snapshotter.AppendBinary(nil)
	got, err2 := other.s.snapshotter.AppendBinary(nil)
	if (err == nil) != (err2 == nil) || !bytes.Equal(got, want) {
		tb.Fatalf("law of %s\na policy was restored after %d short jobs. After %d more, AppendBinary(nil) = %d bytes, %v; want what one returns that was not restored, %d bytes, %v. "+
			"They differ from byte %d on.", lawSnapshots, c.n-more, more, len(got), err2, len(want), err, apart(got, want))
	}
}

// apart returns how many bytes of a and b are equal at their beginning.
func apart(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// step lets a job come and the oldest go, if there are as many as may be live.
func (c *churn) step() {
	c.n++
	c.now = c.now.Add(time.Second)
	c.moveSlot()
	job := c.job()
	kind := sojourn.JobArrived
	if c.n%8 == 4 {
		kind = sojourn.JobAdopted
	}
	if !c.observe(sojourn.Event{Kind: kind, Job: job, Service: time.Second}) {
		job.Pool, job.Deadline = "", c.now.Add(time.Hour) // it may require that
		if !c.observe(sojourn.Event{Kind: kind, Job: job, Service: time.Second}) {
			return
		}
	}
	left := 0
	for i := range job.Phases {
		left += job.Phases[i].Tasks
	}
	c.jobs = append(c.jobs, churned{job, left})
	c.vary(job)
	for len(c.jobs) >= c.beside {
		c.finish()
	}
}

// job returns a short job with names of its own.
func (c *churn) job() *sojourn.Job {
	job := clone(c.shapes[c.n%len(c.shapes)])
	number := strconv.Itoa(c.n)
	job.ID, job.Name, job.Pool, job.Weight = sojourn.JobID(c.n), "name "+number, "pool "+number, float64(1+c.n%3)
	if job.Deadline > 0 {
		job.Deadline = c.now.Add(time.Hour)
	}
	if p := &job.Phases[0]; c.n%2 == 0 {
		p.Inputs = sojourn.MakeInputs(slices.Repeat([][]sojourn.NodeID{{c.node(), c.node() - 1}}, p.Tasks))
		if !c.o.supports(job) {
			p.Inputs = sojourn.Inputs{}
		}
	}
	return job
}

// node returns the newest node.
func (c *churn) node() sojourn.NodeID { return sojourn.NodeID(c.n + 1) }

// moveSlot replaces a slot by one on another node. Its node fails before, and what runs on it is lost. Two slots of each class
// come first. Their numbers remain small, since policies keep arrays as long as the greatest.
func (c *churn) moveSlot() {
	if len(c.slots) == 0 {
		for _, job := range c.shapes {
			for i := range job.Phases {
				id, class := sojourn.SlotID(len(c.slots)), job.Phases[i].Class
				c.add(sojourn.Slot{ID: id, Class: class, Node: 1})
				c.add(sojourn.Slot{ID: id + 1, Class: class, Node: 1})
			}
		}
	}
	s := c.slots[0]
	c.slots = append(c.slots[:0], c.slots[1:]...)
	if s.Node > 1 {
		c.observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: s})
	}
	c.end(s.ID, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost})
	c.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: s})
	if s.Node > 1 {
		c.observe(sojourn.Event{Kind: sojourn.NodeUp, Slot: s})
	}
	c.add(sojourn.Slot{ID: s.ID, Class: s.Class, Node: c.node(), Rack: sojourn.RackID(c.node())})
}

// vary does what makes the life of a job different from that of the one before.
func (c *churn) vary(job *sojourn.Job) {
	first := sojourn.TaskID{Job: job.ID}
	switch c.n % 8 {
	case 0:
		c.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}) // which is live
		c.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: job.ID + 1}})
		if c.s.explainer != nil && c.n < 1<<10 { // it may take time for all that was not forgotten
			c.s.explainer.Explain(job.ID)
			c.s.explainer.AppendRanking(nil)
		}
	case 1:
		c.offer()
		c.endAll(sojourn.TaskFailed, 0)
	case 2:
		c.offer()
		c.endAll(sojourn.TaskRefused, 0)
	case 3:
		c.cancel(job)
	case 5:
		job = clone(job)
		job.Weight = 5
		c.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: job})
	case 6:
		c.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: first})
		c.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: first})
		c.offer()
		for _, s := range c.slots {
			if a, busy := c.runs[s.ID]; busy {
				c.observe(sojourn.Event{Kind: sojourn.TaskProgress, Task: a.Task, Attempt: a.Attempt, Slot: s, Progress: 1, Service: time.Second})
			}
		}
	case 7:
		if c.observe(sojourn.Event{Kind: sojourn.TaskDone, Task: first}) {
			c.jobs[len(c.jobs)-1].left--
		}
	}
}

// endAll reports the ends of all that runs of a job, of all jobs if id is 0. It reports whether anything ran.
func (c *churn) endAll(kind sojourn.EventKind, id sojourn.JobID) (any bool) {
	c.now = c.now.Add(time.Second)
	for _, s := range c.slots {
		a := c.runs[s.ID]
		if id != 0 && a.Task.Job != id || !c.end(s.ID, sojourn.Event{Kind: kind, Service: time.Second}) {
			continue
		}
		any = true
		for i := range c.jobs {
			if c.jobs[i].ID == a.Task.Job && kind == sojourn.TaskFinished {
				c.jobs[i].left--
			}
		}
	}
	return any
}

// cancel cancels a job, and ends what runs.
func (c *churn) cancel(job *sojourn.Job) {
	c.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: job})
	c.endAll(sojourn.TaskFailed, job.ID)
	c.jobs = slices.DeleteFunc(c.jobs, func(j churned) bool { return j.ID == job.ID })
}

// finish brings the oldest job to its end. It cancels a job that is not served.
func (c *churn) finish() {
	oldest := c.jobs[0].Job
	for range 20 {
		if c.jobs[0].left == 0 {
			c.jobs = append(c.jobs[:0], c.jobs[1:]...)
			return
		}
		c.offer()
		if c.endAll(sojourn.TaskFinished, oldest.ID) || c.endAll(sojourn.TaskFinished, 0) {
			continue
		}
		at, ok := c.wake()
		if !ok {
			break
		}
		c.now = max(c.now, at)
	}
	c.cancel(oldest)
}
