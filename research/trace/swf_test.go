package trace

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/workload"
)

// Job 7 is submitted at 60 s and runs 90 s on 4 of 8 requested processors, of 2
// requested minutes.
const swfLine = "  7 60 5 90 4 88.5 1024 8 120 -1 1 3 2 11 1 -1 6 10\n"

func TestSWF(t *testing.T) {
	const header = "; Version: 2.2\n;\n\n; Note: \xe9 is no UTF-8\r\n"
	jobs := func(text string, o ReadOptions) string {
		t.Helper()
		list, err := collect(t, ReadSWF(strings.NewReader(text), o))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		return write(t, list)
	}
	const tail = `"phases":[{"tasks":4,"time":90}]}` + "\n"
	for _, tc := range []struct {
		text string
		o    ReadOptions
		want string
	}{
		{header + swfLine, ReadOptions{}, `{"id":1,"name":"user3/app11","at":60,"pool":"queue1",` + tail},
		{swfLine, ReadOptions{Pool: PoolUser}, `{"id":1,"name":"user3/app11","at":60,"pool":"user3",` + tail},
		{swfLine, ReadOptions{Pool: PoolGroup}, `{"id":1,"name":"user3/app11","at":60,"pool":"group2",` + tail},
		{swfLine, ReadOptions{Pool: PoolNone}, `{"id":1,"name":"user3/app11","at":60,` + tail},
		{swfLine, ReadOptions{Requested: true}, `{"id":1,"name":"user3/app11","at":60,"pool":"queue1","phases":[{"tasks":4,"time":90,"estimate":120}]}` + "\n"},
		{"7\t60.5 5 0.25 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1", ReadOptions{Requested: true},
			`{"id":1,"name":"job7","at":60.5,"phases":[{"tasks":4,"time":0.25}]}` + "\n"},
		// The known parts of the user and the program make the name. 0 is a number like
		// any other.
		{"7 9 0 1 2 -1 -1 -1 -1 -1 1 0 2 -1 -1 -1 -1 -1", ReadOptions{}, `{"id":1,"name":"user0","at":9,"phases":[{"tasks":2,"time":1}]}` + "\n"},
		{"7 9 0 1 2 -1 -1 -1 -1 -1 1 -1 2 0 -1 -1 -1 -1", ReadOptions{}, `{"id":1,"name":"app0","at":9,"phases":[{"tasks":2,"time":1}]}` + "\n"},
		{"7 9 0 1 2 -1 -1 -1 -1 -1 1 2147483647 2 2147483647 -1 -1 -1 -1", ReadOptions{},
			`{"id":1,"name":"user2147483647/app2147483647","at":9,"phases":[{"tasks":2,"time":1}]}` + "\n"},
		// In the order of submission; those of one instant stay as they are.
		{"2 9 0 1 1 -1 -1 -1 -1 -1 0 -1 -1 -1 -1 -1 -1 -1\n1 9 0 1 2 -1 -1 -1 -1 -1 0 -1 -1 -1 -1 -1 -1 -1\n" +
			"3 8 0 0 3 -1 -1 -1 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\r\n", ReadOptions{},
			`{"id":1,"name":"job3","at":8,"phases":[{"tasks":3,"time":0}]}` + "\n" +
				`{"id":2,"name":"job2","at":9,"phases":[{"tasks":1,"time":1}]}` + "\n" +
				`{"id":3,"name":"job1","at":9,"phases":[{"tasks":2,"time":1}]}` + "\n"},
		{header, ReadOptions{}, ""},
	} {
		if got := jobs(tc.text, tc.o); got != tc.want {
			t.Errorf("%q, %+v:\n got %swant %s", tc.text, tc.o, got, tc.want)
		}
	}
	list, _ := collect(t, ReadSWF(strings.NewReader(swfLine), ReadOptions{}))
	if j := list[0]; !slices.Equal(j.AnyClass, []bool{true}) {
		t.Errorf("AnyClass = %v, want true: processors are of one kind", j.AnyClass)
	}
}

// A comment may be indented. Text behind a number that looks like a comment is none.
func TestSWFComments(t *testing.T) {
	for _, text := range []string{";a\n" + swfLine, " ;a\n" + swfLine, "\t \t; a\r\n" + swfLine, swfLine + "  ;"} {
		jobs, err := collect(t, ReadSWF(strings.NewReader(text), ReadOptions{}))
		if len(jobs) != 1 || err != nil {
			t.Errorf("%q: %d jobs, error %v, want 1 job", text, len(jobs), err)
		}
	}
	if _, err := collect(t, ReadSWF(strings.NewReader("1 ; a\n"), ReadOptions{})); err == nil || err.Error() != `-:1:3: want a number, found ";"` {
		t.Errorf("a semicolon behind a number: error %v", err)
	}
}

// Simulators write more fields than the format has, of any text. The first 18 count.
func TestSWFMoreFields(t *testing.T) {
	line := strings.TrimSuffix(swfLine, "\n")
	want, err := collect(t, ReadSWF(strings.NewReader(swfLine), ReadOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	var stats Stats
	jobs, err := collect(t, ReadSWF(strings.NewReader(line+" {1241,1241} q_1d 1:ppn=4:x86_64#excl \r\n"), ReadOptions{Stats: &stats}))
	if err != nil || !reflect.DeepEqual(jobs, want) {
		t.Errorf("%v, %v, want %v", jobs, err, want)
	}
	if text := stats.String(); !strings.Contains(text, remarkTexts[jobsLonger]+": 1\n") {
		t.Errorf("stats:\n%s", text)
	}
}

func TestSWFStats(t *testing.T) {
	const text = "1 -1 0 1 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" + // no submission
		"2 1 0 -1 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" + // no run time
		"3 1 0 -7 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" +
		"4 1 0 1 0 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" + // no processors
		"5 1 0 1 -1 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" +
		"6 1 0 1 1 -1 -1 4 -1 -1 2 -1 -1 -1 -1 -1 -1 -1\n" + // parts of job 7
		"6 1 0 1 1 -1 -1 4 -1 -1 3 -1 -1 -1 -1 -1 -1 -1\n" +
		"6 1 0 1 1 -1 -1 4 -1 -1 4 -1 -1 -1 -1 -1 -1 -1\n" +
		"6 1 0 3 1 -1 -1 4 0 -1 1 -1 -1 -1 -1 -1 0 -1\n" + // no requested time, no job before it
		swfLine + // follows job 6
		"8 61 5 90 0 88.5 1024 8 120 -1 1 3 2 11 1 -1 6 10\n"
	const want = `jobs: 2
tasks: 5
jobs dropped, time of submission unknown: 1
jobs dropped, run time unknown: 2
jobs dropped, processors unknown or none: 3
records dropped, part of a job that has a record of its own: 3
jobs that followed another job, submitted here whatever becomes of that: 1
jobs without a requested time, no estimate: 1
`
	var stats Stats
	jobs, err := collect(t, ReadSWF(strings.NewReader(text), ReadOptions{Requested: true, Stats: &stats}))
	if got := stats.String(); got != want || err != nil {
		t.Errorf("%d jobs, error %v, stats:\n%s\nwant\n%s", len(jobs), err, got, want)
	}
}

// A mark ^ stands where the fault is.
func TestSWFFaults(t *testing.T) {
	for _, tc := range []struct{ marked, reason string }{
		{"1 2 3^", "3 fields, want 18"},
		{swfLine + " ^x", `want a number, found "x"`},
		{"1 2 3 ^x 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19", `want a number, found "x"`},
		{"1 ^NaN 5 90 4 -1 -1 -1 -1 -1 1 3 2 1 1 -1 -1 -1", `want a number, found "NaN"`},
		{"1 ^1e5 5 90 4 -1 -1 -1 -1 -1 1 3 2 1 1 -1 -1 -1", `want a number, found "1e5"`},
		{"1 1 5 90 4 -1 -1 -1 -1 -1 1 3 2 1 1 -1 ^- -1", `want a number, found "-"`},
		{"1 1 5 90 4 ^1. -1 -1 -1 -1 1 3 2 1 1 -1 -1 -1", `want a number, found "1."`},
		{"1 1 5 90 ^4.5 -1 -1 -1 -1 -1 1 3 2 1 1 -1 -1 -1", `want an integer below 2^31, found "4.5"`},
		{"1 1 5 90 4 -1 -1 -1 -1 -1 1 ^2147483648 2 1 1 -1 -1 -1", `want an integer below 2^31, found "2147483648"`},
		{swfLine + "\n1 1 5 90 ^16777217 -1 -1 -1 -1 -1 1 3 2 1 1 -1 -1 -1", "more than 16777216 tasks in a job"},
		{"1 ^9223372037 5 90 4 -1 -1 -1 -1 -1 1 3 2 1 1 -1 -1 -1", "9223372037 is out of range"},
		{"1 1 5 ^5000000000 4 -1 -1 -1 -1 -1 1 3 2 1 1 -1 -1 -1", "the sum of the times of the job's tasks is out of range"},
		{"1 1 5 5 4 -1 -1 -1 ^5000000000 -1 1 3 2 1 1 -1 -1 -1", "the sum of the estimates of the job's tasks is out of range"},
		{"^\x00", "want a number"},
	} {
		text, line, column := cut(t, tc.marked)
		jobs, err := collect(t, ReadSWF(strings.NewReader(text), ReadOptions{File: "t.swf", Requested: true}))
		checkError(t, text, err, "t.swf", line, column, tc.reason)
		if want := strings.Count(text, swfLine); len(jobs) != want {
			t.Errorf("%q: %d jobs before the error, want %d", text, len(jobs), want)
		}
	}

	// The third job arrives after the first has left.
	text := swfLine + swfLine + strings.Replace(swfLine, " 60 ", " 59.5 ", 1)
	jobs, err := collect(t, ReadSWF(strings.NewReader(text), ReadOptions{Window: 1}))
	checkError(t, text, err, "-", 3, 5, "arrival is 0.5s before that of a job that came more than 1 jobs earlier")
	if len(jobs) != 2 || jobs[1].ID != sojourn.JobID(2) {
		t.Errorf("%d jobs before the error, want 2", len(jobs))
	}

	for _, o := range []ReadOptions{{Window: -1}, {Pool: PoolNone + 1}} {
		_, err := collect(t, ReadSWF(strings.NewReader(swfLine), o))
		if err == nil || !strings.HasPrefix(err.Error(), "trace: options: ") {
			t.Errorf("%+v: error %v, want one of the options", o, err)
		}
	}
}

// A workload of some hundred jobs returns from SWF with its arrivals, tasks and times.
func TestGeneratedSWF(t *testing.T) {
	g, err := workload.Lookup("bursty")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := g.Jobs(1, map[string]string{"jobs": "300"})
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		at    sojourn.Time
		tasks int
		run   time.Duration
	}
	var want, got []row
	var text strings.Builder
	for j, err := range jobs {
		if err != nil {
			t.Fatal(err)
		}
		at, run := int64(j.At)/1e9, 1+int64(j.Times[0].Of(0))/1e9
		tasks := j.Tasks()
		fmt.Fprintln(&text, j.ID, at, 5, run, tasks, -1, -1, tasks, run, -1, 1, 3, 3, 7, 1, 1, -1, -1)
		want = append(want, row{sojourn.Time(at * 1e9), int(tasks), time.Duration(run) * time.Second})
	}
	var stats Stats
	list, err := collect(t, ReadSWF(strings.NewReader(text.String()), ReadOptions{Stats: &stats}))
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range list {
		got = append(got, row{j.At, j.Phases[0].Tasks, j.Times[0].Of(0)})
	}
	if len(want) != 300 || !slices.Equal(got, want) || stats.Jobs != 300 {
		t.Errorf("got %d jobs %v\nwant %d jobs %v", stats.Jobs, got, len(want), want)
	}
}
