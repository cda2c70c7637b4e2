package trace

import (
	"bytes"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// ReadAlibaba returns the jobs of table batch_task of Alibaba's cluster trace of 2018, with IDs 1,
// 2, ... and arrivals that count from the first of them. Each task of the table is a phase with as
// many tasks as the row has instances, and each takes as long as the row did. So the time of a row
// whose instances ran one after the other counts for each of them. A job arrives when the first of its
// rows starts.
//
// Names of tasks say what they wait for: M1 for nothing, R2_1 for task 1, J3_1_2 for tasks 1 and 2. A
// task without a number, such as task_xyz or MergeTask, waits for nothing and is waited for by none.
// Parts of a name that are no number say nothing.
//
// The rows of a job have to follow one another. The reader keeps the names of all jobs, the rows of one
// and the jobs of the window in memory. The input may be compressed by gzip.
//
// The first error ends the sequence, after the jobs before it. It is an [*Error] if the input is
// bad, it wraps the error of r, or it says that the options are out of range.
//
// Source: github.com/alibaba/clusterdata, cluster-trace-v2018, trace_2018.md and schema.txt.
func ReadAlibaba(r io.Reader, o ReadOptions) iter.Seq2[*sim.Job, error] {
	return sorted(r, o, func(q *queue) bool {
		q.relative = true
		a := &alibaba{queue: q, names: map[string]bool{}, l: newLines(q.in)}
		return a.l.each(q.fail, a.row) && a.finish()
	})
}

// An alibaba reads the table.
type alibaba struct {
	*queue

	l     *lines
	names map[string]bool // of jobs so far

	name  string // of the job whose rows are read
	line  int    // of its first row
	rows  []alibabaRow
	whole bool // the times of all its rows are known
}

// An alibabaRow is a task of the table.
type alibabaRow struct {
	number     string // without zeros in front; "" if it has none
	needs      []string
	instances  int
	start, end int64 // seconds; -1 is unknown
}

// The fields of a row; two more are about resources.
const (
	aliTask = iota
	aliInstances
	aliJob
	aliType
	aliStatus
	aliStart
	aliEnd
	aliFields = 9
)

// row reads a row, after it has finished the job before, if the row begins another. It reports whether to go on.
func (a *alibaba) row(line []byte) (bool, *fault) {
	if !utf8.Valid(line) {
		return false, faultf(0, "the row is not UTF-8")
	}
	fields := bytes.Split(bytes.TrimRight(line, "\r\n"), []byte(","))
	if len(fields) != aliFields {
		return false, faultf(0, "%d fields, want %d: task, instances, job, type, status, start, end, cpu, memory", len(fields), aliFields)
	}
	off := func(field int) (at int) {
		for _, f := range fields[:field] {
			at += len(f) + 1
		}
		return at
	}
	name := string(fields[aliJob])
	if name == "" {
		return false, faultf(off(aliJob), "a row without a job")
	}
	if name != a.name {
		if a.names[name] {
			return false, faultf(off(aliJob), "job %s has rows further up: the rows of a job have to follow one another", shown(fields[aliJob]))
		}
		if !a.finish() {
			return false, nil
		}
		a.names[name] = true
		a.name, a.line, a.whole = name, a.l.n, true
	}
	var row alibabaRow
	var ok [3]bool
	var instances int64
	instances, ok[0] = aliNumber(fields[aliInstances])
	row.start, ok[1] = aliNumber(fields[aliStart])
	row.end, ok[2] = aliNumber(fields[aliEnd])
	for i, field := range [...]int{aliInstances, aliStart, aliEnd} {
		if !ok[i] {
			return false, faultf(off(field), "want an integer, or nothing, found %s", shown(fields[field]))
		}
	}
	if instances > int64(min(sojourn.MaxTasks, a.limits.tasks)) {
		return false, faultf(off(aliInstances), "more than %d tasks in a job", a.limits.tasks)
	}
	row.instances = int(instances)
	row.number, row.needs = aliNames(string(fields[aliTask]))
	if instances <= 0 || row.start < 0 || row.end < row.start {
		a.whole = false
	}
	if len(a.rows) == sojourn.MaxPhases {
		return false, faultf(0, "more than %d phases in a job", sojourn.MaxPhases)
	}
	a.rows = append(a.rows, row)
	return true, nil
}

// aliNumber reads an integer below 2^33, such as 3 or 3.0; -1 if there is none. Others are seconds out of
// range.
func aliNumber(field []byte) (n int64, ok bool) {
	text, rest, _ := strings.Cut(string(field), ".")
	if strings.Trim(rest, "0") != "" {
		return 0, false
	}
	if text == "" && rest == "" {
		return -1, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return max(n, -1), err == nil && n <= math.MaxInt64/int64(time.Second)
}

// aliNames returns the number of a task, and those that it waits for.
func aliNames(name string) (number string, needs []string) {
	parts := strings.Split(name, "_")
	number = strings.TrimLeft(parts[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	if number == parts[0] || !isNumber(number) {
		return "", nil
	}
	for _, part := range parts[1:] {
		if isNumber(part) {
			needs = append(needs, strings.TrimLeft(part, "0"))
		}
	}
	return strings.TrimLeft(number, "0"), needs
}

// isNumber reports whether text is digits, and not only zeros.
func isNumber(text string) bool {
	return strings.Trim(text, "0123456789") == "" && strings.Trim(text, "0") != ""
}

// finish adds the job whose rows are complete, and reports whether to go on.
func (a *alibaba) finish() bool {
	rows := a.rows
	a.rows = a.rows[:0]
	if len(rows) == 0 {
		return true
	}
	if !a.whole {
		a.Stats.counts[jobsWithoutRun]++
		return true
	}
	fail := func(reason string) bool {
		return a.fail(errorAt(a.in.file, a.line, 1, reason))
	}
	numbered := map[string][]int{}
	g, first := new(graph), rows[0].start
	for v, row := range rows {
		if row.number != "" {
			numbered[row.number] = append(numbered[row.number], v)
		}
		first = min(first, row.start)
		g.vertices = append(g.vertices, vertex{tasks: row.instances, times: []time.Duration{time.Duration(row.end-row.start) * time.Second}})
	}
	for v, row := range rows {
		for _, need := range row.needs {
			if len(numbered[need]) == 0 {
				a.Stats.counts[needsUnknown]++
			}
			for _, u := range numbered[need] {
				if !g.need(v, u) {
					return fail(tooManyEdges)
				}
			}
		}
	}
	j, reason := g.job(&a.ReadOptions, a.name, sojourn.Time(first)*sojourn.Time(time.Second))
	if reason != "" {
		return fail(reason)
	}
	return j == nil || a.add(held{j, a.line, 1})
}
