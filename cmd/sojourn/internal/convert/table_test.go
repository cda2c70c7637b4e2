package convert

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/research/trace"
	"pgregory.net/rapid"
)

// What people have: the same log in other forms makes the same jobs.
func TestFormsOfALog(t *testing.T) {
	const want = `{"id":1,"name":"a","at":0,"pool":"x","phases":[{"tasks":2,"time":1.5}]}
{"id":2,"name":"b","at":60,"pool":"y","phases":[{"tasks":1,"time":90}]}
`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("name,pool,arrival,duration,tasks\na,x,0,1.5,2\nb,y,60,90,1\n"))
	z.Close()
	for _, tc := range []struct{ why, text string }{
		{"plain", "name,pool,arrival,duration,tasks\na,x,0,1.5,2\nb,y,60,90,1\n"},
		{"compressed", zipped.String()},
		{"byte order mark, CRLF, no last end of line", "\ufeffname,pool,arrival,duration,tasks\r\na,x,0,1.5,2\r\nb,y,60,90,1"},
		{"other order and case, other signs between words", "Tasks\tRun Time\tSubmit-Time\tQUEUE\tName\n2\t1.5\t0\tx\ta\n1\t90\t60\ty\tb\n"},
		{"no order of time", "name,pool,arrival,duration,tasks\nb,y,60,90,1\na,x,0,1.5,2\n"},
		{"decimal commas", "name;pool;arrival;duration;tasks\na;x;0,0;1,5;2\nb;y;60;90;1\n"},
		{"cells with ends of lines and separators", "name,note,pool,arrival,duration,tasks\na,\"x,\ny\",x,0,1.5,2\nb,\"\"\"\",y,60,90,1\n"},
		{"milliseconds by title", "name,pool,submitted_ms,runtime_ms,tasks\na,x,0,1500,2\nb,y,60000,90000,1\n"},
		{"minutes by title", "name,pool,submitted (min),runtime [s],tasks\na,x,0,1.5,2\nb,y,1,90,1\n"},
		{"seconds since 1970", "name,pool,submitted_at,took,tasks\na,x,1772355600,1.5,2\nb,y,1772355660,90,1\n"},
		{"milliseconds since 1970", "name,pool,submitted_at,took,tasks\na,x,1772355600000,1.5,2\nb,y,1772355660000,90,1\n"},
		{"microseconds since 1970", "name,pool,submitted_at,took,tasks\na,x,1772355600000000,1.5,2\nb,y,1772355660000000,90,1\n"},
		{"RFC 3339", "name,pool,submitted_at,took,tasks\na,x,2026-03-01T09:00:00Z,1.5s,2\nb,y,2026-03-01T10:01:00+01:00,1m30s,1\n"},
		{"local time with and without a zone", "name,pool,created,elapsed,tasks\na,x,2026-03-01 09:00:00,00:01.5,2\nb,y,2026-03-01 04:01:00 -0500,00:01:30,1\n"},
		{"lengths of pandas and Python", "name,pool,created,elapsed,tasks\na,x,2026-03-01 09:00:00,0 days 00:00:01.500000,2\nb,y,2026-03-01 09:01:00,\"0 day, 0:01:30\",1\n"},
		{"lengths of ISO 8601", "name,pool,created,elapsed,tasks\na,x,2026-03-01 09:00:00,PT1.5S,2\nb,y,2026-03-01 09:01:00,P0DT1M30S,1\n"},
		{"lengths in words of Go, with spaces", "name,pool,created,elapsed,tasks\na,x,2026-03-01 09:00:00,1.5s,2\nb,y,2026-03-01 09:01:00,1m 30s,1\n"},
		{"dates whose month has a name", "name,pool,created,elapsed,tasks\na,x,Sun Mar  1 09:00:00 2026,1.5s,2\nb,y,\"Sun, 01 Mar 2026 09:01:00 GMT\",90s,1\n"},
		{"dates as Go prints them", "name,pool,created,elapsed,tasks\na,x,2026-03-01 09:00:00.000001 +0000 UTC,1.5s,2\nb,y,2026-03-01 09:01:00.000001 +0000 UTC,90s,1\n"},
		{"dates of web servers", "name,pool,created,elapsed,tasks\na,x,01/Mar/2026:09:00:00 +0000,1.5s,2\nb,y,01/Mar/2026:10:01:00 +0100,90s,1\n"},
		{"start and end", "name,pool,created,started,finished,tasks\na,x,2026-03-01 09:00,2026-03-01 09:00:01.5,2026-03-01 09:00:03,2\nb,y,2026-03-01 09:01,2026-03-01 09:01:00,2026-03-01 09:02:30,1\n"},
		{"a wait", "name,pool,wait,start,end,tasks\na,x,10,10,11.5,2\nb,y,5,65,155,1\n"},
		{"rows that ran no more", "name,pool,submit,start,end,state,tasks\na,x,0,0,1.5,FAILED,2\nb,y,60,60,150,CANCELLED by 7,1\nc,y,60,Unknown,Unknown,PENDING,1\nc,y,60,60,None,RUNNING,1\nc,y,Unknown,60,70,,1\nc,y,60,70,60,,1\nc,y,60,60,70,,0\nc,y,60,60,60,CANCELLED,1\n"},
		{"a length below 0", "name,pool,created,elapsed,tasks\na,x,2026-03-01 09:00:00,1.5s,2\nc,y,2026-03-01 09:00:01,-1 days +23:59:00,2\nc,y,2026-03-01 09:00:01,-00:01:00,2\nc,y,2026-03-01 09:00:01,-1m,2\nb,y,2026-03-01 09:01:00,90s,1\n"},
		{"dates of German spreadsheets", "name;pool;created;elapsed;tasks\na;x;1.3.2026 9:00:00;1,5;2\nb;y;01.03.2026 09:01;90;1\n"},
		{"files put together", "name,pool,arrival,duration,tasks\na,x,0,1.5,2\nname,pool,arrival,duration,tasks\nb,y,60,90,1\n"},
		{"empty cells behind the last", "name,pool,arrival,duration,tasks\na,x,0,1.5,2,,\nb,y,60,90,1,\n"},
		{"a separator behind the last cell", "name|pool|arrival|duration|tasks|\na|x|0|1.5|2|\nb|y|60|90|1|\n"},
		{"the same rows again", "id,name,pool,arrival,duration,tasks\n1,a,x,0,1.5,2\n1,a,x,0,1.5,2\n2,b,y,60,90,1\n"},
	} {
		if _, got, err := converted(Conversion{From: "csv"}, "log.csv", tc.text); err != nil || got != want {
			t.Errorf("%s: %v, got\n%swant\n%s", tc.why, err, got, want)
		}
	}
}

// A message names the file, the line, the column, and what helps.
func TestMessagesOfLogs(t *testing.T) {
	for _, tc := range []struct {
		from, text string
		f          Conversion
		want       string
	}{
		{"csv", "", Conversion{}, "log:1:1: the file is empty"},
		{"sacct", "", Conversion{}, "log:1:1: the file is empty"},
		{"github", "", Conversion{}, "log:1:1: the file is empty"},
		{"kubernetes", "", Conversion{}, "log:1:1: the file is empty: want JSON"},
		{"spark", "", Conversion{}, "log:1:1: no jobs"},
		{"pbs", "", Conversion{}, "log:1:1: no jobs"},
		{"csv", "arrival,duration\n", Conversion{}, "log:1:1: no jobs"},
		{"csv", "arrival,duration\n1,2\n\"1", Conversion{}, "log:3:3: extraneous or missing \" in quoted-field"},
		{"csv", "arrival,duration\n1,x\n", Conversion{}, "log:2:3: duration: want a length of time such as 90s, 1h30m or 1-02:03:04"},
		{"csv", "arrival,duration\n1,2\n1,1:00\n", Conversion{}, "log:3:3: duration: want a number of s, found \"1:00\"; --columns duration=TITLE:UNIT"},
		{"csv", "arrival,duration\n1,\"1,5\"\n", Conversion{}, "log:2:3: duration: want a length of time"},
		{"csv", "arrival,duration\n1,2\n3,\"1,5\"\n", Conversion{}, "a comma is the decimal point only between semicolons: see --separator"},
		{"csv", "arrival,duration\n1/2/26,2\n", Conversion{}, "--zone says where clocks without a zone are"},
		{"csv", "arrival,duration\n9999-01-01,2\n", Conversion{}, "want a year from 1678 to 2261"},
		{"csv", "arrival,duration\n1,1e9\n", Conversion{}, ""},
		{"csv", "arrival,duration,tasks\n1,1e9,99\n", Conversion{}, "log:2:1: the sum of the times of the job's tasks is out of range"},
		{"csv", "arrival,duration,tasks\n1,1,1.5\n", Conversion{}, "log:2:5: tasks: want a whole number, found \"1.5\"; --slot-size"},
		{"csv", "arrival,duration,tasks\n1,1,16777217\n", Conversion{}, "log:2:5: tasks: more than 16777216 tasks in a job; --slot-size"},
		{"csv", "arrival,duration,tasks\n1,1,-2\n", Conversion{}, "log:2:5: tasks: want a number from 0 on, found \"-2\""},
		{"csv", "arrival,duration,parallelism\n1,1,x\n", Conversion{}, "log:2:5: parallelism: want a whole number from 0 to 4294967295, found \"x\""},
		{"csv", "arrival,duration,weight\n1,1,-3\n", Conversion{}, "log:2:5: weight: want a number from 2^-16"},
		{"csv", "arrival,duration,deadline\n5,1,4\n", Conversion{}, "log:2:5: deadline: it is not after the arrival"},
		{"csv", "-5,duration\n", Conversion{}, "there is no column \"arrival\""},
		{"csv", "\xff\xfea\x00", Conversion{}, "iconv -f UTF-16"},
		{"csv", "\x28\xb5\x2f\xfd", Conversion{}, "zstd -dc"},
		{"csv", "\xfd7zXZ\x00", Conversion{}, "xz -dc FILE"},
		{"csv", "BZh91AY", Conversion{}, "bzip2 -dc FILE"},
		{"csv", "PAR1\x15", Conversion{}, "this is Parquet"},
		{"csv", "PK\x03\x04", Conversion{}, "export the sheet as CSV"},
		{"csv", "\x1f\x8b\x08\x00", Conversion{}, "log:1:1: gzip: "},
		{"csv", "arrival,duration\n\xff,1\n", Conversion{}, "log:2:1: invalid UTF-8: convert the file first"},
		{"csv", "{\"a\":1}", Conversion{}, "log:1:1: want csv, found JSON: jq -r prints members as a table"},
		{"swf", "\xff\xfe1\x00", Conversion{}, "log:1:1: the text is UTF-16"},
		{"swf", "\x28\xb5\x2f\xfd", Conversion{}, "log:1:1: the file is compressed by zstd: give zstd -dc"},
		{"swim", "PK\x03\x04", Conversion{}, "log:1:1: this is a zip archive"},
		{"spark", "{}\n{\"Event\":\"SparkListenerTaskEnd\",", Conversion{Strict: true}, "log:2:32: invalid JSON"},
		{"sacct", "JobID|AllocCPUS|Submit|Start|End\n1|2", Conversion{Strict: true}, "log:2:1: --strict: cut off at the end of the file"},
		{"sacct", "JobID|AllocCPUS|Submit|Start|End\n1|2\n", Conversion{}, "log:2:1: 2 cells, but the first row has 5"},
		{"slurm", "{\"jobs\":[]}", Conversion{}, "log:1:1: want slurm, found JSON; such a log is written by JobCompType"},
		{"sacct", "{\"jobs\":[]}", Conversion{}, "log:1:1: no jobs"},
		{"sacct", "{\"jobs\":[{\"state\":{\"current\":\"CANCELLED\"},\"time\":{\"submission\":5,\"start\":6,\"end\":6,\"elapsed\":0},\"required\":{\"CPUs\":1}}]}", Conversion{}, "log:1:1: no jobs"},
		{"sacct", "{\"jobs\":[{\"job_id\":7,\"time\":{\"submission\":5,\n\"start\":6,\"end\":\"soon\"}}]}", Conversion{}, "log:2:17: end: want a number of s, found \"soon\""},
		{"sacct", "JobID|JobName|Submit|Start|End|AllocCPUS\n1|a|b|1|2|3|1\n", Conversion{}, "log:2:1: 7 cells, but the first row has 6: perhaps a cell has \"|\" in it"},
		{"csv", "arrival,duration\n01/31/2025 10:00:00,1\n", Conversion{}, "want a date such as 2025-01-31T15:04:05Z, or a unit that says what is first, m/d/y or d/m/y, found \"01/31/2025 10:00:00\""},
		{"csv", "arrival,duration\n01/31/2025 10:00:00,1\n", Conversion{Columns: Columns{{fieldArrival, "arrival", unitDayFirst}}}, "log:2:1: arrival: want a date such as 31/1/2025 15:04:05, found \"01/31/2025 10:00:00\""},
		{"csv", "name,num_gpu,creation_time,deletion_time,scheduled_time\n", Conversion{}, "it has the columns of --from alibaba-gpu"},
		{"csv", "arrival,duration\n-5,1\n", Conversion{KeepTimes: true}, "log:2:1: --keep-times: it arrives before the zero"},
		{"csv", "arrival,duration\n1,1\n", Conversion{Pool: "user"}, "--pool user: there is no column for it; --columns user=TITLE names one"},
		{"csv", "arrival,duration\n1,1\n", Conversion{Requested: true}, "--requested-time: there is no column of it; --columns requested=TITLE:UNIT"},
		{"csv", "arrival,duration\n1,1\n", Conversion{Zone: "Mars/Base"}, "--zone \"Mars/Base\" is not the name of a time zone"},
		{"csv", "arrival,duration\n1,1\n", Conversion{SlotSize: "0"}, "--slot-size \"0\" is not a number above 0"},
		{"csv", "arrival,duration,start\n1,1,\n", Conversion{Strict: true}, "log:2:1: --strict: never ran; without --strict"},
		{"sacct", "       JobID    JobName\n------------ ----------\n", Conversion{}, "such a log is written by sacct -a -X -P"},
		{"sacct", "JobID|Submit|Start|End|AllocCPUS\n1|a|b\n", Conversion{}, "log:2:1: 3 cells, but the first row has 5"},
		{"sacct", "JobID|Submit|Start|End|AllocCPUS\n1|2026-03-01T09:00:00|2026-03-01T09:00:00|soon|1\n", Conversion{}, "log:2:43: end: want a date"},
		{"pbs", "03/01/2026 09:00:00;E\n", Conversion{}, "log:1:1: want a line of date, type, id and KEY=VALUE words"},
		{"slurm", "hello\n", Conversion{}, "log:1:1: want a line of KEY=VALUE words"},
		{"github", "{\"jobs\": [{\"id\": 1,\n \"created_at\": \"soon\"}]}", Conversion{}, "log:2:16: arrival: want a date"},
		{"github", "{\"jobs\": [{\"id\": 1,\n", Conversion{}, "log:2:1: invalid JSON: it ends too early"},
		{"github", "{\"jobs\": [\n{\"id\" 1}]}", Conversion{}, "log:2:7: invalid JSON"},
		{"gitlab", "[1]", Conversion{}, "log:1:2: want an object or a list of objects in JSON"},
		{"kubernetes", "apiVersion: v1\nitems:\n", Conversion{}, "want JSON, found \"apiVersion: v1\\nitems:\\n\": export it by kubectl get jobs -A -o json"},
		{"batsim", "{\"jobs\": [{\"id\":1,\"subtime\":0,\"res\":1,\n\"profile\":\"p\"}], \"profiles\": {\"p\": {\"type\":\"parallel_homogeneous\",\"cpu\":5}}}", Conversion{}, "log:1:11: profile \"p\" computes 5 operations: --topology PLATFORM.xml"},
		{"batsim", "{\"jobs\": [{\"id\":1,\"subtime\":0,\"res\":1,\"profile\":\"q\"}], \"profiles\": {}}", Conversion{}, "log:1:11: there is no profile \"q\""},
		{"batsim", "{\"jobs\": [{\"id\":1,\"subtime\":0,\"res\":1,\"profile\":\"q\"}], \"profiles\": {\"q\":{\"type\":\"composed\",\"seq\":[\"q\",\"q\"]}}}", Conversion{}, "made of each other without end"},
		{"csv", "arrival,duration\n1\n", Conversion{}, "log:2:1: 1 cell, but the first row has 2; --separator"},
		{"spark", "[]", Conversion{}, "log:1:1: want an event log of Spark"},
		{"spark", "LZ4Block\x16", Conversion{}, "log:1:1: the file is compressed as only Spark reads it: write it with spark.eventLog.compress=false"},
		{"csv", "a\x00r\x00,\x00", Conversion{}, "log:1:1: the text is UTF-16"},
		{"csv", "SQLite format 3\x00\x10", Conversion{}, "log:1:1: this is no text: export the table as CSV"},
		{"csv", "arrival,duration\r1,2\r", Conversion{}, "log:1:17: the lines end in CR without LF: make it LF, such as by tr"},
		{"csv", "# of 2026\narrival,duration\n1,2\n", Conversion{}, "the first row must name the columns: remove lines before it; --separator says"},
		{"csv", "sep=;\narrival;duration\n1;2\n", Conversion{}, "the first row must name the columns: remove lines before it; --separator says"},
		{"csv", "1,2,3\n4,5,6\n", Conversion{}, "there are \"1\", \"2\", \"3\"; the first row must name the columns"},
		{"csv", "arrival;duration\n1;2,5\n1;1.000,5\n", Conversion{}, "log:3:3: duration: want a number of s, found \"1.000,5\"; a comma is the decimal point here, and nothing stands between thousands"},
		{"csv", "arrival,duration\n1,\"1,234\"\n", Conversion{}, "a comma is the decimal point only between semicolons: see --separator; nothing stands between thousands"},
		{"sacct", "JobID|Submit|Start|End|AllocCPUS\n1|2026-03-01T09:00:00|2026-03-01T09:00:00|2026-03-01T09:01:00|4K\n", Conversion{}, "log:2:63: tasks: want a number, found \"4K\"; sacct --noconvert writes it in full"},
		{"csv", "arrival,duration,name\n1,2,-\n---,---\n3,x,b\n", Conversion{}, "log:4:3: duration: want a number of s, found \"x\""},
		{"spark", "{}\n{\"Event\":\"SparkListenerJobEnd\",\n", Conversion{}, "log:2:"},
	} {
		tc.f.From = tc.from
		_, workload, err := converted(tc.f, "log", tc.text)
		if tc.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || tc.want == "" || workload != "" {
			t.Errorf("%s %q: %v, want %s", tc.from, tc.text, err, tc.want)
		}
	}
}

// A column that no object has is said, so that nobody takes a wrong name for a right one.
func TestColumnWithoutValues(t *testing.T) {
	const text = `{"id":1,"created_at":"2026-03-01","started_at":"2026-03-01","completed_at":"2026-03-02"}`
	notes, _, err := converted(Conversion{From: "github", Columns: Columns{{fieldName, "head.sha", ""}}}, "log", text)
	if want := "columns without a value in any row: name=head.sha\n"; err != nil || !strings.Contains(notes, want) {
		t.Errorf("%v, got\n%swant %s", err, notes, want)
	}
	notes, _, err = converted(Conversion{From: "github"}, "log", `{"a":{"b":[{"c":1}]}}`)
	if want := "members of the first object: \"a.b.0.c\"\n"; err == nil || !strings.Contains(notes, want) {
		t.Errorf("%v, got\n%swant %s", err, notes, want)
	}
}

// A log of sacct that is read by its titles alone counts steps as jobs, and whoever reads it so is told.
func TestSacctAsCSV(t *testing.T) {
	const text = "JobID,Submit,Start,End\n1,1,2,3\n1.batch,1,2,3\n"
	const want = "the columns are those of --from sacct, which leaves out the steps of jobs\n"
	if notes, _, err := converted(Conversion{From: "csv"}, "log", text); err != nil || !strings.Contains(notes, want) {
		t.Errorf("%v, got\n%swant %s", err, notes, want)
	}
	if notes, _, err := converted(Conversion{From: "sacct"}, "log", text); err != nil || strings.Contains(notes, want) {
		t.Errorf("%v, got\n%s", err, notes)
	}
}

// Of tasks in JSON that say no size, each takes a slot; of tables it may be a mistake.
func TestSizesThatAreNotTold(t *testing.T) {
	const task = `{"dag_id":"d","task_id":"t","state":"success","start_date":"2026-03-01T09:00:00Z","end_date":"2026-03-01T09:00:05Z"}`
	const job = `{"metadata":{"creationTimestamp":"2026-03-01T09:00:00Z"},"spec":{},"status":{"startTime":"2026-03-01T09:00:00Z","completionTime":"2026-03-01T09:00:05Z"}}`
	for from, text := range map[string]string{"airflow": "[" + task + "]", "kubernetes": job} {
		if _, got, err := converted(Conversion{From: from}, "log", text); err != nil || !strings.Contains(got, `"phases":[{"tasks":1,"time":5}]`) {
			t.Errorf("%s: %v, got\n%s", from, err, got)
		}
	}
}

// Places of Torque may be spans.
func TestPlaces(t *testing.T) {
	for text, want := range map[string]int64{"n1/0": 1, "n1/0+n1/1+n2/0": 3, "n1/0*2+n2/0*3": 5, "n1/0-3,5+n2/0-3": 9, "n1": 1, "n1*4": 4, "n/0*2147483647+n/0-2147483646": 1<<32 - 2} {
		if got, err := new(tableReader).amount(text, "places"); err != nil || !got.IsInt() || got.Num().Int64() != want {
			t.Errorf("%s: %v, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"n/3-0", "n/a", "n/0*x", "n/0-"} {
		if got, err := new(tableReader).amount(text, "places"); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// Several files are one log: jobs are sorted together, and what two of them have is there once.
func TestSeveralLogs(t *testing.T) {
	f := Conversion{From: "sacct", To: "workload", Pool: "queue", Window: 1}
	f.SWIM.BytesPerMap, f.SWIM.BytesPerReduce, f.SWIM.Rate, f.SWIM.ByteScale = 1, 1, 1, 1
	const head = "JobID|Submit|Start|End|AllocCPUS\n"
	row := func(id string, second int) string {
		return fmt.Sprintf("%s|2026-03-01T09:00:%02d|2026-03-01T09:00:%02d|2026-03-01T09:01:00|1\n", id, second, second)
	}
	var out, notes strings.Builder
	in := []Input{{strings.NewReader(head + row("2", 30) + row("1", 20)), "b"}, {strings.NewReader("AllocCPUS|" + strings.TrimSuffix(head, "|AllocCPUS\n") + "\n1|" + strings.TrimSuffix(row("3", 10), "|1\n") + "\n1|" + strings.TrimSuffix(row("1", 20), "|1\n") + "\n"), "a"}}
	if err := f.Write(&out, &notes, in, nil); err != nil {
		t.Fatal(err)
	}
	const want = `{"id":1,"at":0,"phases":[{"tasks":1,"time":50}]}
{"id":2,"at":10,"phases":[{"tasks":1,"time":40}]}
{"id":3,"at":20,"phases":[{"tasks":1,"time":30}]}
`
	if out.String() != want || !strings.Contains(notes.String(), dropTexts[repeated]+": 1\n") {
		t.Errorf("got\n%swant\n%s%s", &out, want, &notes)
	}
}

// The elements of an array of 10^5 are 10^5 jobs, or one job with as many tasks, in time that grows with them.
func TestLargeArray(t *testing.T) {
	const n = 100_000
	var b strings.Builder
	b.WriteString("JobID|Submit|Start|End|Elapsed|AllocCPUS\n")
	for i := range n {
		fmt.Fprintf(&b, "7_%d|1|2|%d|0:%02d|1\n", i, 2+i%50, i%50)
	}
	_, workload, err := converted(Conversion{From: "sacct", JoinArrays: true}, "log", b.String())
	if err != nil || !strings.HasPrefix(workload, `{"id":1,"at":0,"phases":[{"tasks":100000,"time":[0,1,2,3,`) || strings.Count(workload, "\n") != 1 {
		t.Errorf("%v, %.100s", err, workload)
	}
}

// Rows become the jobs that a reader of few lines makes of them: each row is generated with what is expected.
func TestRowsAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text, want strings.Builder
		text.WriteString("id,submitted,began,finish,tasks,state\n")
		drops := map[string]int{}
		at := 0
		n := rapid.IntRange(1, 20).Draw(t, "rows")
		id, first := 0, -1
		for i := range n {
			at += rapid.SampledFrom([]int{0, 1, 3600, 1 << 24}).Draw(t, "gap")
			took, tasks := rapid.SampledFrom([]int{0, 1, 59, 1 << 20}).Draw(t, "took"), rapid.SampledFrom([]int{1, 2, 1 << 12}).Draw(t, "tasks")
			start, end, size, state, why := fmt.Sprint(at+5), fmt.Sprint(at+5+took), fmt.Sprint(tasks), "done", ""
			switch rapid.IntRange(0, 6).Draw(t, "kind") {
			case 0:
				start, end, state, why = rapid.SampledFrom([]string{"", "None", "Unknown", "-1"}).Draw(t, "start"), "", "pending", dropTexts[neverRan]
			case 1:
				end, why = rapid.SampledFrom([]string{"", "null", "N/A"}).Draw(t, "end"), dropTexts[stillRuns]
			case 2:
				end, why = fmt.Sprint(at+4), dropTexts[backward]
			case 3:
				size, why = rapid.SampledFrom([]string{"0", "", "-"}).Draw(t, "size"), dropTexts[noSize]
			}
			fmt.Fprintf(&text, "%d,%d,%s,%s,%s,%s\n", i, at, start, end, size, state)
			if why != "" {
				drops[why]++
				continue
			}
			if first < 0 {
				first = at
			}
			id++
			fmt.Fprintf(&want, `{"id":%d,"at":%d,"phases":[{"tasks":%d,"time":%d}]}`+"\n", id, at-first, tasks, took)
		}
		notes, got, err := converted(Conversion{From: "csv", Columns: Columns{{fieldStart, "began", ""}}}, "log", text.String())
		if got != want.String() || (err == nil) != (id > 0) {
			t.Fatalf("%v: got\n%swant\n%sof\n%s", err, got, &want, &text)
		}
		for why, n := range drops {
			if !strings.Contains(notes, fmt.Sprintf("%s: %d\n", why, n)) {
				t.Fatalf("got\n%swant %s: %d", notes, why, n)
			}
		}
	})
}

// Dates whose month or day is first need a unit that says so, and mean what it says.
func TestOrderOfDates(t *testing.T) {
	for _, tc := range []struct{ unit, first, then string }{
		{"m/d/y", "03/01/2026 09:00:00", "3/1/2026 9:01 AM"},
		{"m/d/y", "3/1/2026 09:00", "3/1/2026, 9:01:00 AM"},
		{"d/m/y", "01/03/2026 09:00:00", "1/3/2026, 09:01:00"},
		{"d/m/y", "1/3/2026", "01/03/2026 00:01"},
	} {
		text := fmt.Sprintf("at,took\n%q,1\n%q,1\n", tc.first, tc.then)
		_, got, err := converted(Conversion{From: "csv", Columns: Columns{{fieldArrival, "at", tc.unit}, {fieldDuration, "took", "s"}}}, "log.csv", text)
		if want := "{\"id\":1,\"at\":0,\"phases\":[{\"tasks\":1,\"time\":1}]}\n{\"id\":2,\"at\":60,\"phases\":[{\"tasks\":1,\"time\":1}]}\n"; err != nil || got != want {
			t.Errorf("%v: %v, got\n%s", tc, err, got)
		}
	}
}

// A length that a clock shows is read to the second.
func TestClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.IntRange(0, 1<<31-1).Draw(t, "seconds")
		day, rest := seconds/86400, seconds%86400
		for _, text := range []string{
			fmt.Sprintf("%d-%02d:%02d:%02d", day, rest/3600, rest/60%60, rest%60),
			fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60),
		} {
			if got, ok := clock(text); !ok && seconds/3600 <= 10_000_000 || got != int64(seconds)*1e9 {
				t.Fatalf("%s: %d %v, want %d s", text, got, ok, seconds)
			}
		}
	})
	for text, want := range map[string]int64{"1-02": 93600e9, "1-02:03": 93780e9, "02:03": 123e9, "00:00:01.5": 1.5e9, "100:00:00": 360000e9} {
		if got, ok := clock(text); !ok || got != want {
			t.Errorf("%s: %d %v, want %d", text, got, ok, want)
		}
	}
	for text, want := range map[string]int64{
		"1 days 02:03:04": 93784e9, "1 day, 2:03:04.5": 93784.5e9, "2 days": 172800e9, "0 days 00:00:00": 0,
		"P1D": 86400e9, "PT1H": 3600e9, "PT0S": 0, "P1DT2H3M4.5S": 93784.5e9, "PT1M0.25S": 60.25e9,
	} {
		if got, ok := clock(clockOf(text)); !ok || got != want {
			t.Errorf("%s: %d %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"P", "PT", "PT5", "P3", "P1M", "P1Y", "P1W", "PT1S1M", "-PT1S", "PT-1S", "1 dayx", "-1 days +23:00:00", "1 days,", "x days"} {
		if got, ok := clock(clockOf(text)); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
	for _, text := range []string{"", "1", "1:2:3:4", "-1:00", "1-", "a:00", "1-2-3", "00:00:00.", "1:-1"} {
		if got, ok := clock(text); ok && text != "00:00:00." {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// Columns that were given come back as they were.
func TestColumnsAsText(t *testing.T) {
	const text = "arrival=sub mitted:date,duration=took:text,tasks=AllocTRES:gres/gpu:a100,name=a+b"
	var c Columns
	if err := c.Set(text); err != nil || c.String() != text {
		t.Errorf("%v, %v, want %s", err, &c, text)
	}
}

// No log breaks a reader: it makes a workload that can be read, or an error with a place in the file.
func FuzzLogs(f *testing.F) {
	for i := range TableFormats {
		for _, text := range []string{"", "{}", "[[]]", "a|b\n1|2\n", "JobID|Submit|Start|End|AllocCPUS\n1|1|2|3|1\n", "arrival,duration,tasks,slots\n1,2,3,0.5\n", "{\"Event\":\"SparkListenerJobStart\"}\n", "x;E;1;start=1 end=2 qtime=1\n", "{\"items\":[{\"metadata\":{\"creationTimestamp\":\"2026-01-01\"}}]}"} {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, format uint8, text string) {
		c := Conversion{From: TableFormats[int(format)%len(TableFormats)], JoinArrays: format&64 != 0, Requested: format&128 != 0}
		_, workload, err := converted(c, "log", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "log:") || workload != "" {
				t.Fatalf("%v, %q", err, workload)
			}
			return
		}
		n := 0
		for j, err := range trace.Read(strings.NewReader(workload), trace.ReadOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 1 && j.At != 0 {
				t.Fatalf("the first job arrives at %v", j.At)
			}
		}
		if n == 0 {
			t.Fatal("no jobs, and no error")
		}
	})
}
