package trace

import (
	"io"
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// ReadRumen returns the jobs of a trace that Hadoop's Rumen extracted from job
// histories, in the order of their submission, with IDs 1, 2, ... and arrivals
// that count from the first of them. The package comment says how a record
// becomes a job. ReadRumen reads r as the sequence is consumed, which is
// possible once, and keeps one record and the jobs of the window in memory. The
// input may be compressed by gzip.
//
// The first error ends the sequence, after the jobs before it. It is an [*Error]
// if the input is bad, it wraps the error of r, or it says that the options are
// out of range.
func ReadRumen(r io.Reader, o ReadOptions) iter.Seq2[*sim.Job, error] {
	return readHadoop(r, o, func(h *hadoopReader) bool { return h.readObjects((*hadoopReader).rumen) })
}

// ReadSLS returns the jobs of a trace for Hadoop's YARN Scheduler Load Simulator,
// as [ReadRumen] does. Its records are those of Rumen or of the simulator's own
// format; one trace may hold both.
func ReadSLS(r io.Reader, o ReadOptions) iter.Seq2[*sim.Job, error] {
	return readHadoop(r, o, func(h *hadoopReader) bool { return h.readObjects((*hadoopReader).sls) })
}

// readObjects reads a trace with one object for each job. parse reads an object
// and returns the offset of its submission.
func (h *hadoopReader) readObjects(parse func(*hadoopReader, *cursor) (*record, int)) bool {
	return h.eachObject(func(c *cursor) (*sim.Job, int) {
		rec, off := parse(h, c)
		if c.fault != nil {
			return nil, off
		}
		job, reason := h.job(rec)
		if reason != "" {
			c.fail(off, "%s", reason)
		}
		return job, off
	})
}

// The keys that are read of a job, a task and an attempt.
var (
	rumenJobKeys = []string{"jobID", "jobName", "user", "queue", "submitTime", "outcome", "totalMaps", "totalReduces",
		"mapTasks", "reduceTasks", "otherTasks"}
	rumenTaskKeys     = []string{"attempts", "preferredLocations", "inputBytes"}
	rumenAttemptKeys  = []string{"result", "startTime", "finishTime", "shuffleFinished", "hdfsBytesRead", "reduceShuffleBytes"}
	rumenLocationKeys = []string{"layers"}
)

// rumen reads a record of Rumen.
func (h *hadoopReader) rumen(c *cursor) (*record, int) {
	r, start, off := newRecord(), c.pos, c.pos
	c.fields(rumenJobKeys, func(key string) { h.rumenField(c, r, key, &off) })
	if r.id == "" {
		c.fail(start, `missing key "jobID"`)
	}
	return r, off
}

// rumenField reads a value of a record. It sets off to the place of the
// submission.
func (h *hadoopReader) rumenField(c *cursor, r *record, key string, off *int) {
	switch key {
	case "jobID":
		r.id = unescape(c.text())
	case "jobName":
		r.name = unescape(c.text())
	case "user":
		r.user = unescape(c.text())
	case "queue":
		r.queue = unescape(c.text())
	case "submitTime":
		*off = c.pos
		r.submit = c.whole()
	case "outcome":
		r.failed = !isSuccess(c.text())
	case "totalMaps":
		r.phases[sojourn.MapClass].announced = c.whole()
	case "totalReduces":
		r.phases[sojourn.ReduceClass].announced = c.whole()
	case "mapTasks":
		c.list(func() { h.rumenTask(c, r, sojourn.MapClass) })
	case "reduceTasks":
		c.list(func() { h.rumenTask(c, r, sojourn.ReduceClass) })
	case "otherTasks":
		c.list(func() {
			h.count(tasksOther, 1)
			c.skip()
		})
	}
}

// isSuccess reports whether a result means success in any version of Hadoop.
func isSuccess(result []byte) bool {
	return string(result) == "SUCCESS" || string(result) == "SUCCEEDED"
}

// rumenTask reads a task and adds it to a record.
func (h *hadoopReader) rumenTask(c *cursor, r *record, class sojourn.Class) {
	t, reason := h.addTask(r, class)
	if reason != "" {
		c.fail(c.pos, "%s", reason)
		return
	}
	input := int64(-1)
	c.fields(rumenTaskKeys, func(key string) {
		switch key {
		case "attempts":
			c.list(func() { h.rumenAttempt(c, &r.phases[class], t, class) })
		case "preferredLocations":
			c.list(func() {
				c.fields(rumenLocationKeys, func(string) { t.nodes = h.rumenLocation(c, t.nodes) })
			})
		case "inputBytes":
			input = c.whole()
		}
	})
	if input >= 0 {
		t.size = input // rather than what the attempt read of HDFS
	}
}

// rumenLocation reads the layers of a location. The last layer is the host;
// rumenLocation appends its node.
func (h *hadoopReader) rumenLocation(c *cursor, nodes []sojourn.NodeID) []sojourn.NodeID {
	host := ""
	c.list(func() { host = unescape(c.text()) })
	if c.fault != nil || host == "" {
		return nodes
	}
	if id := h.node(host); id != 0 {
		nodes = append(nodes, id)
	}
	return nodes
}

// rumenAttempt reads an attempt at a task.
func (h *hadoopReader) rumenAttempt(c *cursor, p *recordedPhase, t *recordedTask, class sojourn.Class) {
	var (
		a       = attempt{start: -1, shuffled: -1, finish: -1}
		success bool
		size    = int64(-1)
	)
	c.fields(rumenAttemptKeys, func(key string) {
		switch key {
		case "result":
			success = isSuccess(c.text())
		case "startTime":
			a.start = c.whole()
		case "finishTime":
			a.finish = c.whole()
		case "shuffleFinished":
			a.shuffled = c.whole()
		case "hdfsBytesRead", "reduceShuffleBytes":
			n := c.whole()
			if (key == "hdfsBytesRead") == (class == sojourn.MapClass) {
				size = n
			}
		}
	})
	h.addAttempt(p, t, a, success, size)
}

// The keys that are read of a job and a task in the format of the simulator,
// beside those of Rumen.
var (
	slsJobKeys = append([]string{"job.id", "job.user", "job.queue.name", "job.start.ms", "job.count", "job.tasks"},
		rumenJobKeys...)
	slsTaskKeys = []string{"container.type", "container.start.ms", "container.end.ms", "duration.ms", "count"}
)

// sls reads a record of the simulator, or of Rumen.
func (h *hadoopReader) sls(c *cursor) (*record, int) {
	r, start, off := newRecord(), c.pos, c.pos
	c.fields(slsJobKeys, func(key string) {
		switch key {
		case "job.id":
			r.id = string(c.text())
		case "job.user":
			r.user = string(c.text())
		case "job.queue.name":
			r.queue = string(c.text())
		case "job.start.ms":
			off = c.pos
			r.submit = c.whole()
		case "job.count":
			onlyOne(c, key)
		case "job.tasks":
			c.list(func() { h.slsTask(c, r) })
		default:
			h.rumenField(c, r, key, &off)
		}
	})
	if r.id == "" {
		c.fail(start, `missing key "job.id" or "jobID"`)
	}
	return r, off
}

// onlyOne reads a number of copies.
func onlyOne(c *cursor, key string) {
	if off := c.pos; c.whole() != 1 {
		c.fail(off, "%q other than 1 is not supported", key)
	}
}

// slsTask reads a task, which has one successful attempt, and adds it to a
// record.
func (h *hadoopReader) slsTask(c *cursor, r *record) {
	var (
		start    = c.pos
		class    sojourn.Class
		known    bool
		a        = attempt{start: -1, shuffled: -1, finish: -1}
		duration = int64(-1)
	)
	c.fields(slsTaskKeys, func(key string) {
		switch key {
		case "container.type":
			off := c.pos
			known = true
			switch kind := c.text(); string(kind) {
			case "map":
				class = sojourn.MapClass
			case "reduce":
				class = sojourn.ReduceClass
			default:
				c.fail(off, `want "map" or "reduce", found %q`, brief(kind))
			}
		case "container.start.ms":
			a.start = c.whole()
		case "container.end.ms":
			a.finish = c.whole()
		case "duration.ms":
			duration = c.whole()
		case "count":
			onlyOne(c, key)
		}
	})
	if !known {
		c.fail(start, `missing key "container.type"`)
	}
	if c.fault != nil {
		return
	}
	t, reason := h.addTask(r, class)
	if reason != "" {
		c.fail(start, "%s", reason)
		return
	}
	if a.start < 0 && duration >= 0 {
		a = attempt{shuffled: -1, finish: duration, noInstants: true}
	}
	h.addAttempt(&r.phases[class], t, a, true, -1)
}
