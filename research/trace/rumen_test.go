package trace

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Two records, pretty-printed, with nothing between them. In the first, map 0 takes from
// 1000 to 3000 in its second attempt, and map 1 failed: 2 s each. The reduce has its
// input at 4500, when the last map has ended, and ends at 5000. The second record has no
// successful attempt. A failed one took 700 ms.
const rumenSample = `{
  "jobID" : "job_1",
  "user" : "ann\\.b",
  "queue" : "etl",
  "submitTime" : 1000000000500,
  "outcome" : "SUCCESS",
  "totalMaps" : 2, "totalReduces" : 2, "priority" : "NORMAL", "relativeTime" : 0.5e1,
  "mapTasks" : [ {
    "taskID" : "m_0", "inputBytes" : 70,
    "attempts" : [ { "result" : "KILLED", "startTime" : 1000000000900, "finishTime" : 1000000001200, "hostName" : null },
      { "result" : "SUCCESS", "startTime" : 1000000001000, "finishTime" : 1000000003000, "hdfsBytesRead" : 69 } ],
    "preferredLocations" : [ { "layers" : [ "r1", "n1\\.x" ] }, { "layers" : [ "r2", "n2" ] } ]
  }, {
    "taskID" : "m_1", "inputBytes" : -1, "attempts" : [ ], "preferredLocations" : [ { "layers" : [ "r1", "gone" ] } ]
  } ],
  "reduceTasks" : [ {
    "attempts" : [ { "result" : "SUCCEEDED", "startTime" : 1000000002000, "shuffleFinished" : 1000000004500,
      "finishTime" : 1000000005000, "reduceShuffleBytes" : 9 } ], "preferredLocations" : null, "inputBytes" : -1
  } ],
  "otherTasks" : [ { "taskType" : "SETUP", "attempts" : [ ] } ]
}{"jobID":"job_2","jobName":"wc","submitTime":1000000002500,"outcome":"FAILED","mapTasks":[{"attempts":[
{"result":"FAILED","startTime":1000000003000,"finishTime":1000000003700}]}],"reduceTasks":[]}
`

func TestRumenSample(t *testing.T) {
	nodes := map[string]sojourn.NodeID{"n1.x": 4, "n2": 2}
	var stats Stats
	jobs, err := collect(t, ReadRumen(strings.NewReader(rumenSample), ReadOptions{
		Nodes: func(host string) sojourn.NodeID { return nodes[host] }, Stats: &stats,
	}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":1,"name":"job_1","at":0,"pool":"etl","phases":[` +
		`{"class":"map","tasks":2,"time":[2,2],"bytes":[70,0],"nodes":[["n4","n2"],[]]},{"class":"reduce","tasks":1,"time":[0.5],"bytes":9}]}` + "\n" +
		`{"id":2,"name":"wc","at":2,"phases":[{"class":"map","tasks":1,"time":[0.7]}]}` + "\n"
	if got := write(t, jobs); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	const wantStats = `jobs: 2
tasks: 4
jobs kept, failed or killed: 1
tasks left out, announced but not recorded: 1
tasks left out, neither map nor reduce: 1
tasks without a known time, given the mean of their phase: 1
tasks without a known time, given the mean of unsuccessful attempts in their phase: 1
tasks without a known size of their input, 0 bytes: 1
attempts left out, unsuccessful or one success too many: 2
places of input left out, node unknown: 1
`
	if got := stats.String(); got != wantStats {
		t.Errorf("stats:\n%s\nwant\n%s", got, wantStats)
	}

	stats = Stats{}
	jobs, err = collect(t, ReadRumen(strings.NewReader(rumenSample), ReadOptions{Pool: PoolUser, OnlySuccessful: true, Stats: &stats}))
	if err != nil || len(jobs) != 1 || jobs[0].Pool != "ann.b" || stats.counts[jobsNotSuccessful] != 1 {
		t.Errorf("by user, successful: %s, error %v, want one job of ann.b\n%s", write(t, jobs), err, &stats)
	}
	if got := jobs[0].Phases[0].Inputs.Of(1); len(got) != 1 || got[0] != 3 {
		t.Errorf("without names of nodes, the third host is %v, want 3", got)
	}
}

// A reduce that ended before the last map only waited. If two attempts were successful,
// the one that ended first counts.
func TestRumenOddTimes(t *testing.T) {
	for _, tc := range []struct {
		tasks string
		times []time.Duration // of all tasks
		what  remark
		n     int64
	}{
		{`"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":10,"finishTime":30}]}],` +
			`"reduceTasks":[{"attempts":[{"result":"SUCCESS","startTime":10,"finishTime":25}]}]`,
			[]time.Duration{20, 0}, reducesEarly, 1},
		{`"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":10,"finishTime":30},{"result":"SUCCESS","startTime":12,"finishTime":19},` +
			`{"result":"SUCCESS","startTime":1,"finishTime":20}]}]`, []time.Duration{7}, attemptsLeftOut, 2},
		{`"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":40,"finishTime":30}]},{"attempts":[{"result":"SUCCESS","startTime":3,"finishTime":9}]}]`,
			[]time.Duration{6, 6}, attemptsBackward, 1},
		{`"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":-1,"finishTime":30}]},{"attempts":[{"result":"SUCCESS","startTime":3,"finishTime":9}]}]`,
			[]time.Duration{6, 6}, tasksMean, 1},
		{`"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":3,"finishTime":9}]}],"reduceTasks":[{},{"attempts":[]}]`,
			[]time.Duration{6}, tasksWithoutTimes, 2},
		{`"mapTasks":[{}]`, nil, jobsWithoutTimes, 1},
		{`"mapTasks":null`, nil, jobsWithoutTimes, 1},
	} {
		var stats Stats
		text := `{"jobID":"j","submitTime":5,` + tc.tasks + `}`
		jobs, err := collect(t, readRumen(strings.NewReader(text), limits{}, &stats))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []time.Duration
		for _, j := range jobs {
			for _, times := range j.Times {
				got = append(got, times.List...)
			}
		}
		for i := range tc.times {
			tc.times[i] *= time.Millisecond
		}
		if len(got) != len(tc.times) || stats.counts[tc.what] != tc.n {
			t.Errorf("%s: times %v, want %v, and %q: %d:\n%s", text, got, tc.times, remarkTexts[tc.what], tc.n, &stats)
			continue
		}
		for i := range got {
			if got[i] != tc.times[i] {
				t.Errorf("%s: times %v, want %v", text, got, tc.times)
			}
		}
	}

	var stats Stats
	jobs, err := collect(t, readRumen(strings.NewReader(`{"jobID":"j","submitTime":-1}`), limits{}, &stats))
	if len(jobs) != 0 || err != nil || stats.counts[jobsWithoutSubmit] != 1 {
		t.Errorf("without a submission: %d jobs, error %v, want none, counted:\n%s", len(jobs), err, &stats)
	}
}

// A mark ^ stands where the fault is.
func TestRumenFaults(t *testing.T) {
	good := strings.TrimSpace(rumenSample)
	for _, tc := range []struct{ marked, reason string }{
		{good + "\n ^[]", "want a JSON object, found '['"},
		{good + "^x", "want a JSON object, found 'x'"},
		{good + "^,{}", "want a JSON object, found ','"},
		{good + "\n{\"jobID\":\"a\"^", "it ends too early"},
		{good + "\n{\"jobID\":\n\"a^", "it ends too early"},
		{good + "{\"jobID\":\"a^\nb\"}", "invalid character '\\n' in string literal"},
		{good + "{\"jobID\":[1^}", "invalid character '}'"},
		{good + "{\n\"jobID\":n^il}", "invalid character 'i' in literal null"},
		{good + "{\n\"jobID\":\"^\xff\"}", "invalid UTF-8"},
		{good + "^{}", `missing key "jobID"`},
		{"\n ^{\"jobID\":null}", `missing key "jobID"`},
		{`{"jobID":^1}`, "want a string, found a number"},
		{`{"jobID":"a",^"jobID":"b"}`, `duplicate key "jobID"`},
		{`{"other":1,"other":[{"x":"}"}],"jobID":"a","submitTime":^"1"}`, "want a number, found a string"},
		{`{"jobID":"a","submitTime":^1.5}`, "want an integer below 2^63, found 1.5"},
		{`{"jobID":"a","submitTime":^9223372036854775808}`, "want an integer below 2^63"},
		{`{"jobID":"a","submitTime":^9223372036855}`, "time of submission is out of range"},
		{`{"jobID":"a","mapTasks":^{}}`, "want a list, found an object"},
		{`{"jobID":"a","mapTasks":[^1]}`, "want an object, found a number"},
		{`{"jobID":"a","mapTasks":[{"attempts":[^[]]}]}`, "want an object, found a list"},
		{`{"jobID":"a","mapTasks":[{"preferredLocations":[{"layers":[^1]}]}]}`, "want a string, found a number"},
		{`{"jobID":"a","submitTime":^1,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":0,"finishTime":9223372036854775807}]}]}`,
			"the sum of the times of the job's tasks is out of range"},
		{`{"jobID":"a","submitTime":^1,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":0,"finishTime":9223372036854}]},` +
			`{"attempts":[{"result":"SUCCESS","startTime":0,"finishTime":1}]}]}`, "the sum of the times of the job's tasks is out of range"},
		{`{"jobID":"a","submitTime":^1,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":0,"finishTime":18446744073710}]}]}`,
			"the sum of the times of the job's tasks is out of range"}, // 2^64 ns and a little
		{`{"jobID":"a","submitTime":^1,"mapTasks":[{"attempts":[` + strings.Repeat(`{"startTime":0,"finishTime":9223372036854},`, 2) +
			`{"startTime":0,"finishTime":9223372036854}]}]}`, "the sum of the times of the job's tasks is out of range"},
		{`{"jobID":"a","submitTime":^1,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":0,"finishTime":5000000000000}]}],` +
			`"reduceTasks":[{"attempts":[{"result":"SUCCESS","startTime":5000000000000,"finishTime":9999999999999}]}]}`,
			"the sum of the times of the job's tasks is out of range"},
		{"{\"jobID\":\"a^\n" + strings.Repeat("x", 2<<20), "invalid character '\\n' in string literal"},
		// The mean of one task of 5e9 s, given to another.
		{`{"jobID":"a","submitTime":^1,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":0,"finishTime":5000000000000}]},{}]}`,
			"the sum of the times of the job's tasks is out of range"},
	} {
		text, line, column := cut(t, tc.marked)
		jobs, err := collect(t, ReadRumen(strings.NewReader(text), ReadOptions{File: "r.json"}))
		checkError(t, text, err, "r.json", line, column, tc.reason)
		if want := 2 * strings.Count(text, good); len(jobs) != want {
			t.Errorf("%q: %d jobs before the error, want %d", text, len(jobs), want)
		}
	}
}

// An input that exceeds a limit is an error, and an input that reaches it is none.
func TestLimitsOfObjects(t *testing.T) {
	const whole = `{"jobID":"a","x":[[]],"mapTasks":[{},{}],"s":"1234567\\"}`
	for _, tc := range []struct {
		name   string
		limits limits
		marked string
		reason string
	}{
		{"reached", limits{line: len(whole), depth: 3, text: 9, tasks: 2}, "", ""},
		{"object", limits{line: len(whole) - 1}, whole[:len(whole)-1] + "^}", "object is longer than 56 bytes"},
		{"depth", limits{depth: 2}, strings.Replace(whole, "[[", "[^[", 1), "nested deeper than 2"},
		{"string", limits{text: 8}, strings.Replace(whole, `7\\`, `7\^\`, 1), "string is longer than 8 bytes"},
		{"tasks", limits{tasks: 1}, strings.Replace(whole, `,{}`, `,^{}`, 1), "more than 1 tasks in a job"},
	} {
		text, line, column := whole, 0, 0
		if tc.reason != "" {
			text, line, column = cut(t, tc.marked)
		}
		_, err := collect(t, readRumen(strings.NewReader(text), tc.limits, nil))
		if tc.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		checkError(t, tc.name, err, "-", line, column, tc.reason)
	}

	// The default limits stop input that never ends.
	for _, tc := range []struct {
		name, start string
		rest        endless
		column      int
		reason      string
	}{
		{"depth", `{"a":`, '[', 69, "lists and objects are nested deeper than 64"},
		{"string", `{"a":"`, 'x', 6 + 1<<20 + 1, "string is longer than 1048576 bytes"},
		{"object", `{"a":`, ' ', 64<<20 + 1, "object is longer than 67108864 bytes"},
	} {
		if tc.name == "object" && !thorough {
			continue // 64 MiB, byte by byte
		}
		_, err := collect(t, readSLS(io.MultiReader(strings.NewReader(tc.start), tc.rest), limits{}, nil))
		checkError(t, tc.name, err, "-", 1, tc.column, tc.reason)
	}
	_, err := collect(t, readRumen(endless('\n'), limits{bytes: 1000}, nil))
	checkError(t, "white space without end", err, "-", 1001, 1, "more than 1000 bytes of text")
	_, err = collect(t, readJHist(strings.NewReader("Avro-Json\n{}\n"+strings.Repeat("[", 99)), limits{}, nil))
	checkError(t, "depth of an event", err, "-", 3, 65, "lists and objects are nested deeper than 64")
}

// A record of each format of the simulator: its own, and Rumen's. Two maps of 2 and 3 s
// end at 13 s. A reduce from 12 to 15 s works 2 s. A reduce of 4 s has only a duration,
// so no wait is taken from it.
const slsSample = `{
  "am.type": "mapreduce", "job.start.ms": 1000, "job.end.ms": 95375, "job.queue.name": "q1", "job.id": "j1", "job.user": "ann", "job.count": 1,
  "job.tasks": [
    {"container.host": "/r/n1", "container.start.ms": 10000, "container.end.ms": 12000, "container.priority": 20, "container.type": "map"},
    {"container.type": "map", "container.start.ms": 10000, "container.end.ms": 13000, "count": 1},
    {"container.type": "reduce", "container.start.ms": 12000, "container.end.ms": 15000}
  ]
}
{"jobID":"j2","submitTime":3000,"queue":"q2","mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":0,"finishTime":7}]}]}
`

func TestSLSSample(t *testing.T) {
	var stats Stats
	jobs, err := collect(t, readSLS(strings.NewReader(slsSample), limits{}, &stats))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":1,"name":"j1","at":0,"pool":"q1","phases":[{"class":"map","tasks":2,"time":[2,3]},{"class":"reduce","tasks":1,"time":[2]}]}` + "\n" +
		`{"id":2,"name":"j2","at":2,"pool":"q2","phases":[{"class":"map","tasks":1,"time":[0.007]}]}` + "\n"
	if got := write(t, jobs); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := maps.Collect(stats.Counts()); len(got) != 0 {
		t.Errorf("counts %v, want none", got)
	}

	const durations = `{"job.id":"j","job.start.ms":0,"job.tasks":[{"container.type":"map","duration.ms":2000},{"container.type":"map","duration.ms":500}]}`
	jobs, err = collect(t, readSLS(strings.NewReader(durations), limits{}, nil))
	if err != nil || len(jobs) != 1 || jobs[0].Times[0].Total(2) != 2500*time.Millisecond {
		t.Errorf("%s: %s, error %v, want 2 and 0.5 s", durations, write(t, jobs), err)
	}
}

func TestSLSFaults(t *testing.T) {
	for _, tc := range []struct{ marked, reason string }{
		{"^{}", `missing key "job.id" or "jobID"`},
		{`{"job.id":"a","job.count":^2}`, `"job.count" other than 1 is not supported`},
		{`{"job.id":"a","job.tasks":[{"count":^0}]}`, `"count" other than 1 is not supported`},
		{`{"job.id":"a","job.tasks":[^{}]}`, `missing key "container.type"`},
		{`{"job.id":"a","job.tasks":[{"container.type":^"am"}]}`, `want "map" or "reduce", found "am"`},
		{slsSample + `{"job.id":"a","job.start.ms":^1e3}`, "want an integer below 2^63, found 1e3"},
	} {
		text, line, column := cut(t, tc.marked)
		_, err := collect(t, ReadSLS(strings.NewReader(text), ReadOptions{File: "s.json"}))
		checkError(t, text, err, "s.json", line, column, tc.reason)
	}
	text := `{"job.id":"a","job.start.ms":0,"job.tasks":[{"container.type":"map","duration.ms":1},^{"container.type":"map"}]}`
	text, line, column := cut(t, text)
	_, err := collect(t, readSLS(strings.NewReader(text), limits{tasks: 1}, nil))
	checkError(t, text, err, "-", line, column, "more than 1 tasks in a job")
}

func TestNamesAreUnescaped(t *testing.T) {
	for name, want := range map[string]string{`a\.b`: "a.b", `a.b`: "a.b", `\\x\.`: `\x.`, `end\`: `end\`, "": ""} {
		if got := unescape(name); got != want {
			t.Errorf("unescape(%q) = %q, want %q", name, got, want)
		}
	}
}

// The arrival of a job may be as late as a time can be.
func TestRumenLastInstant(t *testing.T) {
	const task = `"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":0,"finishTime":1}]}]}`
	text := `{"jobID":"a","submitTime":9223372036854,` + task + `{"jobID":"b","submitTime":0,` + task
	jobs, err := collect(t, readRumen(strings.NewReader(text), limits{}, nil))
	if err != nil || len(jobs) != 2 || jobs[1].At != sojourn.Time(9223372036854*time.Millisecond) {
		t.Errorf("%s: %s, error %v", text, write(t, jobs), err)
	}
}

// The times of a job add up to at most 2^63-1 ns, and this sum is allowed. Milliseconds
// alone cannot add up to it. The means of 23 maps, given to 9, and of 32 reduces, given
// to one, end in other digits.
func TestRumenGreatestSum(t *testing.T) {
	const maps, reduces = 6629298651373, 157 // milliseconds of all known ones
	tasks := func(known, unknown int, begin, sum int64) string {
		list := []string{fmt.Sprintf(`{"attempts":[{"result":"SUCCESS","startTime":%d,"finishTime":%d}]}`, begin, begin+sum-int64(known-1))}
		for range known - 1 {
			list = append(list, fmt.Sprintf(`{"attempts":[{"result":"SUCCESS","startTime":%d,"finishTime":%d}]}`, begin, begin+1))
		}
		return strings.Join(append(list, slices.Repeat([]string{"{}"}, unknown)...), ",")
	}
	for late, good := range []bool{true, false} {
		text := fmt.Sprintf(`{"jobID":"a","submitTime":0,"mapTasks":[%s],"reduceTasks":[%s]}`,
			tasks(23, 9, 0, maps), tasks(32, 1, maps, reduces+int64(late)))
		jobs, err := collect(t, readRumen(strings.NewReader(text), limits{}, nil))
		switch {
		case !good && err == nil:
			t.Errorf("a sum above 2^63-1 ns is no fault")
		case good && err != nil:
			t.Errorf("a sum of 2^63-1 ns: error %v", err)
		case good:
			if sum := jobs[0].Times[0].Total(32) + jobs[0].Times[1].Total(33); sum != math.MaxInt64 {
				t.Errorf("the times add up to %d ns, want 2^63-1", sum)
			}
		}
	}
}
