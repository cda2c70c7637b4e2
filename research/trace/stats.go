package trace

import (
	"iter"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/research/sim"
)

// Stats say how a reader read a trace: how much it read, and what it left out,
// assumed or could not determine. The zero Stats are those of an empty trace. A
// reader adds to them as its sequence is consumed; they are complete at its end.
type Stats struct {
	Jobs  int64 // jobs that the reader returned
	Tasks int64 // of these jobs

	counts [len(remarkTexts)]int64
}

// Counts yields what happened at least once, and how often, in an order that does not depend
// on the trace.
func (s *Stats) Counts() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for r, n := range s.counts {
			if n > 0 && !yield(remarkTexts[r], n) {
				return
			}
		}
	}
}

// String returns one line for the jobs, one for the tasks and one for each of
// Counts, such as "jobs dropped, processors unknown or none: 3".
func (s *Stats) String() string {
	var b strings.Builder
	line := func(what string, n int64) {
		b.WriteString(what)
		b.WriteString(": ")
		b.WriteString(strconv.FormatInt(n, 10))
		b.WriteByte('\n')
	}
	line("jobs", s.Jobs)
	line("tasks", s.Tasks)
	for what, n := range s.Counts() {
		line(what, n)
	}
	return b.String()
}

// add counts a job that the reader returns.
func (s *Stats) add(j *sim.Job) {
	s.Jobs++
	s.Tasks += int64(j.Tasks())
}

// A remark is something that a reader counts.
type remark int

const (
	jobsWithoutSubmit remark = iota
	jobsWithoutRun
	jobsWithoutProcs
	jobsPartial
	jobsNotSuccessful
	jobsWithoutTimes
	jobsFailed
	jobsAfterOther
	jobsLonger
	jobsNotEstimated
	jobsMapOnly
	jobsNoBytes
	jobsCircular
	needsUnknown
	tasksWithoutTimes
	tasksNotRecorded
	tasksOther
	tasksMean
	tasksMeanLost
	tasksNoSize
	reducesEarly
	attemptsLeftOut
	attemptsBackward
	attemptsUnknown
	hostsUnknown
)

var remarkTexts = [...]string{
	jobsWithoutSubmit: "jobs dropped, time of submission unknown",
	jobsWithoutRun:    "jobs dropped, run time unknown",
	jobsWithoutProcs:  "jobs dropped, processors unknown or none",
	jobsPartial:       "records dropped, part of a job that has a record of its own",
	jobsNotSuccessful: "jobs dropped, failed or killed",
	jobsWithoutTimes:  "jobs dropped, no task with a known time",
	jobsFailed:        "jobs kept, failed or killed",
	jobsAfterOther:    "jobs that followed another job, submitted here whatever becomes of that",
	jobsLonger:        "jobs with more fields than the format has, the first 18 read",
	jobsNotEstimated:  "jobs without a requested time, no estimate",
	jobsMapOnly:       "jobs without a shuffle, no reduces",
	jobsNoBytes:       "jobs that move no bytes, one map of the overhead alone",
	jobsCircular:      "jobs dropped, tasks that wait for each other in a circle",
	needsUnknown:      "waits left out, for tasks that are not recorded",
	tasksWithoutTimes: "tasks dropped, no attempt in their phase has a known time",
	tasksNotRecorded:  "tasks left out, announced but not recorded",
	tasksOther:        "tasks left out, neither map nor reduce",
	tasksMean:         "tasks without a known time, given the mean of their phase",
	tasksMeanLost:     "tasks without a known time, given the mean of unsuccessful attempts in their phase",
	tasksNoSize:       "tasks without a known size of their input, 0 bytes",
	reducesEarly:      "reduces that ended before the last map, no time",
	attemptsLeftOut:   "attempts left out, unsuccessful or one success too many",
	attemptsBackward:  "attempts that ended before they started, time unknown",
	attemptsUnknown:   "events left out, of tasks that were not started",
	hostsUnknown:      "places of input left out, node unknown",
}
