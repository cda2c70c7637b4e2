package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

// openData opens a file of the public data that tests compare with, or skips the
// test. The data is not part of the repository. Without it, the same readers are tested with
// the files of testdata and numbers computed by hand (TestSampleFiles), with a generated
// workload (TestGeneratedHadoop, TestGeneratedSWIM, TestGeneratedSWF), and with random records
// (TestHadoopRecords, TestSWIMMappingIsExact).
func openData(t *testing.T, elem ...string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(append([]string{"..", "..", "shared", "data"}, elem...)...))
	if err != nil {
		t.Skipf("public traces are not part of the repository: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A reader reads a format, with the options that all formats have.
type reader func(r io.Reader, limits limits, stats *Stats) iter.Seq2[*sim.Job, error]

func readRumen(r io.Reader, limits limits, stats *Stats) iter.Seq2[*sim.Job, error] {
	return ReadRumen(r, ReadOptions{limits: limits, Stats: stats})
}

func readSLS(r io.Reader, limits limits, stats *Stats) iter.Seq2[*sim.Job, error] {
	return ReadSLS(r, ReadOptions{limits: limits, Stats: stats})
}

func readJHist(r io.Reader, limits limits, stats *Stats) iter.Seq2[*sim.Job, error] {
	return ReadJHist(r, ReadOptions{limits: limits, Stats: stats})
}

func readSWF(r io.Reader, limits limits, stats *Stats) iter.Seq2[*sim.Job, error] {
	return ReadSWF(r, ReadOptions{limits: limits, Stats: stats})
}

// The counts are from the README of the data. Those of the histories come from their
// names and their JOB_INITED events.
func TestRealTraces(t *testing.T) {
	tests := []struct {
		file                []string
		read                reader
		jobs, maps, reduces int
	}{
		{[]string{"rumen", "19-jobs.trace.json.gz"}, readRumen, 19, 8573, 3256},
		{[]string{"rumen", "gridmix_2m_stream_trace.json.gz"}, readRumen, 5, 166, 5},
		{[]string{"rumen", "gridmix_compression_case1_trace.json.gz"}, readRumen, 2, 21, 112},
		{[]string{"rumen", "gridmix_trace_1m.json.gz"}, readRumen, 5, 42, 5},
		{[]string{"rumen", "gridmix_trace_3m.json.gz"}, readRumen, 12, 148, 18},
		{[]string{"sls", "2jobs2min-rumen-jh.json.gz"}, readSLS, 2, 192, 0},
		{[]string{"swf", "NASA-iPSC-1993-3.1-cln.swf.gz"}, readSWF, 18239, 0, 0},
		{[]string{"swf", "accasim-test-workload.swf"}, readSWF, 25, 0, 0},
		{[]string{"jhist", "job_0.23.9-FAILED.jhist.gz"}, readJHist, 1, 2, 0},
		{[]string{"jhist", "job_1329348432655_0001-10.jhist.gz"}, readJHist, 1, 10, 1},
		{[]string{"jhist", "job_1329348432655_0001-1329348443227-user-Sleep+job-1329348468601-10-1-SUCCEEDED-default.jhist.gz"},
			readJHist, 1, 10, 2},
		{[]string{"jhist", "job_1393307629410_0001-1393307687476-user-Sleep+job-1393307723835-0-0-FAILED-default-1393307693920.jhist.gz"},
			readJHist, 1, 1, 0},
		{[]string{"jhist", "job_1416424547277_0002-1416424775281-root-TeraGen-1416424785433-2-0-SUCCEEDED-default-1416424779349.jhist.gz"},
			readJHist, 1, 2, 0},
		{[]string{"jhist", "job_2.0.3-alpha-FAILED.jhist.gz"}, readJHist, 1, 2, 0},
		{[]string{"jhist", "job_2.4.0-FAILED.jhist.gz"}, readJHist, 1, 2, 0},
		{[]string{"jhist", "timberlake-sleepjob.jhist.gz"}, readJHist, 1, 10, 1},
	}
	for _, tc := range tests {
		f := openData(t, tc.file...)
		var stats Stats
		jobs, err := collect(t, tc.read(f, limits{}, &stats))
		if err != nil {
			t.Errorf("%s: %v", tc.file[1], err)
		}
		var tasks int64
		var classes [256]int
		for _, j := range jobs {
			if err := j.Check(); err != nil {
				t.Errorf("%s: job %d: %v", tc.file[1], j.ID, err)
			}
			tasks += int64(j.Tasks())
			for i, p := range j.Phases {
				if j.AnyClass == nil || !j.AnyClass[i] {
					classes[p.Class] += p.Tasks
				}
			}
		}
		if len(jobs) != tc.jobs || classes[sojourn.MapClass] != tc.maps || classes[sojourn.ReduceClass] != tc.reduces {
			t.Errorf("%s: %d jobs, %d maps, %d reduces, want %d, %d, %d",
				tc.file[1], len(jobs), classes[sojourn.MapClass], classes[sojourn.ReduceClass], tc.jobs, tc.maps, tc.reduces)
		}
		if stats.Jobs != int64(tc.jobs) || stats.Tasks != tasks {
			t.Errorf("%s: stats of %d jobs and %d tasks, want %d and %d", tc.file[1], stats.Jobs, stats.Tasks, tc.jobs, tasks)
		}
	}
}

// Another program derived the table from the trace. It has a line for each task, which is
// empty if no attempt was successful.
func TestRumenTraceMatchesItsTable(t *testing.T) {
	topology, err := ReadTopology(openData(t, "rumen", "19-jobs.topology.json.gz"), TopologyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	racks := map[string]bool{}
	nodes := map[string]sojourn.NodeID{}
	for i, n := range topology.Nodes {
		racks[n.Rack] = true
		nodes[n.Name] = sojourn.NodeID(i + 1)
	}
	if len(topology.Nodes) != 1545 || len(racks) != 41 || !slices.Equal(topology.Capacity(), []int{3090, 3090}) {
		t.Errorf("%d nodes, %d racks, %v slots, want 1545, 41, 3090 of each", len(topology.Nodes), len(racks), topology.Capacity())
	}
	var stats Stats
	jobs, err := collect(t, ReadRumen(openData(t, "rumen", "19-jobs.trace.json.gz"), ReadOptions{
		Nodes: func(host string) sojourn.NodeID { return nodes[host] }, Pool: PoolUser, Stats: &stats,
	}))
	if err != nil {
		t.Fatal(err)
	}

	z, err := gzip.NewReader(openData(t, "rumen", "tasks.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	byJob := map[string][][]string{}
	for _, row := range rows[1:] {
		byJob[row[0]] = append(byJob[row[0]], row)
	}
	number := func(text string) int64 {
		if text == "" {
			return -1
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	compared, unknown := 0, int64(0)
	for _, j := range jobs {
		rows := byJob[j.Name]
		if len(rows) != j.Tasks() {
			t.Fatalf("%s: %d tasks, want %d", j.Name, j.Tasks(), len(rows))
		}
		lastMap := int64(-1)
		for _, row := range rows {
			if row[4] == "M" && row[7] != "" {
				lastMap = max(lastMap, number(row[6])+number(row[7]))
			}
		}
		if want := sojourn.Time(number(rows[0][3]) * 1e6); j.At != want || j.Pool != rows[0][1] {
			t.Errorf("%s: arrives at %v in pool %s, want %v, %s", j.Name, j.At, j.Pool, want, rows[0][1])
		}
		i, phase := 0, 0
		for _, row := range rows {
			if i == j.Phases[phase].Tasks {
				i, phase = 0, phase+1
			}
			p := &j.Phases[phase]
			got := j.Times[phase].Of(i)
			if row[7] == "" { // its hosts are not in the table either
				unknown++
			} else {
				begin := number(row[6])
				want := number(row[7])
				if row[4] == "R" {
					want += begin - max(begin, begin+number(row[8]), lastMap)
				}
				if got != time.Duration(want)*time.Millisecond {
					t.Errorf("%s: task %s%s takes %v, want %d ms", j.Name, row[4], row[5], got, want)
				}
				if size := number(row[10]); p.Bytes == nil && size >= 0 || p.Bytes != nil && p.Bytes[i] != max(size, 0) {
					t.Errorf("%s: task %s%s has a size other than %d", j.Name, row[4], row[5], size)
				}
				var hosts, places []string
				for _, id := range p.Inputs.Of(i) {
					n := topology.Nodes[id-1]
					hosts = append(hosts, n.Rack+"/"+n.Name)
				}
				if row[14] != "" {
					places = strings.Split(row[14], "|")
				}
				if !slices.Equal(hosts, places) {
					t.Errorf("%s: task %s%s reads from %q, want %q", j.Name, row[4], row[5], hosts, places)
				}
				compared++
			}
			i++
		}
	}
	if compared != 8404 {
		t.Errorf("compared %d tasks, want 8404", compared)
	}
	if got := stats.counts[tasksMean] + stats.counts[tasksMeanLost]; got != unknown || stats.counts[hostsUnknown] != 0 {
		t.Errorf("%d tasks of unknown time, want %d, and all hosts known:\n%s", got, unknown, &stats)
	}
}

// A model is what a job did. It can be written in several formats.
type model struct {
	submit      int64
	name        string
	user, queue string
	failed      bool
	tasks       [2][]modelTask
}

type modelTask struct {
	attempts []modelAttempt
	hosts    []string
	size     int64
}

type modelAttempt struct {
	start, shuffled, finish int64
	success                 bool
}

func drawModel(t *rapid.T) *model {
	m := &model{
		submit: 1e12 + rapid.Int64Range(0, 1000).Draw(t, "submit"),
		name:   rapid.SampledFrom([]string{"", "wc", `say "hi"`, `"}{`, "é"}).Draw(t, "name"),
		user:   rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"),
		queue:  rapid.SampledFrom([]string{"", "q"}).Draw(t, "queue"),
		failed: rapid.Bool().Draw(t, "failed"),
	}
	for class := range m.tasks {
		for range rapid.IntRange(0, 4).Draw(t, "tasks") {
			task := modelTask{size: rapid.Int64Range(-1, 100).Draw(t, "size")}
			if class == 0 {
				task.hosts = rapid.SliceOfN(rapid.SampledFrom([]string{"a.b", "c", "gone"}), 0, 3).Draw(t, "hosts")
			}
			for range rapid.IntRange(0, 3).Draw(t, "attempts") {
				a := modelAttempt{
					start:    m.submit + rapid.Int64Range(0, 99).Draw(t, "start"),
					shuffled: -1,
					success:  rapid.Bool().Draw(t, "success"),
				}
				a.finish = a.start + rapid.Int64Range(-3, 99).Draw(t, "time")
				if class == 1 && a.success && rapid.Bool().Draw(t, "shuffles") {
					a.shuffled = rapid.Int64Range(a.start, max(a.start, a.finish)).Draw(t, "shuffled")
				}
				task.attempts = append(task.attempts, a)
			}
			m.tasks[class] = append(m.tasks[class], task)
		}
	}
	return m
}

// winner returns the first successful attempt of a task to end, or nil.
func (task *modelTask) winner() *modelAttempt {
	var best *modelAttempt
	for i := range task.attempts {
		if a := &task.attempts[i]; a.success && (best == nil || a.finish < best.finish) {
			best = a
		}
	}
	return best
}

// want returns the times of the tasks of each phase in nanoseconds, by the rules of the
// package comment. An empty list is a phase that is left out.
func (m *model) want() (want [2][]int64) {
	lastMap := int64(-1)
	for _, task := range m.tasks[0] {
		if a := task.winner(); a != nil {
			lastMap = max(lastMap, a.finish)
		}
	}
	work := func(class int, a *modelAttempt) int64 {
		switch {
		case a == nil || a.finish < a.start:
			return -1
		case class == 0:
			return (a.finish - a.start) * 1e6
		}
		return max(0, min(a.finish-a.start, a.finish-a.shuffled, a.finish-lastMap)) * 1e6
	}
	for class, tasks := range m.tasks {
		var known, lost []int64
		for _, task := range tasks {
			if d := work(class, task.winner()); d >= 0 {
				known = append(known, d)
			}
			for _, a := range task.attempts {
				if d := work(class, &a); !a.success && d > 0 {
					lost = append(lost, d)
				}
			}
		}
		if len(known) == 0 {
			known = lost
		}
		if len(known) == 0 {
			continue
		}
		sum := int64(0)
		for _, d := range known {
			sum += d
		}
		for _, task := range tasks {
			d := work(class, task.winner())
			if d < 0 {
				d = sum / int64(len(known))
			}
			want[class] = append(want[class], d)
		}
	}
	return want
}

// rumen writes the model as a record of Rumen, with line ends wherever there is
// a space.
func (m *model) rumen(end string) string {
	var phases [2][]string
	for class, tasks := range m.tasks {
		for _, task := range tasks {
			var attempts, places []string
			for _, a := range task.attempts {
				result := map[bool]string{true: "SUCCESS", false: "FAILED"}[a.success]
				read := map[int]string{0: "hdfsBytesRead", 1: "reduceShuffleBytes"}[class]
				attempts = append(attempts, fmt.Sprintf(`{"location": null, "result": %q, "startTime": %d, "finishTime": %d, "shuffleFinished": %d, %q: %d, "clockSplits": [1, -2.5e3]}`,
					result, a.start, a.finish, a.shuffled, read, task.size))
			}
			for _, host := range task.hosts {
				places = append(places, fmt.Sprintf(`{"layers": ["r", %q]}`, strings.ReplaceAll(host, ".", `\.`)))
			}
			phases[class] = append(phases[class], fmt.Sprintf(`{"attempts": [%s], "preferredLocations": [%s], "inputBytes": -1}`,
				strings.Join(attempts, ", "), strings.Join(places, ", ")))
		}
	}
	outcome := map[bool]string{false: "SUCCESS", true: "KILLED"}[m.failed]
	text := fmt.Sprintf(`{"outcome": %q, "jobName": %q, "jobID": "job_1", "user": %q, "queue": %q, "mapTasks": [%s], "reduceTasks": [%s], "otherTasks": [], "submitTime": %d}`,
		outcome, m.name, m.user, m.queue, strings.Join(phases[0], ", "), strings.Join(phases[1], ", "), m.submit)
	return strings.ReplaceAll(text, `": `, `":`+end)
}

// jhist writes the model as a job history.
func (m *model) jhist(end string) string {
	var b strings.Builder
	event := func(kind, format string, args ...any) {
		fmt.Fprintf(&b, `{"type":%q,"event":{"org.apache.Some":{%s}}}`+"\n"+end, kind, fmt.Sprintf(format, args...))
	}
	b.WriteString("Avro-Json" + strings.Repeat("\n", 1+len(end)) + `{"type":"record","fields":[{"name":"x","type":["null","int"]}]}` + "\n")
	event("AM_STARTED", `"startTime":3`)
	event("JOB_SUBMITTED", `"jobid":"job_1","jobName":%q,"userName":%q,"submitTime":%d,"jobQueueName":"other","workflowId":{"string":""}`, m.name, m.user, m.submit)
	event("JOB_QUEUE_CHANGED", `"jobQueueName":{"string":%q}`, m.queue)
	for class, tasks := range m.tasks {
		kind := []string{"MAP", "REDUCE"}[class]
		for i, task := range tasks {
			event("TASK_STARTED", `"taskid":"%s%d","taskType":%q,"startTime":7,"splitLocations":%q`, kind, i, kind, strings.Join(task.hosts, ","))
		}
	}
	for class, tasks := range m.tasks { // attempts end after all tasks have started
		kind := []string{"MAP", "REDUCE"}[class]
		for i, task := range tasks {
			for k, a := range task.attempts {
				event(kind+"_ATTEMPT_STARTED", `"taskid":"%s%d","attemptId":"%s%d.%d","startTime":%d`, kind, i, kind, i, k, a.start)
				ended := map[bool]string{true: "FINISHED", false: "KILLED"}[a.success]
				counter := []string{"HDFS_BYTES_READ", "REDUCE_SHUFFLE_BYTES"}[class]
				counters := fmt.Sprintf(`{"name":"C","groups":[{"name":"G","counts":[{"name":%q,"value":%d}]}]}`, counter, task.size)
				if k%2 == 1 {
					counters = `{"org.apache.hadoop.mapreduce.jobhistory.JhCounters":` + counters + `}`
				}
				event(kind+"_ATTEMPT_"+ended, `"taskid":"%s%d","attemptId":"%s%d.%d","finishTime":%d,"shuffleFinishTime":%d,"counters":%s`,
					kind, i, kind, i, k, a.finish, a.shuffled, counters)
			}
		}
	}
	event(map[bool]string{false: "JOB_FINISHED", true: "JOB_FAILED"}[m.failed], `"jobid":"job_1"`)
	return b.String()
}

// The times, sizes, places and names of a model are the same whichever format tells it,
// and equal those of the oracle.
func TestHadoopRecords(t *testing.T) {
	number := func(host string) sojourn.NodeID { return map[string]sojourn.NodeID{"a.b": 7, "c": 5}[host] }
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		want := m.want()
		end := rapid.SampledFrom([]string{"", "\n", "\r\n"}).Draw(t, "end")
		var left, kept int
		for _, task := range slices.Concat(m.tasks[0], m.tasks[1]) {
			left += len(task.attempts)
			if task.winner() != nil {
				left--
			}
		}
		for format, text := range map[string]string{"rumen": m.rumen(end), "jhist": m.jhist(end)} {
			var stats Stats
			o := ReadOptions{Nodes: number, Stats: &stats}
			read := ReadRumen
			if format == "jhist" {
				read = ReadJHist
			}
			kept = 0
			for j, err := range read(strings.NewReader(text), o) {
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				kept++
				name := m.name
				if name == "" {
					name = "job_1"
				}
				if j.Name != name || j.Pool != m.queue || j.At != 0 || j.ID != 1 {
					t.Fatalf("%s\ngot %+v, want name %q, pool %q, at 0", text, j.Job, name, m.queue)
				}
				phase := 0
				for class, times := range want {
					if len(times) == 0 {
						continue
					}
					p := j.Phases[phase]
					sized := slices.ContainsFunc(m.tasks[class], func(task modelTask) bool { return task.winner() != nil && task.size >= 0 })
					for i, task := range m.tasks[class] {
						if got := j.Times[phase].Of(i); got != time.Duration(times[i]) {
							t.Fatalf("%s: %s\ntask %d of class %d takes %d, want %d", format, text, i, class, got, times[i])
						}
						var nodes []sojourn.NodeID
						for _, host := range task.hosts {
							if id := number(host); id != 0 {
								nodes = append(nodes, id)
							}
						}
						size := int64(0)
						if task.winner() != nil {
							size = max(0, task.size)
						}
						if !slices.Equal(p.Inputs.Of(i), nodes) || (p.Bytes != nil) != sized || sized && p.Bytes[i] != size {
							t.Fatalf("%s: %s\ntask %d of class %d: inputs %v, bytes %v, want %v, %d", format, text, i, class, p.Inputs.Of(i), p.Bytes, nodes, size)
						}
					}
					phase++
				}
				if phase != len(j.Phases) {
					t.Fatalf("%s: %s\n%d phases, want %d", format, text, len(j.Phases), phase)
				}
			}
			if empty := len(want[0])+len(want[1]) == 0; empty != (kept == 0) || stats.counts[jobsWithoutTimes] != int64(1-kept) {
				t.Fatalf("%s: %s\n%d jobs, want times %v:\n%s", format, text, kept, want, &stats)
			}
			if got := stats.counts[attemptsLeftOut]; got != int64(left) {
				t.Fatalf("%s: %s\n%d attempts left out, want %d", format, text, got, left)
			}
		}
	})
}

// After k jobs were read, all have been passed on except for a window of the latest to
// arrive. No later job may arrive before those that were passed on.
func TestJobsComeInTheOrderOfArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		submits := rapid.SliceOfN(rapid.Int64Range(0, 20), 0, 12).Draw(t, "submits")
		window := rapid.IntRange(1, 5).Draw(t, "window")
		bad := -1 // the first job that arrives too late
		for k, at := range submits {
			if left := k - window; left > 0 {
				before := slices.Sorted(slices.Values(submits[:k]))
				if at < before[left-1] {
					bad = k
					break
				}
			}
		}
		var text strings.Builder
		for k, at := range submits {
			fmt.Fprintf(&text, `{"jobID":"j%d","mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":0,"finishTime":1}]}],`+"\n"+`"submitTime":%d}`, k, 1000+at)
		}
		good := submits
		if bad >= 0 {
			good = submits[:bad]
		}
		want := make([]int, len(good)) // places in the file, in the order of arrival
		for i := range want {
			want[i] = i
		}
		sort.SliceStable(want, func(a, b int) bool { return good[want[a]] < good[want[b]] })

		var got []int
		var failure error
		for j, err := range ReadRumen(strings.NewReader(text.String()), ReadOptions{Window: window}) {
			if failure = err; err != nil {
				break
			}
			k, _ := strconv.Atoi(j.Name[1:])
			if at := sojourn.Time((submits[k] - good[want[0]]) * 1e6); j.At != at || j.ID != sojourn.JobID(len(got)+1) {
				t.Fatalf("submits %v, window %d: job %d arrives at %v with ID %d, want %v, %d", submits, window, k, j.At, j.ID, at, len(got)+1)
			}
			got = append(got, k)
		}
		if !slices.Equal(got, want) || (failure != nil) != (bad >= 0) {
			t.Fatalf("submits %v, window %d: order %v, error %v, want %v, error at %d", submits, window, got, failure, want, bad)
		}
		if e, ok := failure.(*Error); failure != nil && (!ok || e.Line != bad+2 || e.Column != 14) {
			t.Fatalf("error %v, want one at %d:14", failure, bad+2)
		}
	})
}

// samples hold made-up traces of two jobs each, without faults.
var samples = []struct {
	name string
	read reader
	text string
}{
	{"rumen", readRumen, rumenSample},
	{"sls", readSLS, slsSample},
	{"jhist", readJHist, jhistSample + jhistSample},
	{"swf", readSWF, "; Version: 2.2\n" + swfLine + swfLine},
}

// A trace that is cut off gives an error at a place inside it, or its complete jobs have
// all that they should.
func TestTruncatedTraces(t *testing.T) {
	step := 1
	if !thorough {
		step = 4
	}
	for _, s := range samples {
		for n := 0; n < len(s.text); n += step {
			text := s.text[:n]
			jobs, err := collect(t, s.read(strings.NewReader(text), limits{}, nil))
			if err == nil {
				if rest := strings.TrimSpace(text); len(jobs) == 0 && rest != "" && !strings.HasPrefix(rest, ";") {
					t.Errorf("%s: %q: no job and no error", s.name, text)
				}
				// A history may go on after the job has ended.
				if len(jobs) > 1 && n < len(s.text)-2 && s.name != "jhist" {
					t.Errorf("%s: %q: %d jobs", s.name, text, len(jobs))
				}
				continue
			}
			checkPlace(t, []byte(text), err)
		}
		jobs, err := collect(t, s.read(strings.NewReader(s.text), limits{}, nil))
		if len(jobs) != 2 || err != nil {
			t.Errorf("%s: %d jobs, error %v, want 2 jobs", s.name, len(jobs), err)
		}
	}
}

func TestTracesFromGzip(t *testing.T) {
	for _, s := range samples {
		plain, err := collect(t, s.read(strings.NewReader(s.text), limits{}, nil))
		if err != nil {
			t.Fatal(err)
		}
		whole := zip(t, s.text)
		jobs, err := collect(t, s.read(iotest.OneByteReader(bytes.NewReader(whole)), limits{}, nil))
		if err != nil || !reflect.DeepEqual(jobs, plain) {
			t.Errorf("%s: %d jobs, error %v, want those of the plain text", s.name, len(jobs), err)
		}
		_, err = collect(t, s.read(bytes.NewReader(whole[:len(whole)-8]), limits{}, nil))
		if e, ok := err.(*Error); !ok || !strings.Contains(e.Reason, "gzip data: unexpected EOF") {
			t.Errorf("%s: truncated gzip data: error %v", s.name, err)
		}
		bomb := zip(t, s.text+strings.Repeat("\n", 1<<20))
		_, err = collect(t, s.read(bytes.NewReader(bomb), limits{bytes: 1 << 16}, nil))
		if e, ok := err.(*Error); !ok || !strings.Contains(e.Reason, "more than 65536 bytes of text") {
			t.Errorf("%s: a bomb: error %v", s.name, err)
		}
		r := &failing{strings.NewReader(s.text), io.ErrClosedPipe}
		if _, err = collect(t, s.read(r, limits{}, nil)); err == nil || !strings.Contains(err.Error(), "closed pipe") {
			t.Errorf("%s: a reader that fails: error %v", s.name, err)
		}
	}
}

// A consumer may stop at any point.
func TestTracesStopEarly(t *testing.T) {
	for _, s := range samples {
		n := 0
		for _, err := range s.read(strings.NewReader(s.text+s.text), limits{}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: %d jobs before the stop, want 1", s.name, n)
		}
	}
}

func TestHadoopOptionsOutOfRange(t *testing.T) {
	for _, o := range []ReadOptions{{Window: -1}, {Pool: PoolGroup}, {Pool: PoolNone + 1}} {
		jobs, err := collect(t, ReadRumen(strings.NewReader(rumenSample), o))
		if err == nil || len(jobs) > 0 || !strings.HasPrefix(err.Error(), "trace: options: ") {
			t.Errorf("%+v: %d jobs, error %v, want an error of the options", o, len(jobs), err)
		}
	}
}
