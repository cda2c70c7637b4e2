package live

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A Tally is an [Observer] that counts what waits and what runs, for metrics. The modules connect/prometheus and connect/otel
// use it; use it yourself for another system of metrics. The zero Tally is ready to use. It is for one pool. Jobs that a
// durable pool goes on with are counted from New on.
//
// TestTally, TestTallyAfterRestart
type Tally struct {
	mu       sync.Mutex
	live     map[sojourn.JobID]*tallied
	pools    map[string]*group // by the names that the policy has for them; those of live jobs
	queued   int               // Invariant: the sum over live
	running  int
	ignoring int
	broken   bool
}

// A tallied is a live job.
type tallied struct {
	job            *sojourn.Job
	pool           *group
	waiting, ended []int // by phase
	queued         int   // Invariant: the sum of waiting
	running        int
	since          time.Time // the submission, or the start or end of its last attempt
}

// A group is the live jobs of a pool of the policy, or those of a Job.Pool if it has no pools.
type group struct {
	name   string
	weight float64
	jobs   int
}

// Gauges are what a [Tally] tells.
type Gauges struct {
	Jobs    int // live ones
	Queued  int // tasks that wait, those whose turn has not come included
	Running int // attempts

	Ignoring int  // attempts that ignore that their contexts have ended; those that were given up are not Running
	Broken   bool // see [Pool.Err]

	// Starvation is the longest time since a live job of which nothing runs was submitted or last ran. Of a job that a process
	// before has left, it is not known when it ran, and its submission counts. If that process was killed while the job ran, the
	// last that is known of the process counts.
	Starvation time.Duration

	// JobShareError is the part of the busy slots that would go to other jobs under max-min fair sharing, from 0 to 1:
	//
	//	sum over jobs of |running - share| / (2 * Running)
	//
	// The shares divide Running, in fractions of slots, by the weights of the jobs. No job gets more than it could use
	// now: its running attempts and the tasks that wait in phases whose turn has come. It is 0 if nothing runs. With fewer
	// slots than jobs it is never 0, since slots are whole: two jobs on one slot have 0.5. [Bertsekas and Gallager,
	// Data Networks, 2nd edition, section 6.5.2]
	JobShareError float64

	// PoolShareError is the same for the pools of the policy and their weights, as they are now. Those of nested pools count as if all had one
	// parent. Under a policy without pools the groups are those that Job.Pool names, of one weight (TestPoolShareErrorIsWeighted).
	PoolShareError float64
}

// Note implements [Observer].
func (t *Tally) Note(n Note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch n.Kind {
	case JobSubmitted, JobResumed:
		j := &tallied{job: n.Job, waiting: make([]int, len(n.Job.Phases)), ended: make([]int, len(n.Job.Phases)), since: time.Now().Add(-n.Took)}
		copy(j.ended, n.Done)
		j.pool = t.enter(n)
		for i := range n.Job.Phases {
			j.waiting[i] = n.Job.Phases[i].Tasks - j.ended[i]
			j.queued += j.waiting[i]
		}
		if t.live == nil {
			t.live = map[sojourn.JobID]*tallied{}
		}
		t.live[n.Job.ID] = j
		t.queued += j.queued
	case JobRevised:
		if j := t.live[n.Job.ID]; j != nil {
			for i := range n.Job.Phases {
				more := n.Job.Phases[i].Tasks - j.job.Phases[i].Tasks
				j.waiting[i] += more
				j.queued += more
				t.queued += more
			}
			j.job = n.Job
		}
	case JobEnded:
		if j := t.live[n.Job.ID]; j != nil {
			t.queued -= j.queued
			delete(t.live, n.Job.ID)
			if j.pool.jobs--; j.pool.jobs == 0 {
				delete(t.pools, j.pool.name)
			}
		}
	case PoolChanged:
		if g := t.pools[n.Pool.Name]; g != nil {
			g.weight = cmp.Or(n.Pool.Weight, 1)
		}
	case TaskStarted:
		t.move(n.Task, -1, 1)
	case TaskEnded:
		if n.Err != nil {
			t.move(n.Task, 1, -1)
			return
		}
		t.move(n.Task, 0, -1)
		if j := t.live[n.Task.Job]; j != nil {
			j.ended[n.Task.Phase]++
		}
	case TaskGivenUp:
		t.move(n.Task, -1, 0)
		if j := t.live[n.Task.Job]; j != nil {
			j.ended[n.Task.Phase]++
		}
	case TaskIgnores:
		t.ignoring++
	case TaskReturned:
		t.ignoring--
	case PoolBroken, PoolStalled:
		t.broken = true
	case PoolMended:
		t.broken = false
	}
}

// enter counts a job in its group.
func (t *Tally) enter(n Note) *group {
	name, weight := n.Job.Pool, 1.0
	if n.Pool != nil {
		name, weight = n.Pool.Name, n.Pool.Weight
	}
	g := t.pools[name]
	if g == nil {
		if t.pools == nil {
			t.pools = map[string]*group{}
		}
		g = &group{name: name}
		t.pools[name] = g
	}
	g.weight = cmp.Or(weight, 1)
	g.jobs++
	return g
}

// move enters that tasks of a job begin to wait or to run.
func (t *Tally) move(id sojourn.TaskID, queued, running int) {
	t.running += running
	if j := t.live[id.Job]; j != nil {
		j.waiting[id.Phase] += queued
		j.queued += queued
		j.running += running
		j.since = time.Now()
		t.queued += queued
	}
}

// Read returns what holds now. It looks at all live jobs, and the pool waits meanwhile if it has something to tell.
func (t *Tally) Read() Gauges {
	t.mu.Lock()
	g := Gauges{Jobs: len(t.live), Queued: t.queued, Running: t.running, Ignoring: t.ignoring, Broken: t.broken}
	now := time.Now()
	jobs := make([]claim, 0, len(t.live))
	pools := map[*group]claim{}
	for _, j := range t.live { //sojourn:unordered a maximum, sums of integers, and a list that is sorted below
		if j.running == 0 && j.queued > 0 {
			g.Starvation = max(g.Starvation, now.Sub(j.since))
		}
		c := claim{float64(j.job.WeightUnits()), j.running, j.usable()}
		jobs = append(jobs, c)
		all := pools[j.pool]
		pools[j.pool] = claim{j.pool.weight, all.running + c.running, all.usable + c.usable}
	}
	t.mu.Unlock()
	groups := make([]claim, 0, len(pools))
	for _, c := range pools { //sojourn:unordered sorted below
		groups = append(groups, c)
	}
	g.JobShareError, g.PoolShareError = shareError(jobs), shareError(groups)
	return g
}

// usable returns how many slots the job could use now.
func (j *tallied) usable() int {
	n := j.running
	for i, waiting := range j.waiting {
		open := true
		for k, least := range j.job.WaitsFor(i) {
			open = open && j.ended[k] >= least
		}
		if open {
			n += waiting
		}
	}
	if most := j.job.Parallelism; most > 0 && int64(n) > int64(most) {
		n = max(j.running, int(most))
	}
	return n
}

// A claim is what a job, or a group of jobs, has and could use.
type claim struct {
	weight          float64
	running, usable int // Invariant: running <= usable
}

// shareError compares what runs with its max-min fair share, by progressive filling. It sorts the claims.
func shareError(claims []claim) float64 {
	slices.SortFunc(claims, func(a, b claim) int { // equal ones are alike
		return cmp.Or(cmp.Compare(float64(a.usable)/a.weight, float64(b.usable)/b.weight), cmp.Compare(a.weight, b.weight), cmp.Compare(a.running, b.running))
	})
	slots, weight := 0, 0.0
	for _, c := range claims {
		slots += c.running
		weight += c.weight
	}
	if slots == 0 {
		return 0
	}
	left, off := float64(slots), 0.0
	for _, c := range claims {
		share := min(float64(c.usable), left*(c.weight/max(weight, c.weight)))
		left -= share
		weight -= c.weight
		off += max(float64(c.running)-share, share-float64(c.running))
	}
	return off / 2 / float64(slots)
}
