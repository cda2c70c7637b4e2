package convert

import (
	"os"
	"strings"
	"testing"
)

// Logs as others have them are read whole: want has all jobs, and notes are among the messages.
func TestLogsOfOthers(t *testing.T) {
	const requeued = `JobID|JobName|Partition|AllocCPUS|State|Submit|Start|End|Elapsed|Timelimit
100|train|gpu|4|NODE_FAIL|2026-03-01T10:00:00|2026-03-01T10:01:00|2026-03-01T10:11:00|00:10:00|1-00:00:00
100|train|gpu|4|REQUEUED|2026-03-01T10:11:00|2026-03-01T10:20:00|2026-03-01T10:30:00|00:10:00|1-00:00:00
100|train|gpu|4|COMPLETED|2026-03-01T10:32:00|2026-03-01T10:33:00|2026-03-01T11:33:00|01:00:00|1-00:00:00
100.extern|extern||4|COMPLETED|2026-03-01T10:33:00|2026-03-01T10:33:00|2026-03-01T11:33:00|01:00:00|
200_[5-10%2]|arr|cpu|0|PENDING|2026-03-01T10:00:00|Unknown|Unknown|00:00:00|Partition_Limit
200_1|arr|cpu|1|TIMEOUT|2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T10:05:05|00:05:00|UNLIMITED
300+0|het|cpu|2|COMPLETED|2026-03-01T10:00:00|2026-03-01T10:01:00|2026-03-01T10:02:00|00:01:00|01:00:00
300+1|het|gpu|8|COMPLETED|2026-03-01T10:00:00|2026-03-01T10:01:00|2026-03-01T10:02:00|00:01:00|01:00:00
300+1.0|step||8|COMPLETED|2026-03-01T10:01:00|2026-03-01T10:01:00|2026-03-01T10:02:00|00:01:00|
400|gone|cpu|1|CANCELLED by 1000|2026-03-01T10:00:00|None|2026-03-01T10:02:00|00:00:00|01:00:00
`
	const rerun = `03/01/2026 10:12:00;R;13.srv;user=bob jobname=r queue=q ctime=1772359200 qtime=1772359200 start=1772359260 Resource_List.ncpus=1 end=1772359860 resources_used.walltime=00:10:00
03/01/2026 10:20:00;E;13.srv;user=bob jobname=r queue=q ctime=1772359200 qtime=1772359900 start=1772359960 Resource_List.ncpus=1 end=1772360260 resources_used.walltime=00:05:00 run_count=2
03/01/2026 10:21:00;L;license;floating license hour:3 day:3
03/01/2026 10:22:00;E;16[3].srv;user=bob jobname=a b queue=q qtime=1772359900 start=1772359960 Resource_List.ncpus=2 end=1772359970 resources_used.walltime=00:00:10
03/01/2026 10:22:00;E;16[].srv;user=bob jobname=a b queue=q qtime=1772359900 start=1772359960 Resource_List.ncpus=2 end=1772359970 resources_used.walltime=00:00:10
`
	spark, err := os.ReadFile("testdata/spark.log")
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := os.ReadFile("testdata/spark.log.want")
	if err != nil {
		t.Fatal(err)
	}
	_, jobs, _ := strings.Cut(string(wanted), "{")
	jobs = "{" + jobs
	lines := strings.SplitAfter(string(spark), "\n")
	const github = `{"total_count":2,"jobs":[{"id":ID,"workflow_name":"CI","name":"test (1, 2)","status":"completed","conclusion":"success","created_at":"2026-03-01T10:00:00Z","started_at":"2026-03-01T10:00:05Z","completed_at":"2026-03-01T10:05:05Z"}]}`
	pages := []string{strings.Replace(github, "ID", "1", 1), strings.Replace(github, "ID", "2", 1)}
	const ci = `{"id":1,"name":"CI/test (1, 2)","at":0,"pool":"CI","phases":[{"tasks":1,"time":300}]}
{"id":2,"name":"CI/test (1, 2)","at":0,"pool":"CI","phases":[{"tasks":1,"time":300}]}
`
	for _, tc := range []struct {
		from, what string
		files      []string
		want       string
		notes      []string
	}{
		{"sacct", "requeued jobs, arrays, heterogeneous jobs, steps", []string{requeued}, `{"id":1,"name":"train","at":0,"pool":"gpu","phases":[{"tasks":4,"time":600}]}
{"id":2,"name":"arr","at":0,"pool":"cpu","phases":[{"tasks":1,"time":300}]}
{"id":3,"name":"het","at":0,"pool":"cpu","phases":[{"tasks":10,"time":60}]}
{"id":4,"name":"train","at":660,"pool":"gpu","phases":[{"tasks":4,"time":600}]}
{"id":5,"name":"train","at":1920,"pool":"gpu","phases":[{"tasks":4,"time":3600}]}
`, []string{dropTexts[neverRan] + ": 2", dropTexts[partOf] + ": 2"}},
		{"sacct", "a separator behind the titles alone", []string{"JobID|AllocCPUS|Submit|Start|End|\n1|2|10|20|50\n1.batch|2|20|20|50\n"}, `{"id":1,"at":0,"phases":[{"tasks":2,"time":30}]}
`, []string{dropTexts[partOf] + ": 1"}},
		{"sacct", "a spreadsheet made a table with quotes of it", []string{"JobID,JobName,AllocCPUS,Submit,Start,End,State\n\"7_[1,3-5%2]\",a,2,10,Unknown,Unknown,PENDING\n7_2,\"a,\"\"b\"\"\",2,10,20,50,COMPLETED\n"}, `{"id":1,"name":"a,\"b\"","at":0,"phases":[{"tasks":2,"time":30}]}
`, []string{dropTexts[neverRan] + ": 1"}},
		{"sacct", "quotes that separate nothing, between commas", []string{"JobID,JobName,AllocCPUS,Submit,Start,End\n7,a \"b\",2,10,20,50\n"}, `{"id":1,"name":"a \"b\"","at":0,"phases":[{"tasks":2,"time":30}]}
`, nil},
		{"sacct", "processors in a list, no start is 0", []string{"JobID|ReqTRES|Submit|Start|End\n1|billing=4,cpu=4,mem=16G,node=1|10|20|50\n2|cpu=1|10|0|40\n"}, `{"id":1,"at":0,"phases":[{"tasks":4,"time":30}]}
`, []string{dropTexts[neverRan] + ": 1", "tasks=ReqTRES:cpu"}},
		{"sacct", "no column of sizes", []string{"JobID|Submit|Start|End\n1|10|20|50\n2|11|20|40\n"}, `{"id":1,"at":0,"phases":[{"tasks":1,"time":30}]}
{"id":2,"at":1,"phases":[{"tasks":1,"time":20}]}
`, []string{remarkTexts[oneTask] + ": 2"}},
		{"sacct", "a log that was copied while it grew", []string{"JobID|AllocCPUS|Submit|Start|End\n1|2|10|20|50\n2|2|10"}, `{"id":1,"at":0,"phases":[{"tasks":2,"time":30}]}
`, []string{dropTexts[cutOff] + ": 1"}},
		{"pbs", "a log that was copied while it grew, and a job that never started", []string{rerun + "03/01/2026 10:23:00;E;17.srv;qtime=1772359900 start=0 end=1772359970 Resource_List.ncpus=2\n03/01/2026 10:2"}, `{"id":1,"name":"bob/r","at":0,"pool":"q","phases":[{"tasks":1,"time":300}]}
{"id":2,"name":"bob/a b","at":0,"pool":"q","phases":[{"tasks":2,"time":10}]}
`, []string{dropTexts[neverRan] + ": 1", dropTexts[cutOff] + ": 1"}},
		{"pbs", "a job that ran twice, an array", []string{rerun}, `{"id":1,"name":"bob/r","at":0,"pool":"q","phases":[{"tasks":1,"time":300}]}
{"id":2,"name":"bob/a b","at":0,"pool":"q","phases":[{"tasks":2,"time":10}]}
`, []string{dropTexts[partOf] + ": 1"}},
		{"spark", "a log that was rolled", []string{strings.Join(lines[:4], ""), strings.Join(lines[4:], "")}, jobs, nil},
		{"spark", "a log that was copied while it grew", []string{string(spark) + `{"Event":"SparkListenerTaskEnd","Stage ID":`}, jobs, []string{dropTexts[cutOff] + ": 1"}},
		{"spark", "a rolled log in one file", []string{string(spark)}, jobs, nil},
		{"airflow", "what the command prints", []string{`dag_id | task_id | state   | start_date                | end_date
=======+=========+=========+===========================+==========================
etl    | load    | success | 2026-03-01T10:00:00+00:00 | 2026-03-01T10:10:00+00:00
`}, `{"id":1,"name":"etl/load","at":0,"phases":[{"tasks":1,"time":600}]}
`, nil},
		{"github", "pages one after the other", []string{pages[0] + "\n" + pages[1]}, ci, nil},
		{"github", "a list of pages", []string{"[" + pages[0] + ",\n" + pages[1] + "]"}, ci, nil},
		{"gitlab", "pages of lists", []string{`[{"id":1,"name":"b","stage":"build","ref":"main","status":"success","created_at":"2026-03-01T10:00:00.000Z","started_at":"2026-03-01T10:01:00.000Z","finished_at":"2026-03-01T10:02:00.000Z","duration":60.0,"queued_duration":3.5}]
[{"id":2,"name":"m","stage":"deploy","ref":"main","status":"manual","created_at":"2026-03-01T10:00:00.000Z","started_at":null,"finished_at":null,"duration":null}]`}, `{"id":1,"name":"build/b","at":0,"pool":"main","phases":[{"tasks":1,"time":60}]}
`, []string{dropTexts[neverRan] + ": 1"}},
		{"kubernetes", "a suspended Job, one that failed, and a Pod of it", []string{`{"kind":"List","items":[
{"kind":"Pod","metadata":{"name":"f-x","namespace":"ns","uid":"u4","creationTimestamp":"2026-03-01T10:00:01Z"},"spec":{},"status":{"phase":"Failed","startTime":"2026-03-01T10:00:01Z"}},
{"kind":"Job","metadata":{"name":"s","namespace":"ns","uid":"u2","creationTimestamp":"2026-03-01T10:00:00Z"},"spec":{"suspend":true,"parallelism":2},"status":{}},
{"kind":"Job","metadata":{"name":"f","namespace":"ns","uid":"u3","creationTimestamp":"2026-03-01T10:00:00Z"},"spec":{"parallelism":1,"completions":1},"status":{"startTime":"2026-03-01T10:00:01Z","conditions":[{"type":"FailureTarget","status":"True","lastTransitionTime":"2026-03-01T10:01:01Z"},{"type":"Failed","status":"True","lastTransitionTime":"2026-03-01T10:01:02Z"}]}}]}`}, `{"id":1,"name":"ns/f","at":0,"pool":"ns","phases":[{"tasks":1,"time":61}]}
`, []string{dropTexts[neverRan] + ": 1", dropTexts[otherKind] + ": 1"}},
		{"csv", "a byte order mark, semicolons, CRLF, a decimal comma, a cell of two lines", []string{"\ufeffsubmitted;runtime;cpus;name\r\n01.03.2026 10:00:00;10,25;4;\"a \"\"q\"\" b\r\nsecond line\"\r\n\r\n01.03.2026 10:00:01;0,5;2;x;;\r\n"}, `{"id":1,"name":"a \"q\" b\nsecond line","at":0,"phases":[{"tasks":4,"time":10.25}]}
{"id":2,"name":"x","at":1,"phases":[{"tasks":2,"time":0.5}]}
`, []string{"duration=runtime:s"}},
		{"csv", "nodes, where nothing else is a size", []string{"Submit Time,Run Time,Num Nodes\n0,60,4\n"}, `{"id":1,"at":0,"phases":[{"tasks":4,"time":60}]}
`, []string{"tasks=Num Nodes"}},
		{"csv", "milliseconds since 1970, and lines between the titles and the rows", []string{"created_at\tstarted_at\tfinished_at\tcpus\n----------\t----------\t-----------\t----\n1772359200000\t1772359201000\t1772359211500\t4\n"}, `{"id":1,"at":0,"phases":[{"tasks":4,"time":10.5}]}
`, []string{"arrival=created_at:ms"}},
	} {
		f := Conversion{From: tc.from, To: "workload", Pool: "queue", Window: 1}
		f.SWIM.BytesPerMap, f.SWIM.BytesPerReduce, f.SWIM.Rate, f.SWIM.ByteScale = 1, 1, 1, 1
		var inputs []Input
		for _, text := range tc.files {
			inputs = append(inputs, Input{strings.NewReader(text), "log"})
		}
		var out, notes strings.Builder
		if err := f.Write(&out, &notes, inputs, nil); err != nil {
			t.Errorf("%s, %s: %v", tc.from, tc.what, err)
			continue
		}
		if out.String() != tc.want {
			t.Errorf("%s, %s: got\n%swant\n%s", tc.from, tc.what, &out, tc.want)
		}
		for _, note := range tc.notes {
			if !strings.Contains(notes.String(), note) {
				t.Errorf("%s, %s: no %q in\n%s", tc.from, tc.what, note, &notes)
			}
		}
	}
}

// The files of a rolled log are read in their order, in whichever they are given: a shell names the tenth before the second.
func TestFilesOfARolledLog(t *testing.T) {
	spark, err := os.ReadFile("testdata/spark.log")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(spark), "\n")
	given := []Input{
		{strings.NewReader(strings.Join(lines[8:], "")), "log/events_10_app"},
		{strings.NewReader(strings.Join(lines[:4], "")), "log/events_1_app"},
		{strings.NewReader(strings.Join(lines[4:8], "")), "log/events_2_app.zstd"},
	}
	_, want, err := converted(Conversion{From: "spark"}, "log", string(spark))
	if err != nil {
		t.Fatal(err)
	}
	var got, notes strings.Builder
	f := Conversion{From: "spark", To: "workload", Pool: "queue", Window: 1}
	if err := f.Write(&got, &notes, given, nil); err != nil || got.String() != want || want == "" {
		t.Errorf("%v: got\n%swant\n%s", err, &got, want)
	}
	apart := []Input{{nil, "b/events_2_x"}, {nil, "b/events_1_x"}, {nil, "a/events_3_y"}, {nil, "a/notes"}, {nil, "a/events_1_y"}}
	inOrder(apart)
	for i, name := range []string{"b/events_1_x", "b/events_2_x", "a/events_3_y", "a/notes", "a/events_1_y"} {
		if apart[i].Name != name {
			t.Errorf("file %d is %s, want %s: only files of one log that stand together are put into order", i, apart[i].Name, name)
		}
	}
}

// Two applications in one file are two, also if their jobs have the same numbers.
func TestApplicationsPutTogether(t *testing.T) {
	spark, err := os.ReadFile("testdata/spark.log")
	if err != nil {
		t.Fatal(err)
	}
	_, one, err := converted(Conversion{From: "spark"}, "log", string(spark))
	if err != nil {
		t.Fatal(err)
	}
	_, two, err := converted(Conversion{From: "spark"}, "log", string(spark)+string(spark))
	if err != nil || strings.Count(two, "\n") != 2*strings.Count(one, "\n") || one == "" {
		t.Errorf("two applications have %d jobs, %v; one has %d", strings.Count(two, "\n"), err, strings.Count(one, "\n"))
	}
}
