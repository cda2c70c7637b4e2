package trace

import (
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// ReadOptions say how to read a workload or a trace. The zero value is the simple case. Readers ignore what their
// format does not have.
type ReadOptions struct {
	// File is what errors call the input. Empty means "-".
	File string

	// Nodes returns the number of the node of a name, or 0 if there is no such node. Nil
	// numbers the names from 1, in the order in which they first appear.
	//
	// For Read, a name without a node is a fault of the input. Readers of Hadoop's records leave such a place
	// out and count it; a task without any place runs equally well anywhere. To make such a
	// task read remotely instead, give the host the number of a node without slots.
	Nodes func(name string) sojourn.NodeID

	// Pool says what becomes the pool of a job, if the trace has users and queues.
	Pool PoolKey

	// OnlySuccessful drops the jobs of Hadoop's records that failed or were killed.
	OnlySuccessful bool

	// Requested makes the time that the user requested, in SWF, the estimate of the tasks.
	// Without it, or if no time was requested, there is no estimate.
	Requested bool

	// Window is how many jobs are held back for sorting by arrival. Zero means 100.
	Window int

	// Stats, unless nil, counts what the reader leaves out. Read counts nothing.
	Stats *Stats

	limits limits
}

// A PoolKey says which attribute of a recorded job becomes its pool. A job
// without the attribute has the pool "".
type PoolKey uint8

const (
	PoolQueue PoolKey = iota // the queue it was submitted to
	PoolUser                 // its user
	PoolGroup                // the group of its user, in SWF only
	PoolNone                 // no pool
)

// Read returns the jobs of a workload in the format that the package comment
// describes, in their order. It reads r as the sequence is consumed, which is
// possible once, and keeps one line in memory. IDs that count up one by one take
// no memory. Any other ID takes one bit (a 64-bit word for each 64 consecutive
// IDs of which one is in use).
//
// The first error ends the sequence. It is an [*Error] if the input is bad;
// otherwise it wraps the error of r.
func Read(r io.Reader, o ReadOptions) iter.Seq2[*sim.Job, error] {
	o.limits = o.limits.withDefaults()
	return func(yield func(*sim.Job, error) bool) {
		wr := workloadReader{o: o, names: map[string]sojourn.NodeID{}, arrivals: newArrivals()}
		newLines(open(r, o.File, o.limits)).each(plainly(yield), func(line []byte) (bool, *fault) {
			job, fault := wr.job(line)
			return fault == nil && yield(job, nil), fault
		})
	}
}

// isBlank reports whether a line is all white space.
func isBlank(line []byte) bool {
	for _, b := range line {
		if !isSpace(b) {
			return false
		}
	}
	return true
}

// isSpace reports whether a byte is white space within a line.
func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' }

// The keys of the format, those that are required first.
var (
	jobKeys   = []string{"id", "at", "phases", "name", "pool", "weight", "priority", "deadline", "parallelism", "release", "sequence"}
	phaseKeys = []string{"time", "tasks", "class", "estimate", "bytes", "nodes", "delay", "after", "needs", "cost", "added"}
)

// A workloadReader turns lines into jobs.
type workloadReader struct {
	o        ReadOptions
	names    map[string]sojourn.NodeID // numbers given out if o.Nodes is nil
	arrivals arrivals
	spread   int // see limits.spread
}

// job parses a line.
func (r *workloadReader) job(line []byte) (*sim.Job, *fault) {
	var (
		j                                               = newJob()
		deadline, release                               time.Duration
		idOff, atOff, deadlineOff, releaseOff, jobStart int
	)
	c := newCursor(line)
	jobStart = c.pos
	c.object(jobKeys, 3, func(key string) {
		off := c.pos
		switch key {
		case "id":
			idOff = off
			j.ID = sojourn.JobID(c.integer(1, math.MaxUint64))
		case "name":
			j.Name = string(c.text())
		case "at":
			atOff = off
			j.At = sojourn.Time(c.seconds())
		case "pool":
			j.Pool = string(c.text())
		case "weight":
			j.Weight = c.float()
			if reason := checkWeight(j.Weight); reason != "" {
				c.fail(off, "%s", reason)
			}
		case "deadline":
			deadlineOff = off
			if deadline = c.seconds(); deadline == 0 {
				c.fail(off, "deadline is not above 0")
			}
		case "release":
			releaseOff = off
			if release = c.seconds(); release == 0 {
				c.fail(off, "release is not above 0; leave it out if the job may start at once")
			}
		case "sequence":
			if j.Sequence = string(c.text()); j.Sequence == "" {
				c.fail(off, "empty sequence; leave it out if there is none")
			}
		case "parallelism":
			j.Parallelism = uint32(c.integer(0, math.MaxUint32))
		case "priority":
			j.Priority = c.priority()
		case "phases":
			r.phases(c, j)
		}
	})
	if c.fault != nil {
		return nil, c.fault
	}
	if deadline > math.MaxInt64-time.Duration(j.At) {
		return nil, faultf(deadlineOff, "at + deadline %s", outOfRange)
	}
	if deadline > 0 {
		j.Deadline = j.At.Add(deadline)
	}
	if release > math.MaxInt64-time.Duration(j.At) {
		return nil, faultf(releaseOff, "at + release %s", outOfRange)
	}
	if release > 0 {
		j.Release = j.At.Add(release)
	}
	if err := j.Check(); err != nil {
		return nil, &fault{jobStart, reasonOf(err)}
	}
	switch late, used := r.arrivals.add(j); {
	case late != "":
		return nil, &fault{atOff, late}
	case used != "":
		return nil, &fault{idOff, used}
	}
	return j, nil
}

// checkWeight returns what is wrong with a weight that is given, or "".
func checkWeight(weight float64) string {
	if weight == 0 {
		return "weight is not above 0"
	}
	j := sojourn.Job{ID: 1, Weight: weight, Phases: []sojourn.Phase{{Tasks: 1}}}
	if err := j.Check(); err != nil {
		return reasonOf(err)
	}
	return ""
}

// reasonOf returns the text of an error of Job.Check without that of the
// sentinel.
func reasonOf(err error) string {
	return strings.TrimPrefix(err.Error(), sojourn.ErrInvalidJob.Error()+": ")
}

// arrivals checks what must hold between the lines of a workload.
type arrivals struct {
	last       sojourn.Time
	first, run uint64            // the IDs first to first+run-1 are taken, in this order
	used       map[uint64]uint64 // bit id%64 of used[id/64]: another ID is taken
}

func newArrivals() arrivals { return arrivals{used: map[uint64]uint64{}} }

// add records a job that comes next. It returns what is wrong with its
// arrival, or else with its ID.
func (a *arrivals) add(j *sim.Job) (late, used string) {
	if late := lateness(j.At, a.last); late != "" {
		return late, ""
	}
	id := uint64(j.ID)
	if a.run == 0 {
		a.first = id
	}
	word, bit := id/64, uint64(1)<<(id%64)
	switch {
	case id-a.first < a.run, a.used[word]&bit != 0: // also where id < a.first: the difference wraps
		return "", fmt.Sprintf("duplicate id %d", j.ID)
	case id-a.first == a.run:
		a.run++
	default:
		a.used[word] |= bit
	}
	a.last = j.At
	return "", ""
}

// lateness returns what is wrong with the arrival of a job, given that of the
// job before it, or "".
func lateness(at, last sojourn.Time) string {
	if at >= last {
		return ""
	}
	return fmt.Sprintf("arrival at %s is before that of the job before, %s",
		appendSeconds(nil, time.Duration(at)), appendSeconds(nil, time.Duration(last)))
}
