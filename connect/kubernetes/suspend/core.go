package suspend

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	"github.com/sojourn-sched/sojourn/driver"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// An actuator carries out what a core decides. Its methods return at once.
type actuator interface {
	write(o *batchv1.Job, w *writing, later bool)           // of several of one Job the last one counts; later: after a while
	condition(o *batchv1.Job, refused bool, message string) // Rejected is true or false
	warn(o *batchv1.Job, reason, message string)
}

// A writing is what a Job should be. The next one of the same Job may replace it before it is written.
type writing struct {
	width       int // pods that may run; 0 suspends the Job
	parallelism int
	admitted    string

	// keep leaves spec.suspend as it is, which is false unless the user has just suspended the Job. It is set
	// only if no writing of the Job is under way.
	keep bool
}

// same reports whether a Job would be the same after both.
func (w writing) same(v *writing) bool {
	w.keep = v.keep
	return w == *v
}

// A core is what is known of the Jobs, and owns the policy. It is for one goroutine.
type core struct {
	truth    *account.Account
	driver   *driver.Driver
	features sojourn.Features
	act      actuator
	limits   kubernetes.Limits
	most     int   // pods that may run at a time, unless there is a room
	room     *room // nil if the number of pods counts

	jobs    map[types.UID]*job
	byID    map[sojourn.JobID]*job
	on      map[sojourn.SlotID]*grant // the grant of each busy slot
	queue   []*grant                  // those that are not covered, in the order of the policy
	touched []*job                    // jobs to look at in settle
	taken   int                       // the sum of what jobs occupy

	declined []types.UID // Jobs that the policy may accept later
	fewer    bool        // there are fewer jobs since they were asked

	nextJob  sojourn.JobID
	nextSlot sojourn.SlotID
	slots    int // of the policy, but for those that leave
}

// A job is a job of the policy, or one that was refused.
type job struct {
	id      sojourn.JobID // 0 if the policy does not have it
	obj     *batchv1.Job  // as it was heard of last
	spec    *sojourn.Job
	notes   string // what spec, or the refusal, is about
	refusal string

	n, parallelism int      // completions, and the most pods at a time
	succeeded      int      // pods that the policy was told of
	failed         int      // the same
	edge           uint32   // tasks from here on are held, and never were ready
	parked         []uint32 // tasks below edge that are held
	admitted       string   // when
	paused         bool     // by its user

	grants   []*grant // the oldest first
	covered  int      // grants that are covered
	dying    int      // grants that the policy wants to be killed
	width    int      // pods that may run at a time, by what was seen and what is being written
	occupied int      // the same or covered, and pods that terminate
	sent     *writing // the last one under way, if any is
	last     *writing // written last, unless it was refused
	failing  bool     // what was written last was refused
	touched  bool

	asks        amounts // of a pod, if there is a room
	tolerations []corev1.Toleration
	tolerates   uint64  // taints of nodes
	needs       amounts // of the room and its parts
	divided     bool    // these are right, unless there are other taints or parts

	blocked bool         // there was no room for its next pod, and its tasks are held
	since   sojourn.Time // when
	told    bool         // that there never will be
}

// A grant is an attempt of the policy: a slot for a pod of a job. It is covered once there is room for the
// pod: a pod that is not to be ended may keep the room for a while.
type grant struct {
	a       sojourn.Assignment
	job     *job
	covered bool
	dying   bool
	over    bool
	since   sojourn.Time // when it was covered
}

func newCore(config Config, act actuator, now func() sojourn.Time) (*core, error) {
	truth, most := account.New(config.Policy), config.Slots
	d, err := driver.New(truth, driver.Options{Now: now, Preempt: time.Second})
	if err != nil {
		return nil, err
	}
	c := &core{
		truth: truth, driver: d, features: sojourn.Supports(truth), act: act, limits: config.Limits, most: most,
		jobs: map[types.UID]*job{}, byID: map[sojourn.JobID]*job{}, on: map[sojourn.SlotID]*grant{},
	}
	if most == 0 {
		if c.room = newRoom(config.Quota != ""); c.features&sojourn.FeatureHeld == 0 {
			return nil, errors.New("the policy makes promises about slots: give their number in Config.Slots")
		}
	}
	for range most {
		c.addSlot()
	}
	return c, nil
}

func (c *core) addSlot() sojourn.SlotID {
	id := c.nextSlot
	c.nextSlot++
	c.slots++
	c.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	return id
}

// must reports an event that fits, unless this package is wrong.
func (c *core) must(ev sojourn.Event) {
	if err := c.driver.Observe(ev); err != nil {
		panic(fmt.Sprintf("suspend: %v", err))
	}
}

// touch has a job looked at in the next settle.
func (c *core) touch(j *job) {
	if !j.touched {
		j.touched = true
		c.touched = append(c.touched, j)
	}
}

// settle gives out what the policy grants, and returns how long to wait for the next call.
func (c *core) settle() (time.Duration, error) {
	c.askAgain()
	var r driver.Round
	sleep := driver.Never
	if c.room != nil {
		sleep = c.unblock()
	}
	for again := true; again; {
		if c.room != nil {
			c.fund()
		}
		r = c.driver.Settle()
		for _, a := range r.Starts {
			g := &grant{a: a, job: c.byID[a.Task.Job]}
			if c.room != nil && !c.may(g.job) {
				c.block(a, g.job)
				continue
			}
			c.give(g)
			c.queue = append(c.queue, g)
		}
		again = false
		for _, k := range r.Kills {
			g := c.on[k.Slot]
			if !g.covered { // it has no pod
				c.drop(g, driver.Failed(g.a, sojourn.CausePreempted))
				again = true
				continue
			}
			g.dying = true
			g.job.dying++
			c.touch(g.job)
		}
		if r.Err != nil {
			return 0, r.Err
		}
		if c.room != nil {
			for _, a := range r.Starts {
				c.fit(c.byID[a.Task.Job])
			}
			again = again || len(r.Starts) > 0
		}
	}
	c.cover()
	for i := 0; i < len(c.touched); i++ {
		j := c.touched[i]
		j.touched = false
		c.write(j)
	}
	c.touched = c.touched[:0]
	return min(sleep, r.Sleep), nil
}

// give notes a grant.
func (c *core) give(g *grant) {
	c.on[g.a.Slot] = g
	g.job.grants = append(g.job.grants, g)
	if c.room != nil {
		c.room.granted.add(g.job.needs, 1)
	}
}

// cover finds room for grants, in the order of the policy. A job that has room for more pods than it was
// granted uses that first.
func (c *core) cover() {
	rest := c.queue[:0]
	for _, g := range c.queue {
		j := g.job
		switch {
		case g.over:
		case !j.paused && (j.covered < j.width || c.fits(j)):
			g.covered, g.since = true, c.driver.Time()
			j.covered++
			c.weigh(j)
			c.touch(j)
		default:
			rest = append(rest, g)
		}
	}
	clear(c.queue[len(rest):])
	c.queue = rest
}

// weigh counts anew how many pods of a job may run.
func (c *core) weigh(j *job) {
	j.width = int(j.obj.Status.Active)
	if j.id != 0 {
		j.width = max(j.width, spread(j.obj))
		if j.sent != nil {
			j.width = max(j.width, min(j.sent.width, left(j.obj)))
		}
	}
	now := max(j.width, j.covered)
	if t := j.obj.Status.Terminating; t != nil {
		now += int(*t)
	}
	c.occupy(j, now)
}

// occupy notes that the pods of a job take the room of so many.
func (c *core) occupy(j *job, now int) {
	c.taken += now - j.occupied
	if c.room != nil {
		c.room.used.add(j.needs, int64(now-j.occupied))
	}
	j.occupied = now
}

// write has a job written, unless it is what it should be.
func (c *core) write(j *job) {
	if j.id == 0 || j.paused || c.jobs[j.obj.UID] != j {
		return
	}
	ready := 0
	if r := j.obj.Status.Ready; r != nil {
		ready = int(*r)
	}
	w := writing{width: max(j.covered-j.dying, min(ready-j.dying, spread(j.obj))), parallelism: j.parallelism, admitted: j.admitted}
	same, foreign := spread(j.obj) == w.width || left(j.obj) == 0, false
	switch {
	case same && j.sent == nil && (j.obj.Annotations[kubernetes.Admitted] != "" || left(j.obj) == 0):
		return
	case j.sent != nil && w.same(j.sent):
		return
	case j.sent == nil && j.last != nil && w.same(j.last) && !same:
		foreign = true
		c.act.warn(j.obj, "Overwritten", fmt.Sprintf("somebody else has changed spec.suspend or spec.parallelism, which are written again. The annotation %s says how many pods the Job wants at a time", Parallelism))
	}
	w.keep = w.width > 0 && j.sent == nil && !batch.Suspended(j.obj)
	j.sent = &w
	c.weigh(j)
	c.act.write(j.obj, &w, foreign || j.failing)
}

// written hears what became of a writing, and of the Job as it is then, unless it was refused.
func (c *core) written(uid types.UID, w *writing, o *batchv1.Job) {
	j := c.jobs[uid]
	if j == nil {
		return
	}
	if j.sent == w {
		j.sent = nil
	}
	if j.failing = o == nil; o != nil {
		j.last = w
		if c.job(o); c.jobs[uid] != j { // it is over
			return
		}
	}
	c.weigh(j)
	c.touch(j)
}

// drop reports the end of a grant.
func (c *core) drop(g *grant, ev sojourn.Event) {
	j := g.job
	g.over = true
	delete(c.on, g.a.Slot)
	if g.covered {
		j.covered--
	}
	if g.dying {
		j.dying--
	}
	if i := slices.Index(j.grants, g); i >= 0 {
		j.grants = slices.Delete(j.grants, i, i+1)
		if c.room != nil {
			c.room.granted.add(j.needs, -1)
		}
	}
	if g.covered && ev.Kind != sojourn.TaskRefused {
		ev.Service = max(1, c.driver.Now().Sub(g.since))
	}
	c.must(ev)
	c.weigh(j)
	c.touch(j)
}

// oldest returns the first grant of a job that has a pod, and not one that is to be killed if there is another.
func (j *job) oldest() *grant {
	var second *grant
	for _, g := range j.grants {
		switch {
		case g.covered && !g.dying:
			return g
		case g.covered && second == nil:
			second = g
		}
	}
	return second
}

// spread is how many pods the Job controller makes at a time.
func spread(o *batchv1.Job) int {
	if batch.Suspended(o) {
		return 0
	}
	return min(int(*o.Spec.Parallelism), left(o))
}

// left is how many pods of a Job must still succeed.
func left(o *batchv1.Job) int {
	done, _ := ended(o)
	return max(0, int(*o.Spec.Completions)-done)
}

// ended is how many pods of a Job have succeeded and failed. The Job controller counts a pod in two steps, and
// makes the next one in the first step.
func ended(o *batchv1.Job) (succeeded, failed int) {
	succeeded, failed = int(o.Status.Succeeded), int(o.Status.Failed)
	if u := o.Status.UncountedTerminatedPods; u != nil {
		succeeded += len(u.Succeeded)
		failed += len(u.Failed)
	}
	return succeeded, failed
}

// parallelismOf returns the most pods that a Job allows at a time.
func parallelismOf(o *batchv1.Job) (int, error) {
	s, ok := o.Annotations[Parallelism]
	if !ok {
		return int(*o.Spec.Parallelism), nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("annotation %s is %q: want a number of pods", Parallelism, s)
	}
	return int(n), nil
}

// granted is how many pods a Job was allowed last, 0 if none was.
func granted(o *batchv1.Job) int {
	n, err := strconv.ParseUint(o.Annotations[Granted], 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// byAge orders Jobs.
func byAge(a, b *batchv1.Job) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID)))
}
