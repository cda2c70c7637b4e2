package trace

import (
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// Map 0 fails and then takes 2 s. The start of the attempt at map 1 is missing, so its
// time counts from the start of the task: 4 s. The reduce has its input at 8 s and ends
// at 9 s.
const jhistSample = `Avro-Json
{"type":"record","name":"Event","fields":[{"name":"type","type":{"type":"enum","symbols":["JOB_SUBMITTED"]}}]}
{"type":"AM_STARTED","event":{"org.apache.hadoop.mapreduce.jobhistory.AMStarted":{"startTime":1}}}

{"event":{"org.apache.J":{"jobid":"job_1","jobName":"wc","userName":"ann","submitTime":1000000001000,"acls":{},"jobQueueName":"etl"}},"type":"JOB_SUBMITTED"}
{"type":"JOB_INITED","event":{"J":{"jobid":"job_1","launchTime":1000000001500,"totalMaps":2,"totalReduces":2}}}
{"type":"TASK_STARTED","event":{"T":{"taskid":"s","taskType":"JOB_SETUP","startTime":1000000001600,"splitLocations":""}}}
{"type":"SETUP_ATTEMPT_FINISHED","event":{"T":{"taskid":"s","taskType":"JOB_SETUP","finishTime":1000000001700}}}
{"type":"TASK_STARTED","event":{"T":{"taskid":"m0","taskType":"MAP","startTime":1000000002000,"splitLocations":"n1,/r/n2"}}}
{"type":"TASK_STARTED","event":{"T":{"taskid":"m1","taskType":"MAP","startTime":1000000002000,"splitLocations":""}}}
{"type":"TASK_STARTED","event":{"T":{"taskid":"r0","taskType":"REDUCE","startTime":1000000002000,"splitLocations":""}}}
{"type":"MAP_ATTEMPT_STARTED","event":{"T":{"taskid":"m0","taskType":"MAP","attemptId":"m0.0","startTime":1000000002000,"locality":{"string":"x"}}}}
{"type":"MAP_ATTEMPT_FAILED","event":{"T":{"taskid":"m0","attemptId":"m0.0","finishTime":1000000003000,"status":"FAILED","error":"{\"[\n"}}}
{"type":"MAP_ATTEMPT_STARTED","event":{"T":{"taskid":"m0","attemptId":"m0.1","startTime":1000000004000}}}
{"type":"MAP_ATTEMPT_FINISHED","event":{"T":{"taskid":"m0","attemptId":"m0.1","finishTime":1000000006000,"counters":{"name":"C","groups":[{"name":"G","counts":[{"name":"X","value":1},{"name":"HDFS_BYTES_READ","value":70}]}]}}}}
{"type":"MAP_ATTEMPT_FINISHED","event":{"T":{"taskid":"m1","attemptId":"m1.0","finishTime":1000000006000}}}
{"type":"REDUCE_ATTEMPT_STARTED","event":{"T":{"taskid":"r0","attemptId":"r0.0","startTime":1000000003000}}}
{"type":"REDUCE_ATTEMPT_FINISHED","event":{"T":{"taskid":"r0","attemptId":"r0.0","shuffleFinishTime":1000000008000,"finishTime":1000000009000}}}
{"type":"JOB_FINISHED","event":{"J":{"jobid":"job_1","finishTime":1000000009500}}}
{"type":"MAP_ATTEMPT_FAILED","event":{"T":{"taskid":"m9","attemptId":"m9.0","finishTime":1000000009900}}}
`

func TestJHistSample(t *testing.T) {
	second := strings.ReplaceAll(strings.ReplaceAll(jhistSample, "JOB_FINISHED", "JOB_KILLED"), "1000000001000", "1000000000500")
	var stats Stats
	nodes := map[string]sojourn.NodeID{"n1": 1, "n2": 2}
	jobs, err := collect(t, ReadJHist(strings.NewReader(jhistSample+second), ReadOptions{
		Nodes: func(host string) sojourn.NodeID { return nodes[host] }, Stats: &stats,
	}))
	if err != nil {
		t.Fatal(err)
	}
	const phases = `"pool":"etl","phases":[{"class":"map","tasks":2,"time":[2,4],"bytes":[70,0],"nodes":[["n1","n2"],[]]},{"class":"reduce","tasks":1,"time":[1]}]}` + "\n"
	const want = `{"id":1,"name":"wc","at":0,` + phases + `{"id":2,"name":"wc","at":0.5,` + phases
	if got := write(t, jobs); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	const wantStats = `jobs: 2
tasks: 6
jobs kept, failed or killed: 1
tasks left out, announced but not recorded: 2
tasks left out, neither map nor reduce: 2
tasks without a known size of their input, 0 bytes: 2
attempts left out, unsuccessful or one success too many: 2
events left out, of tasks that were not started: 2
`
	if got := stats.String(); got != wantStats {
		t.Errorf("stats:\n%s\nwant\n%s", got, wantStats)
	}
}

// A mark ^ stands where the fault is.
func TestJHistFaults(t *testing.T) {
	const start = "Avro-Json\n{}\n"
	const submit = `{"type":"JOB_SUBMITTED","event":{"J":{"jobid":"j","submitTime":1}}}` + "\n"
	const end = `{"type":"JOB_FINISHED","event":{"J":{}}}` + "\n"
	for _, tc := range []struct{ marked, reason string }{
		{"^Avro-Binary\n", `want "Avro-Json", found "Avro-Binary"`},
		{"^Avro-Json               2\n{}\n", `want "Avro-Json", found "Avro-Json `},
		{"\n^{}\n", `want "Avro-Json", found "{}"`},
		{"^" + strings.Repeat("x", 100), `found "` + strings.Repeat("x", 40) + `..."`},
		{"Avro-Json\n^[]", "want an object, found a list"},
		{"Avro-Json^", "the history ends before JOB_FINISHED, JOB_FAILED or JOB_KILLED"},
		{start + submit + "\n ^", "the history ends before"},
		{jhistSample + start + submit[:len(submit)-1] + "^\n" + jhistSample, "the history ends before"},
		{start + end[:len(end)-1] + "^", "no JOB_SUBMITTED in the history"},
		{jhistSample + start + submit + `{"type":"JOB_FINI^`, "it ends too early"},
		{start + `^{"type":"JOB_FINISHED"}`, `want an event, with "type" and "event"`},
		{start + `^{"event":{}}`, `want an event`},
		{start + `{"type":"X","event":^[]}`, "want an object, found a list"},
		{start + `{"type":"X","event":^{}}`, "want an object of one key"},
		{start + `{"type":"X","event":^{"a":{},"b":{}}}`, "want an object of one key"},
		{start + `{"type":"X","event":{"a":^1}}`, "want an object, found a number"},
		{start + `{"type":"X","event":{"J":{"submitTime":^"1"}}}`, "want a number, found a string"},
		{start + `{"type":"X","event":{"J":{"submitTime":{"long":^true}}}}`, "want a number, found true"},
		{start + `{"type":"X","event":{"J":{"counters":{"groups":^1}}}}`, "want a list, found a number"},
		{start + `^{"type":"TASK_STARTED","event":{"J":{}}}`, `missing key "taskid"`},
		{start + `{"type":"X","event":{"J":{"jobid":"a",^"jobid":"a"}}}`, `duplicate key "jobid"`},
		{start + `{"type":"X","event":{}}^x`, "invalid character 'x' after top-level value"},
		{start + `{"type":"JOB_SUBMITTED","event":{"J":{"jobid":"j","submitTime":^9223372036855}}}` + "\n" + end,
			"time of submission is out of range"},
	} {
		text, line, column := cut(t, tc.marked)
		jobs, err := collect(t, ReadJHist(strings.NewReader(text), ReadOptions{File: "h.jhist"}))
		checkError(t, text, err, "h.jhist", line, column, tc.reason)
		want := 0
		if strings.HasPrefix(text, jhistSample) {
			want = 1
		}
		if len(jobs) != want {
			t.Errorf("%q: %d jobs before the error, want %d", text, len(jobs), want)
		}
	}
	text, line, column := cut(t, start+submit+`{"type":"TASK_STARTED","event":{"T":{"taskid":"a","taskType":"MAP"}}}`+"\n"+
		`^{"type":"TASK_STARTED","event":{"T":{"taskid":"b","taskType":"MAP"}}}`)
	_, err := collect(t, readJHist(strings.NewReader(text), limits{tasks: 1}, nil))
	checkError(t, text, err, "-", line, column, "more than 1 tasks in a job")
}

// A job that is restarted tells its tasks again.
func TestJHistTasksToldTwice(t *testing.T) {
	const started = `{"type":"TASK_STARTED","event":{"T":{"taskid":"m1","taskType":"MAP","startTime":1000000002000,"splitLocations":""}}}` + "\n"
	text := strings.Replace(jhistSample, started, started+started, 1)
	jobs, err := collect(t, readJHist(strings.NewReader(text), limits{}, nil))
	if err != nil || len(jobs) != 1 || jobs[0].Phases[0].Tasks != 2 {
		t.Errorf("%s: error %v, want a job of 2 maps", write(t, jobs), err)
	}
}
