package trace

import (
	"bytes"
	"cmp"
	"io"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// ReadSWF returns the jobs of a trace in the Standard Workload Format, in the
// order of their submission, with IDs 1, 2, .... A job that ran on p processors
// for t seconds has p tasks of t seconds. It reads r as the sequence is consumed,
// which is possible once, and keeps one line and the jobs of the window in
// memory. The input may be compressed by gzip.
//
// The first error ends the sequence, after the jobs before it. It is an [*Error]
// if the input is bad, it wraps the error of r, or it says that the options are
// out of range.
func ReadSWF(r io.Reader, o ReadOptions) iter.Seq2[*sim.Job, error] {
	return sorted(r, o, func(q *queue) bool {
		l := newLines(q.in)
		return l.each(q.fail, func(line []byte) (bool, *fault) {
			if bytes.TrimLeft(line, " \t")[0] == ';' {
				return true, nil
			}
			record, fault := parseSWF(line)
			if fault != nil {
				return false, fault
			}
			job, fault := q.job(&record)
			return job == nil || q.add(held{job, l.n, record.offSubmit + 1}), fault
		})
	})
}

// The fields of a line.
const (
	swfJob       = 0
	swfSubmit    = 1
	swfRun       = 3
	swfProcs     = 4
	swfRequested = 8
	swfStatus    = 10
	swfUser      = 11
	swfGroup     = 12
	swfApp       = 13
	swfQueue     = 14
	swfPreceding = 16
	swfFields    = 18
)

// swfRecord is what is read of a line. -1 is unknown.
type swfRecord struct {
	number                                            []byte
	submit, run, requested                            time.Duration
	procs, status, user, group, app, queue, preceding int
	offSubmit, offRun, offProcs, offRequested         int
	longer                                            bool
}

// parseSWF parses a line of fields.
func parseSWF(line []byte) (r swfRecord, f *fault) {
	var (
		fields [swfFields][]byte
		offs   [swfFields]int
		n      int
	)
	for i := 0; i < len(line); {
		if isSpace(line[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(line) && !isSpace(line[end]) {
			end++
		}
		if n == swfFields {
			r.longer = true // some simulators write more fields: they are no part of the format
			break
		}
		field := line[i:end]
		if field[0] == '-' && !isDecimal(field[1:]) || field[0] != '-' && !isDecimal(field) {
			return r, faultf(i, "want a number, found %q", brief(field))
		}
		fields[n], offs[n] = field, i
		n++
		i = end
	}
	if n < swfFields {
		return r, faultf(len(line), "%d fields, want %d", n, swfFields)
	}
	integer := func(i int) int {
		v, err := strconv.Atoi(string(fields[i]))
		if (err != nil || v != int(int32(v))) && f == nil {
			f = faultf(offs[i], "want an integer below 2^31, found %q", brief(fields[i]))
		}
		return max(v, -1)
	}
	duration := func(i int) time.Duration {
		if fields[i][0] == '-' {
			return -1
		}
		d, reason := parseSeconds(fields[i])
		if reason != "" && f == nil {
			f = faultf(offs[i], "%s %s", shown(fields[i]), reason)
		}
		return d
	}
	r = swfRecord{
		longer: r.longer, number: fields[swfJob],
		submit: duration(swfSubmit), run: duration(swfRun), requested: duration(swfRequested),
		procs: integer(swfProcs), status: integer(swfStatus), user: integer(swfUser), group: integer(swfGroup),
		app: integer(swfApp), queue: integer(swfQueue), preceding: integer(swfPreceding),
		offSubmit: offs[swfSubmit], offRun: offs[swfRun], offProcs: offs[swfProcs], offRequested: offs[swfRequested],
	}
	return r, f
}

// job returns the job of a record, or nil if there is none, which it counts.
func (o *ReadOptions) job(r *swfRecord) (*sim.Job, *fault) {
	drop := func(why remark) (*sim.Job, *fault) {
		o.Stats.counts[why]++
		return nil, nil
	}
	switch {
	case r.status >= 2 && r.status <= 4: // between checkpoints; the whole job has 0 or 1
		return drop(jobsPartial)
	case r.submit < 0:
		return drop(jobsWithoutSubmit)
	case r.run < 0:
		return drop(jobsWithoutRun)
	case r.procs <= 0:
		return drop(jobsWithoutProcs)
	case r.procs > o.limits.tasks:
		return nil, faultf(r.offProcs, "more than %d tasks in a job", o.limits.tasks)
	case r.run > math.MaxInt64/time.Duration(r.procs):
		return nil, faultf(r.offRun, "the sum of the times of the job's tasks %s", outOfRange)
	}
	phase := sojourn.Phase{Tasks: r.procs}
	if o.Requested {
		switch {
		case r.requested <= 0:
			o.Stats.counts[jobsNotEstimated]++
		case r.requested > math.MaxInt64/time.Duration(r.procs):
			return nil, faultf(r.offRequested, "the sum of the estimates of the job's tasks %s", outOfRange)
		default:
			phase.Estimate = r.requested
		}
	}
	if r.longer {
		o.Stats.counts[jobsLonger]++
	}
	if r.preceding > 0 {
		o.Stats.counts[jobsAfterOther]++
	}
	j := newJob()
	j.Name, j.At, j.AnyClass = r.name(), sojourn.Time(r.submit), []bool{true}
	j.Phases, j.Times = append(j.Phases, phase), append(j.Times, sim.Times{Each: r.run})
	switch o.Pool {
	case PoolQueue:
		j.Pool = swfName("queue", r.queue)
	case PoolUser:
		j.Pool = swfName("user", r.user)
	case PoolGroup:
		j.Pool = swfName("group", r.group)
	}
	return j, nil
}

// name returns a name that the runs of a user's program share, or otherwise a name for
// this job alone.
func (r *swfRecord) name() string {
	if r.user >= 0 && r.app >= 0 {
		var room [32]byte
		name := strconv.AppendInt(append(room[:0], "user"...), int64(r.user), 10)
		return string(strconv.AppendInt(append(name, "/app"...), int64(r.app), 10))
	}
	return cmp.Or(swfName("user", r.user), swfName("app", r.app), "job"+string(r.number))
}

// swfName returns a name for something that the format numbers, "" if it is unknown.
func swfName(what string, n int) string {
	if n < 0 {
		return ""
	}
	return what + strconv.Itoa(n)
}
