package convert

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// A Recorded is what a history tells of the jobs and the cluster that it is about.
type Recorded struct {
	// Jobs are in the order of arrival, and the first arrives at 0. Their times are those
	// that were measured, see [Record], and they keep the estimates that the policy was told.
	Jobs []*sim.Job

	// Start is when the first job arrived in the history: so much earlier is every time in Jobs.
	Start sojourn.Time

	// Cluster has at least all slots that were there at a time. Node i of the history is
	// node i here, and is called ni. Slots without a node are on a node of their own, the last.
	Cluster sim.Cluster

	// What was left out or assumed: see Notes.
	Rejected, Unmeasured, Cancelled, Renumbered int
	Assumed                                     int // tasks without a measured time
	Released                                    int // phases whose tasks were held
	Opened                                      int // jobs to whose phases tasks were added for which another one waits
	PoolsChanged                                int // changes of pools
}

// Notes has one line for each thing that was left out or assumed.
func (r *Recorded) Notes() string {
	var b strings.Builder
	for _, n := range []struct {
		what  string
		count int
	}{
		{"jobs dropped, rejected", r.Rejected},
		{"jobs dropped, no task has a measured time or an estimate", r.Unmeasured},
		{"jobs kept, cancelled", r.Cancelled},
		{"jobs that use the ID of an earlier job, given another one", r.Renumbered},
		{"tasks without a measured time, given the mean of their phase, or else the estimate or the mean of their job", r.Assumed},
		{"phases whose tasks were held, not held here", r.Released},
		{"jobs to which tasks were added for which others wait, with all of them from the beginning", r.Opened},
		{"changes of pools, left out", r.PoolsChanged},
	} {
		if n.count > 0 {
			fmt.Fprintf(&b, "%s: %d\n", n.what, n.count)
		}
	}
	return b.String()
}

// unknown is a time that was not measured.
const unknown = -1

// A recordedJob is a job of a history.
type recordedJob struct {
	*sim.Job
	times [][]time.Duration // of each task; unknown if it has not finished
	costs [][]uint64        // of each task; nil where no end has told of a cost
	added [][]time.Duration // when each task came, after the job
	open  bool              // tasks could be added
}

// A recorder follows a history.
type recorder struct {
	Recorded
	live     map[sojourn.JobID]*recordedJob
	all      []*recordedJob
	started  map[sojourn.SlotID]sojourn.Time
	slots    map[sojourn.SlotID]sojourn.Slot
	capacity map[sojourn.NodeID][]int // slots that are there, by class
	most     map[sojourn.NodeID][]int // slots that were there at a time
	racks    map[sojourn.NodeID]sojourn.RackID
}

// maxRecordedNode is the greatest number of a node that is taken over.
const maxRecordedNode = 1 << 20

// Record returns what a checked history tells. The time of a task is the service time of
// the attempt that finished it: what the driver reported, or else the time since its start.
// Tasks of which this is not known take the mean of their phase, or else their estimate, or
// else the mean of their job.
func Record(entries iter.Seq2[history.Entry, error]) (*Recorded, error) {
	r := &recorder{
		live:     map[sojourn.JobID]*recordedJob{},
		started:  map[sojourn.SlotID]sojourn.Time{},
		slots:    map[sojourn.SlotID]sojourn.Slot{},
		capacity: map[sojourn.NodeID][]int{},
		most:     map[sojourn.NodeID][]int{},
		racks:    map[sojourn.NodeID]sojourn.RackID{},
	}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case history.Observe:
			if err := r.observe(&e); err != nil {
				return nil, err
			}
		case history.Assign:
			if e.OK {
				r.started[e.Slot] = e.At
			}
		}
	}
	r.finish()
	return &r.Recorded, nil
}

// observe takes an event that the policy accepted.
func (r *recorder) observe(e *history.Entry) error {
	ev := &e.Event
	arrival := ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted
	if e.Err != nil {
		if arrival {
			r.Rejected++
		}
		return nil
	}
	switch ev.Kind {
	case sojourn.SlotAdded:
		return r.addSlot(e)
	case sojourn.SlotRemoved:
		if s, ok := r.slots[ev.Slot.ID]; ok {
			r.capacity[s.Node][s.Class]--
			delete(r.slots, s.ID)
		}
	case sojourn.JobArrived, sojourn.JobAdopted:
		j := &recordedJob{Job: &sim.Job{Job: *ev.Job, At: ev.At}}
		if ev.Kind == sojourn.JobAdopted {
			j.At = ev.At.Add(-ev.Service)
		}
		j.open = j.Open
		j.resize(j.At)
		r.live[ev.Job.ID] = j
		r.all = append(r.all, j)
	case sojourn.JobRevised:
		j := r.live[ev.Job.ID]
		j.Job.Job = *ev.Job
		j.resize(ev.At)
	case sojourn.JobCancelled:
		r.Cancelled++
	case sojourn.TaskAdopted:
		r.started[ev.Slot.ID] = ev.At.Add(-ev.Service)
	case sojourn.TaskFinished:
		took := ev.Service
		if took == 0 {
			took = ev.At.Sub(r.started[ev.Slot.ID])
		}
		if j := r.live[ev.Task.Job]; j != nil {
			j.times[ev.Task.Phase][ev.Task.Index] = took
			if ev.Cost > 0 {
				j.costs[ev.Task.Phase] = append(j.costs[ev.Task.Phase], make([]uint64, len(j.times[ev.Task.Phase])-len(j.costs[ev.Task.Phase]))...)
				j.costs[ev.Task.Phase][ev.Task.Index] = min(ev.Cost, math.MaxInt64)
			}
		}
	case sojourn.PoolChanged:
		r.PoolsChanged++
	}
	return nil
}

// resize makes room for a time of each task, and keeps those that are known. New ones come at an instant.
func (j *recordedJob) resize(now sojourn.Time) {
	j.Open = false
	if j.times == nil {
		j.times, j.costs, j.added = make([][]time.Duration, len(j.Phases)), make([][]uint64, len(j.Phases)), make([][]time.Duration, len(j.Phases))
	}
	for i, p := range j.Phases {
		j.times[i] = j.times[i][:min(p.Tasks, len(j.times[i]))]
		j.costs[i] = j.costs[i][:min(p.Tasks, len(j.costs[i]))]
		j.added[i] = j.added[i][:len(j.times[i])]
		for len(j.times[i]) < p.Tasks {
			j.times[i], j.added[i] = append(j.times[i], unknown), append(j.added[i], now.Sub(j.At))
		}
	}
}

func (r *recorder) addSlot(e *history.Entry) error {
	s := e.Event.Slot
	if s.Node > maxRecordedNode {
		return &trace.Error{File: e.File, Line: e.Line, Column: 1, Reason: fmt.Sprintf("node %d: the nodes of a workload have numbers up to %d", s.Node, maxRecordedNode)}
	}
	r.slots[s.ID] = s
	if s.Rack != 0 {
		r.racks[s.Node] = s.Rack
	}
	now, most := r.capacity[s.Node], r.most[s.Node]
	for len(now) <= int(s.Class) {
		now = append(now, 0)
	}
	for len(most) < len(now) {
		most = append(most, 0)
	}
	now[s.Class]++
	most[s.Class] = max(most[s.Class], now[s.Class])
	r.capacity[s.Node], r.most[s.Node] = now, most
	return nil
}

// finish makes jobs and the cluster of what was read.
func (r *recorder) finish() {
	slices.SortStableFunc(r.all, func(a, b *recordedJob) int { return cmp.Compare(a.At, b.At) })
	used := map[sojourn.JobID]bool{}
	greatest := sojourn.JobID(0)
	for _, j := range r.all {
		greatest = max(greatest, j.ID)
	}
	for _, j := range r.all {
		if !r.complete(j) {
			r.Unmeasured++
			continue
		}
		if used[j.ID] {
			greatest++
			j.ID = greatest
			r.Renumbered++
		}
		used[j.ID] = true
		if len(r.Jobs) == 0 {
			r.Start = j.At
		}
		j.At -= r.Start
		if j.Deadline != 0 {
			j.Deadline = max(j.Deadline-r.Start, j.At+1) // jobs that were adopted may be late already
		}
		if j.Release != 0 {
			if j.Release -= r.Start; j.Release <= j.At { // it had come
				j.Release = 0
			}
		}
		r.Jobs = append(r.Jobs, j.Job)
	}
	r.cluster()
}

// complete gives each task a time, and reports false if nothing is known of any.
func (r *recorder) complete(j *recordedJob) bool {
	whole, ok := mean(slices.Concat(j.times...))
	phases := slices.Clone(j.Phases) // the history's own stay as they are
	for i := range j.times {
		p := &phases[i]
		own, measured := mean(j.times[i])
		for k, t := range j.times[i] {
			if t != unknown {
				continue
			}
			estimate := p.EstimateOf(k)
			switch {
			case measured:
				t = own
			case estimate > 0:
				t = estimate
			case ok:
				t = whole
			default:
				return false
			}
			j.times[i][k] = t
			r.Assumed++
		}
		if p.Held {
			p.Held = false
			r.Released++
		}
		times := sim.Times{List: j.times[i]}
		if alike(j.times[i]) {
			times = sim.Times{Each: j.times[i][0]}
		}
		if costs := j.costs[i]; costs != nil { // of those that have not finished, as of those that cost nothing but time
			times.Costs = append(costs, make([]uint64, p.Tasks-len(costs))...)
		}
		j.Times = append(j.Times, times)
	}
	j.Phases = phases
	if j.open && !j.grow() {
		r.Opened++
	}
	return true
}

// grow says when the tasks of an open job came, and reports false if another phase waits for one that grew: then all of
// them come with the job.
func (j *recordedJob) grow() bool {
	for i := range j.Times {
		if added := j.added[i]; added[len(added)-1] > 0 {
			j.Times[i].Added, j.Open = added, true
		}
	}
	if j.Job.Check() == nil {
		return true
	}
	for i := range j.Times {
		j.Times[i].Added = nil
	}
	j.Open = false
	return false
}

// mean returns the mean of the known times, and whether there is one.
func mean(times []time.Duration) (time.Duration, bool) {
	sum, n := 0.0, 0
	for _, t := range times {
		if t != unknown {
			sum += float64(t)
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return time.Duration(math.Round(sum / float64(n))), true
}

// cluster makes the cluster.
func (r *recorder) cluster() {
	last := sojourn.NodeID(0)
	classes := 0
	for node, most := range r.most {
		last, classes = max(last, node), max(classes, len(most))
	}
	for _, j := range r.Jobs {
		for i := range j.Phases {
			for task := range j.Phases[i].Tasks {
				for _, node := range j.Phases[i].Inputs.Of(task) {
					last = max(last, min(node, maxRecordedNode))
				}
			}
		}
	}
	add := func(name string, node sojourn.NodeID) {
		n := sim.Node{Name: name, Slots: r.most[node]}
		if rack := r.racks[node]; rack != 0 {
			n.Rack = "r" + strconv.FormatUint(uint64(rack), 10)
		}
		r.Cluster.Nodes = append(r.Cluster.Nodes, n)
	}
	for node := range last {
		add("n"+strconv.FormatUint(uint64(node)+1, 10), node+1)
	}
	if r.most[0] != nil {
		add("n"+strconv.FormatUint(uint64(last)+1, 10), 0)
	}
	if r.Cluster.Uniform = classes <= 1; r.Cluster.Uniform {
		for _, j := range r.Jobs {
			j.AnyClass = slices.Repeat([]bool{true}, len(j.Phases))
		}
	}
}

// List yields the jobs.
func (r *Recorded) List() iter.Seq2[*sim.Job, error] {
	return sim.Jobs(r.Jobs...)
}
