package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A hadoopReader turns records into jobs.
type hadoopReader struct {
	*queue
	names map[string]sojourn.NodeID // numbers given out if Nodes was nil
}

// readHadoop returns the jobs that read finds. read returns false to end the
// sequence after it has reported an error.
func readHadoop(r io.Reader, o ReadOptions, read func(*hadoopReader) bool) iter.Seq2[*sim.Job, error] {
	return sorted(r, o, func(q *queue) bool {
		if q.Pool == PoolGroup {
			return q.fail(errors.New("trace: options: Hadoop records no groups for Pool"))
		}
		h := &hadoopReader{queue: q, names: map[string]sojourn.NodeID{}}
		if h.Nodes == nil {
			h.Nodes = h.number
		}
		h.relative = true
		return read(h)
	})
}

// number numbers hosts in the order of their appearance.
func (h *hadoopReader) number(host string) sojourn.NodeID {
	id := h.names[host]
	if id == 0 {
		id = sojourn.NodeID(len(h.names) + 1)
		h.names[host] = id
	}
	return id
}

func (h *hadoopReader) count(r remark, n int) { h.Stats.counts[r] += int64(n) }

// millisecond is the unit of Hadoop's times.
const millisecond = int64(time.Millisecond)

// A record is Hadoop's record of a job. Instants are in milliseconds since the
// Unix epoch; -1 is unknown.
type record struct {
	id, name, user, queue string
	submit                int64
	failed                bool
	phases                [2]recordedPhase // by class
}

func newRecord() *record { return &record{submit: -1} }

type recordedPhase struct {
	tasks     []recordedTask
	lost      []attempt // that were unsuccessful
	announced int64     // number of tasks
}

type recordedTask struct {
	success attempt // the one that ended first
	done    bool    // there is one
	size    int64   // of the input in bytes; -1 is unknown
	nodes   []sojourn.NodeID
}

// An attempt is an attempt at a task.
type attempt struct {
	start, shuffled, finish int64
	noInstants              bool // only how long it worked is known; it counts from 0
}

// addAttempt records an attempt of task t of p, with the size of the input it
// read.
func (h *hadoopReader) addAttempt(p *recordedPhase, t *recordedTask, a attempt, success bool, size int64) {
	if a.start >= 0 && a.finish >= 0 && a.finish < a.start {
		h.count(attemptsBackward, 1)
		a.start = -1
	}
	if t.done || !success {
		h.count(attemptsLeftOut, 1)
	}
	if !success {
		p.lost = append(p.lost, a)
		return
	}
	if !t.done || a.finish >= 0 && a.finish < t.success.finish {
		t.success, t.done = a, true
		if size >= 0 {
			t.size = size
		}
	}
}

// time returns how long an attempt worked, in milliseconds, or -1 if that is
// unknown. A reduce works from when it has its input, which is not before the
// last map has ended.
func (a *attempt) time(class sojourn.Class, lastMap int64) int64 {
	if a.start < 0 || a.finish < 0 {
		return -1
	}
	if class == sojourn.MapClass || a.noInstants {
		return a.finish - a.start
	}
	return max(0, a.finish-max(a.start, a.shuffled, lastMap))
}

// job returns the job of a record, with its arrival since the Unix epoch. It
// returns nil if there is none, which it counts, or the reason why it is out of
// range.
func (h *hadoopReader) job(r *record) (*sim.Job, string) {
	switch {
	case r.failed && h.OnlySuccessful:
		h.count(jobsNotSuccessful, 1)
		return nil, ""
	case r.submit < 0:
		h.count(jobsWithoutSubmit, 1)
		return nil, ""
	case r.submit > math.MaxInt64/millisecond:
		return nil, "time of submission is out of range"
	}
	j := &sim.Job{Job: sojourn.Job{Name: cmp.Or(r.name, r.id)}, At: sojourn.Time(r.submit * millisecond)}
	switch h.Pool {
	case PoolQueue:
		j.Pool = r.queue
	case PoolUser:
		j.Pool = r.user
	}

	lastMap := int64(-1)
	for _, t := range r.phases[sojourn.MapClass].tasks {
		if t.done && !t.success.noInstants {
			lastMap = max(lastMap, t.success.finish)
		}
	}
	var work time.Duration
	for class := range r.phases {
		p := &r.phases[class]
		if missing := p.announced - int64(len(p.tasks)); missing > 0 {
			h.Stats.counts[tasksNotRecorded] += missing
		}
		times, ok := h.times(p, sojourn.Class(class), lastMap)
		if !ok {
			return nil, "the sum of the times of the job's tasks " + outOfRange
		}
		if times == nil {
			h.count(tasksWithoutTimes, len(p.tasks))
			continue
		}
		sum, ok := total(0, times, len(times))
		if !ok || sum > math.MaxInt64-work {
			return nil, "the sum of the times of the job's tasks " + outOfRange
		}
		work += sum
		j.Phases = append(j.Phases, h.phase(p, sojourn.Class(class)))
		j.Times = append(j.Times, sim.Times{List: times})
	}
	if len(j.Phases) == 0 {
		h.count(jobsWithoutTimes, 1)
		return nil, ""
	}
	if r.failed {
		h.count(jobsFailed, 1)
	}
	return j, ""
}

// times returns the service time of each task, or nil if none is known. It
// reports false if they are out of range.
//
// A task without a known time of its own gets the mean of the known times in its
// phase. If there are none, it gets the mean of the unsuccessful attempts that
// did work: a failed phase took at least that much of the cluster.
func (h *hadoopReader) times(p *recordedPhase, class sojourn.Class, lastMap int64) ([]time.Duration, bool) {
	var (
		times   = make([]time.Duration, len(p.tasks))
		known   int
		sum     time.Duration
		inRange = true
	)
	add := func(ms int64) time.Duration {
		d := time.Duration(ms * millisecond)
		if ms > math.MaxInt64/millisecond || d > math.MaxInt64-sum {
			inRange = false
			return 0
		}
		sum += d
		known++
		return d
	}
	for i := range p.tasks {
		t := &p.tasks[i]
		times[i] = -1
		if ms := t.success.time(class, lastMap); t.done && ms >= 0 {
			times[i] = add(ms)
			if class == sojourn.ReduceClass && !t.success.noInstants && t.success.finish < lastMap {
				h.count(reducesEarly, 1)
			}
		}
	}
	why := tasksMean
	if known == 0 {
		why = tasksMeanLost
		for i := range p.lost {
			if ms := p.lost[i].time(class, lastMap); ms > 0 {
				add(ms)
			}
		}
	}
	if !inRange || known == 0 {
		return nil, inRange
	}
	mean := sum / time.Duration(known)
	for i := range times {
		if times[i] < 0 {
			times[i] = mean
			h.count(why, 1)
		}
	}
	return times, true
}

// phase returns the description of a phase for policies.
func (h *hadoopReader) phase(p *recordedPhase, class sojourn.Class) sojourn.Phase {
	n := len(p.tasks)
	nodes, sizes, sized := make([][]sojourn.NodeID, n), make([]int64, n), 0
	for i, t := range p.tasks {
		nodes[i] = t.nodes
		if t.size >= 0 {
			sizes[i] = t.size
			sized++
		}
	}
	if sized == 0 {
		sizes = nil
	} else {
		h.count(tasksNoSize, n-sized)
	}
	return sojourn.Phase{Tasks: n, Class: class, Inputs: sojourn.MakeInputs(nodes), Bytes: sizes}
}

// node returns the number of the node of a host, or 0, which it counts.
func (h *hadoopReader) node(host string) sojourn.NodeID {
	id := h.Nodes(host)
	if id == 0 {
		h.count(hostsUnknown, 1)
	}
	return id
}

// addTask adds a task to a phase, unless there are too many in the job.
func (h *hadoopReader) addTask(r *record, class sojourn.Class) (*recordedTask, string) {
	if len(r.phases[sojourn.MapClass].tasks)+len(r.phases[sojourn.ReduceClass].tasks) >= h.limits.tasks {
		return nil, fmt.Sprintf("more than %d tasks in a job", h.limits.tasks)
	}
	p := &r.phases[class]
	p.tasks = append(p.tasks, recordedTask{size: -1})
	return &p.tasks[len(p.tasks)-1], ""
}

// unescape returns a name without the backslashes that Hadoop's histories put
// before dots and other special characters.
func unescape[T string | []byte](name T) string {
	if !strings.Contains(string(name), `\`) {
		return string(name)
	}
	plain := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+1 < len(name) {
			i++
		}
		plain = append(plain, name[i])
	}
	return string(plain)
}
