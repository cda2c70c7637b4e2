package trace

import (
	"bytes"
	"io"
	"iter"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// ReadJHist returns the job of a job history of Hadoop 2 or later (a .jhist
// file), or the jobs of several that follow one another, as [ReadRumen] does: the
// arrivals count from the first one. It keeps the tasks of one history and the
// jobs of the window in memory.
func ReadJHist(r io.Reader, o ReadOptions) iter.Seq2[*sim.Job, error] {
	return readHadoop(r, o, func(h *hadoopReader) bool {
		hr := historyReader{hadoopReader: h, lines: newLines(h.in)}
		return hr.read()
	})
}

// A historyReader reads job histories.
type historyReader struct {
	*hadoopReader
	lines *lines

	// Of the history that is being read:
	rec    *record // nil before the first one
	schema bool    // its schema has been read
	ended  bool    // it has told how the job ended
	submit *Error  // the place of the submission; nil before it
	tasks  map[string]historyTask
	starts map[string]int64 // of attempts that have not ended
	last   *Error           // the place after the latest line
}

// A historyTask is a task that has started.
type historyTask struct {
	class sojourn.Class
	other bool // it is neither map nor reduce, and has no class
	index int  // among the tasks of its class
	start int64
}

// The first line of a history.
const historyHeader = "Avro-Json"

// read reads all histories, and reports whether to go on.
func (r *historyReader) read() bool {
	for {
		line, err := r.lines.next()
		if err == io.EOF {
			return r.finish()
		}
		if err != nil {
			return r.fail(err)
		}
		var f *fault
		switch {
		case isBlank(line):
		case string(bytes.TrimSpace(line)) == historyHeader:
			if !r.finish() {
				return false
			}
			r.rec, r.schema, r.ended, r.submit = newRecord(), false, false, nil
			r.tasks, r.starts = map[string]historyTask{}, map[string]int64{}
		case r.rec == nil:
			f = faultf(0, "want %q, found %q", historyHeader, brief(line))
		default:
			f = r.line(line)
		}
		if f != nil {
			return r.fail(r.lines.fault(f))
		}
		r.last = r.lines.fault(&fault{off: len(line)})
	}
}

// finish adds the job of the history that is being read, if any, and reports
// whether to go on.
func (r *historyReader) finish() bool {
	if r.rec == nil {
		return true
	}
	fail := func(place *Error, reason string) bool {
		e := *place
		e.Reason = reason
		return r.fail(&e)
	}
	switch {
	case !r.ended:
		return fail(r.last, "the history ends before JOB_FINISHED, JOB_FAILED or JOB_KILLED")
	case r.submit == nil:
		return fail(r.last, "no JOB_SUBMITTED in the history")
	}
	job, reason := r.job(r.rec)
	if reason != "" {
		return fail(r.submit, reason)
	}
	return job == nil || r.add(held{job, r.submit.Line, r.submit.Column})
}

// line reads a line of JSON: the schema, and then the events.
func (r *historyReader) line(text []byte) *fault {
	if f := checkNesting(text, &r.limits); f != nil {
		return f
	}
	c := newCursor(text)
	if !r.schema {
		r.schema = c.want(kindObject)
	} else if c.fault == nil {
		r.event(c)
	}
	return c.fault
}

// The keys that are read of an event and what is in it, whatever its type.
var (
	eventKeys   = []string{"type", "event"}
	historyKeys = []string{"jobid", "jobName", "userName", "jobQueueName", "submitTime", "totalMaps", "totalReduces",
		"taskid", "taskType", "splitLocations", "attemptId", "startTime", "finishTime", "shuffleFinishTime", "counters"}
	countersKeys = []string{"groups", "org.apache.hadoop.mapreduce.jobhistory.JhCounters"}
	groupKeys    = []string{"counts"}
	counterKeys  = []string{"name", "value"}
)

// A historyEvent is what is read of an event.
type historyEvent struct {
	kind                           string
	job, name, user, queue         string
	submit, maps, reduces          int64
	task, taskType, hosts, attempt string
	start, finish, shuffled        int64
	read, fetched                  int64 // bytes of HDFS, and in a shuffle
	off                            int   // where it stands in the line
	submitOff                      int
}

// event reads an event.
func (r *historyReader) event(c *cursor) {
	e := historyEvent{submit: -1, maps: -1, reduces: -1, start: -1, finish: -1, shuffled: -1, read: -1, fetched: -1, off: c.pos}
	body := 0
	c.fields(eventKeys, func(key string) {
		if key == "type" {
			e.kind = string(c.text())
			return
		}
		body = c.pos // what it holds depends on the type, which may follow
		c.skip()
	})
	if e.kind == "" || body == 0 {
		c.fail(e.off, `want an event, with "type" and "event"`)
	}
	if c.fault != nil {
		return
	}
	c.pos = body
	c.inside(func() { // the name of a class
		c.fields(historyKeys, func(key string) { e.field(c, key) })
	})
	if c.fault == nil {
		r.apply(c, &e)
	}
}

// field reads a value of an event.
func (e *historyEvent) field(c *cursor, key string) {
	text := func(dst *string) { c.unwrap(func() { *dst = unescape(c.text()) }) }
	whole := func(dst *int64) { c.unwrap(func() { *dst = c.whole() }) }
	switch key {
	case "jobid":
		text(&e.job)
	case "jobName":
		text(&e.name)
	case "userName":
		text(&e.user)
	case "jobQueueName":
		text(&e.queue)
	case "submitTime":
		e.submitOff = c.pos
		whole(&e.submit)
	case "totalMaps":
		whole(&e.maps)
	case "totalReduces":
		whole(&e.reduces)
	case "taskid":
		text(&e.task)
	case "taskType":
		text(&e.taskType)
	case "splitLocations":
		text(&e.hosts)
	case "attemptId":
		text(&e.attempt)
	case "startTime":
		whole(&e.start)
	case "finishTime":
		whole(&e.finish)
	case "shuffleFinishTime":
		whole(&e.shuffled)
	case "counters":
		e.counters(c)
	}
}

// counters reads the counters of an attempt. Some versions put them into an
// object of one key.
func (e *historyEvent) counters(c *cursor) {
	c.fields(countersKeys, func(key string) {
		if key != "groups" {
			e.counters(c)
			return
		}
		c.list(func() {
			c.fields(groupKeys, func(string) {
				c.list(func() {
					var name string
					var value int64
					c.fields(counterKeys, func(key string) {
						if key == "name" {
							name = string(c.text())
						} else {
							value = c.whole()
						}
					})
					switch name {
					case "HDFS_BYTES_READ":
						e.read = value
					case "REDUCE_SHUFFLE_BYTES":
						e.fetched = value
					}
				})
			})
		})
	})
}

// apply records an event. It ignores events of other types.
func (r *historyReader) apply(c *cursor, e *historyEvent) {
	switch e.kind {
	case "JOB_SUBMITTED":
		r.rec.id, r.rec.name, r.rec.user, r.rec.queue, r.rec.submit = e.job, e.name, e.user, e.queue, e.submit
		r.submit = r.lines.fault(&fault{off: e.submitOff})
	case "JOB_QUEUE_CHANGED":
		r.rec.queue = e.queue
	case "JOB_INITED":
		r.rec.phases[sojourn.MapClass].announced = e.maps
		r.rec.phases[sojourn.ReduceClass].announced = e.reduces
	case "JOB_FINISHED":
		r.ended, r.rec.failed = true, false
	case "JOB_FAILED", "JOB_KILLED", "JOB_ERROR":
		r.ended, r.rec.failed = true, true
	case "TASK_STARTED":
		r.startTask(c, e)
	}
	if strings.HasSuffix(e.kind, "_ATTEMPT_STARTED") {
		r.starts[e.attempt] = e.start
	}
	success := strings.HasSuffix(e.kind, "_ATTEMPT_FINISHED")
	if success || strings.HasSuffix(e.kind, "_ATTEMPT_FAILED") || strings.HasSuffix(e.kind, "_ATTEMPT_KILLED") {
		r.endAttempt(e, success)
	}
}

// startTask adds a task. A second master of the job reports tasks again.
func (r *historyReader) startTask(c *cursor, e *historyEvent) {
	if e.task == "" {
		c.fail(e.off, `missing key "taskid"`)
		return
	}
	if _, again := r.tasks[e.task]; again {
		return
	}
	t := historyTask{start: e.start}
	switch e.taskType {
	case "MAP":
		t.class = sojourn.MapClass
	case "REDUCE":
		t.class = sojourn.ReduceClass
	default:
		t.other = true
		r.count(tasksOther, 1)
	}
	if !t.other {
		rt, reason := r.addTask(r.rec, t.class)
		if reason != "" {
			c.fail(e.off, "%s", reason)
			return
		}
		t.index = len(r.rec.phases[t.class].tasks) - 1
		for host := range strings.SplitSeq(e.hosts, ",") {
			host = host[strings.LastIndexByte(host, '/')+1:] // without a rack
			if host == "" {
				continue
			}
			if id := r.node(host); id != 0 {
				rt.nodes = append(rt.nodes, id)
			}
		}
	}
	r.tasks[e.task] = t
}

// endAttempt records an attempt that has ended. If its start is not recorded, the
// start of the task counts.
func (r *historyReader) endAttempt(e *historyEvent, success bool) {
	t, ok := r.tasks[e.task]
	if !ok {
		r.count(attemptsUnknown, 1)
		return
	}
	start, ok := r.starts[e.attempt]
	if !ok {
		start = t.start
	}
	delete(r.starts, e.attempt)
	if t.other {
		return
	}
	size := e.read
	if t.class == sojourn.ReduceClass {
		size = e.fetched
	}
	p := &r.rec.phases[t.class]
	r.addAttempt(p, &p.tasks[t.index], attempt{start: start, shuffled: e.shuffled, finish: e.finish}, success, size)
}
