package trace

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

// collect returns the jobs of a sequence and the error that ended it. It fails if
// anything follows an error.
func collect(t testing.TB, jobs iter.Seq2[*sim.Job, error]) (list []*sim.Job, failure error) {
	t.Helper()
	for j, err := range jobs {
		if failure != nil {
			t.Fatalf("after the error %v: job %v, error %v", failure, j, err)
		}
		if (j == nil) == (err == nil) {
			t.Fatalf("job %v with error %v", j, err)
		}
		if failure = err; err == nil {
			list = append(list, j)
		}
	}
	return list, failure
}

// readAll reads a workload that has no fault.
func readAll(t testing.TB, text string) []*sim.Job {
	t.Helper()
	jobs, err := collect(t, Read(strings.NewReader(text), ReadOptions{}))
	if err != nil {
		t.Fatalf("Read(%s): %v", text, err)
	}
	return jobs
}

// cut removes the mark ^ from text and returns where it was: the line, and the
// column in bytes.
func cut(t testing.TB, marked string) (text string, line, column int) {
	t.Helper()
	before, after, found := strings.Cut(marked, "^")
	if !found {
		t.Fatalf("no mark in %q", marked)
	}
	last := before[strings.LastIndex(before, "\n")+1:]
	return before + after, strings.Count(before, "\n") + 1, len(last) + 1
}

// checkError compares an error with a place and a part of its reason.
func checkError(t testing.TB, input string, err error, file string, line, column int, reason string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%.300q: error %v (%T), want an *Error: %s", input, err, err, reason)
	}
	if e.File != file || e.Line != line || e.Column != column || !strings.Contains(e.Reason, reason) {
		t.Errorf("%.300q:\n got %v\nwant %s:%d:%d: ...%s...", input, err, file, line, column, reason)
	}
}

const seconds = time.Second

func TestReadExample(t *testing.T) {
	const text = `{"id":1,"name":"wc","at":12.5,"pool":"etl","weight":30,"deadline":300,"priority":-7,"parallelism":40,"release":60,"sequence":"account 7","phases":[` +
		`{"class":"map","tasks":3,"time":[10.2,9.1,11],"estimate":10,"bytes":[134217728,134217728,9000],` +
		`"nodes":[["n1","n7"],["n2"],["n3"]],"delay":[1,0.9,1.1],"cost":[5,4,9223372036854775807]},` +
		`{"class":"reduce","tasks":2,"time":15,"after":3,"cost":7}]}`
	want := []*sim.Job{{
		Job: sojourn.Job{
			ID: 1, Name: "wc", Pool: "etl", Weight: 30, Priority: -7, Parallelism: 40, Sequence: "account 7",
			Release:  sojourn.Time(72_500 * time.Millisecond),  // 12.5 + 60
			Deadline: sojourn.Time(312_500 * time.Millisecond), // 12.5 + 300
			Phases: []sojourn.Phase{{
				Tasks: 3, Class: sojourn.MapClass, Estimate: 10 * seconds,
				Bytes:  []int64{134217728, 134217728, 9000},
				Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1, 2}, {3}, {4}}), // in the order of appearance
				Delays: []time.Duration{seconds, 900 * time.Millisecond, 1100 * time.Millisecond},
			}, {
				Tasks: 2, Class: sojourn.ReduceClass, After: 3,
			}},
		},
		At: sojourn.Time(12_500 * time.Millisecond),
		Times: []sim.Times{
			{List: []time.Duration{10_200 * time.Millisecond, 9_100 * time.Millisecond, 11 * seconds}, Costs: []uint64{5, 4, math.MaxInt64}},
			{Each: 15 * seconds, Costs: []uint64{7, 7}},
		},
	}}
	if got := readAll(t, text); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", *got[0], *want[0])
	}
}

// Each input is a job of one phase. The test compares the phase.
func TestReadPhase(t *testing.T) {
	list := func(d ...time.Duration) sim.Times { return sim.Times{List: d} }
	tests := []struct {
		phase string
		want  sojourn.Phase
		times sim.Times
	}{
		{`{"time":2,"tasks":3}`, sojourn.Phase{Tasks: 3}, sim.Times{Each: 2 * seconds}},
		{`{"time":[2]}`, sojourn.Phase{Tasks: 1}, list(2 * seconds)},
		{`{"tasks":2,"time":[0,1e-9]}`, sojourn.Phase{Tasks: 2}, list(0, 1)},
		{`{"time":[1],"needs":[]}`, sojourn.Phase{Tasks: 1, Needs: []int{}}, list(seconds)},
		{`{"time":2,"tasks":2,"added":[0,1.5]}`, sojourn.Phase{Tasks: 2}, sim.Times{Each: 2 * seconds, Added: []time.Duration{0, 1500 * time.Millisecond}}},
		{`{"time":[1],"after":"none"}`, sojourn.Phase{Tasks: 1, After: sojourn.NoBarrier}, list(seconds)},
		{`{"time":[1,1],"estimate":[0,3]}`,
			sojourn.Phase{Tasks: 2, Estimates: []time.Duration{0, 3 * seconds}}, list(seconds, seconds)},
		{`{"bytes":7,"delay":2,"time":1,"tasks":2}`,
			sojourn.Phase{Tasks: 2, Bytes: []int64{7, 7}, Delays: []time.Duration{2 * seconds, 2 * seconds}},
			sim.Times{Each: seconds}},
		{`{"time":[1,1],"nodes":[[],["a"]]}`,
			sojourn.Phase{Tasks: 2, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{nil, {1}})},
			list(seconds, seconds)},
		{`{"time":[1],"nodes":[[]]}`, sojourn.Phase{Tasks: 1}, list(seconds)},
		{` { "cl\u0061ss" : "re\u0064uce" , "time" : [ 1 , 2 ] } `,
			sojourn.Phase{Tasks: 2, Class: sojourn.ReduceClass}, list(seconds, 2*seconds)},
		{`{"time":[1],"class":"map"}`, sojourn.Phase{Tasks: 1}, list(seconds)},
		{`{"time":[1],"class":1}`, sojourn.Phase{Tasks: 1, Class: sojourn.ReduceClass}, list(seconds)},
		{`{"time":[1],"class":2}`, sojourn.Phase{Tasks: 1, Class: 2}, list(seconds)},
		{`{"class":255,"time":[1]}`, sojourn.Phase{Tasks: 1, Class: 255}, list(seconds)},
	}
	for _, tc := range tests {
		j := readAll(t, `{"id":1,"at":0,"phases":[`+tc.phase+`]}`)[0]
		if !reflect.DeepEqual(j.Phases[0], tc.want) || !reflect.DeepEqual(j.Times[0], tc.times) {
			t.Errorf("%s:\n got %+v %v\nwant %+v %v", tc.phase, j.Phases[0], j.Times[0], tc.want, tc.times)
		}
		if open := !strings.Contains(tc.phase, `ss"`); (j.AnyClass != nil) != open || open && !j.AnyClass[0] {
			t.Errorf("%s: AnyClass = %v, want %v", tc.phase, j.AnyClass, open)
		}
	}
}

func TestReadLines(t *testing.T) {
	const job = `{"id":%d,"at":1,"phases":[{"tasks":1,"time":1}]}`
	one, two := fmt.Sprintf(job, 1), fmt.Sprintf(job, uint64(math.MaxUint64))
	for _, text := range []string{
		one + "\n" + two + "\n",
		one + "\n" + two, // the last line may lack its end
		one + "\r\n" + two + "\r\n",
		"\n \t\r\n" + one + "\n\n" + two + "\n\n", // blank lines
		" " + one + " \n\t" + two + "\t",
	} {
		var ids []sojourn.JobID
		for _, j := range readAll(t, text) {
			ids = append(ids, j.ID)
		}
		if want := []sojourn.JobID{1, math.MaxUint64}; !reflect.DeepEqual(ids, want) {
			t.Errorf("%q: ids %v, want %v", text, ids, want)
		}
	}
	if jobs := readAll(t, ""); len(jobs) != 0 {
		t.Errorf("empty input: %d jobs", len(jobs))
	}
}

func TestReadNodesOfCaller(t *testing.T) {
	const text = `{"id":1,"at":0,"phases":[{"time":[1],"nodes":[["b","a"]]}]}`
	nodes := func(name string) sojourn.NodeID { return map[string]sojourn.NodeID{"a": 7, "b": 9}[name] }
	jobs, err := collect(t, Read(strings.NewReader(text), ReadOptions{Nodes: nodes}))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := jobs[0].Phases[0].Inputs.Of(0), []sojourn.NodeID{9, 7}; !reflect.DeepEqual(got, want) {
		t.Errorf("nodes %v, want %v", got, want)
	}
	text2, line, column := cut(t, strings.Replace(text, `"a"`, `^"c"`, 1))
	_, err = collect(t, Read(strings.NewReader(text2), ReadOptions{File: "w", Nodes: nodes}))
	checkError(t, text2, err, "w", line, column, `unknown node "c"`)
}

// A mark ^ stands where the fault is.
func TestReadFaults(t *testing.T) {
	// These functions put a phase, or more keys, into a job that is right otherwise.
	phase := func(p string) string { return `{"id":1,"at":0,"phases":[` + p + `]}` }
	keys := func(k string) string { return `{"id":1,"at":0,"phases":[{"tasks":1,"time":1}]` + k + `}` }
	const good = `{"id":9,"at":5,"phases":[{"tasks":1,"time":1}]}` + "\n"
	tests := []struct{ name, marked, reason string }{
		// Lines that are not JSON.
		{"NaN", `{"id":1,"at":^NaN}`, "invalid character 'N'"},
		{"infinity", `{"id":1,"at":^Infinity}`, "invalid character 'I'"},
		{"truncated", `{"id":1,"at":0,"phases":[^`, "ends too early"},
		{"truncated on line 2", good + `{"id":1^`, "ends too early"},
		{"truncated by the end of the line", `{"id":1,^` + "\n}", "ends too early"},
		{"garbage after the object", keys("") + ` ^x`, "invalid character 'x' after top-level value"},
		{"two objects on a line", keys("") + `^{}`, "after top-level value"},
		{"trailing comma", `{"id":1,^}`, "invalid character '}'"},
		{"leading zero", `{"id":0^1}`, "invalid character '1'"},
		{"control character", `{"name":"a^` + "\x01" + `"}`, "invalid character"},
		{"invalid UTF-8", `{"name":"é^` + "\xff" + `"}`, "invalid UTF-8"},
		{"invalid UTF-8 after a replacement character", `{"name":"` + "\ufffd^\xff" + `"}`, "invalid UTF-8"},
		{"cut UTF-8", keys(`,"pool":"^` + "\xc3" + `"`), "invalid UTF-8"},

		// Keys.
		{"unknown key", keys(`,^"prio":1`), `unknown key "prio"`},
		{"unknown key of a phase", phase(`{"time":1,^"Tasks":1}`), `unknown key "Tasks"`},
		{"long unknown key", keys(`,^"a` + strings.Repeat("é", 30) + `":1`), `unknown key "a` + strings.Repeat("é", 19) + `..."`},
		{"duplicate key", keys(`,^"at":0`), `duplicate key "at"`},
		{"duplicate key in escapes", keys(`,^"\u0061t":0`), `duplicate key "at"`},
		{"duplicate key of a phase", phase(`{"time":1,"tasks":1,^"tasks":1}`), `duplicate key "tasks"`},
		{"no id", `^{"at":0,"phases":[{"tasks":1,"time":1}]}`, `missing key "id"`},
		{"no at", ` ^{"id":1,"phases":[{"tasks":1,"time":1}]}`, `missing key "at"`},
		{"no phases", good + `^{"id":1,"at":5}`, `missing key "phases"`},
		{"no time", phase(`^{"tasks":1}`), `missing key "time"`},
		{"no tasks", phase(`{"time":[1]},^{"time":1}`), `missing key "tasks"`},
		{"empty object", `^{}`, `missing key "id"`},

		// Kinds of values.
		{"list as a job", `^[]`, "want an object, found a list"},
		{"string as a job", `^"x"`, "want an object, found a string"},
		{"object as phases", `{"id":1,"at":0,"phases":^{}}`, "want a list, found an object"},
		{"number as a phase", phase(`^1`), "want an object, found a number"},
		{"string as id", `{"id":^"1"}`, "want a number, found a string"},
		{"null as at", `{"at":^null}`, "want a number, found null"},
		{"number as name", `{"name":^1}`, "want a string, found a number"},
		{"false as pool", `{"pool":^false}`, "want a string, found false"},
		{"string as weight", `{"weight":^"1"}`, "want a number, found a string"},
		{"object as time", phase(`{"time":^{}}`), "want a number, found an object"},
		{"list in time", phase(`{"time":[1,^[1]]}`), "want a number, found a list"},
		{"number as nodes", phase(`{"nodes":^1}`), "want a list, found a number"},
		{"flat nodes", phase(`{"nodes":[^"n1"]}`), "want a list, found a string"},
		{"number as node", phase(`{"nodes":[["a",^7]]}`), "want a string, found a number"},
		{"true as class", phase(`{"class":^true}`), "want a string, found true"},

		// Values.
		{"id 0", `{"id":^0}`, "want an integer from 1 to 18446744073709551615, found 0"},
		{"id -1", `{"id":^-1}`, "found -1"},
		{"id 2^64", `{"id":^18446744073709551616}`, "found 18446744073709551616"},
		{"fraction as id", `{"id":^1.0}`, "want an integer"},
		{"exponent as id", `{"id":^1e3}`, "want an integer"},
		{"negative at", `{"at":^-0.5}`, "-0.5 is negative"},
		{"negative at that rounds to 0", `{"at":^-1e-30}`, "is negative"},
		{"at out of range", `{"at":^9223372036.854775808}`, "out of range"},
		{"at far out of range", `{"at":^1e999999999999999999999}`, "out of range"},
		{"weight 0", keys(`,"weight":^0`), "weight is not above 0"},
		{"negative weight", keys(`,"weight":^-1`), "weight -1 is not in [2^-16, 2^32)"},
		{"small weight", keys(`,"weight":^1e-5`), "weight 1e-05 is not in"},
		{"large weight", keys(`,"weight":^4294967296`), "is not in"},
		{"infinite weight", keys(`,"weight":^1e999`), "is not in"},
		{"deadline 0", keys(`,"deadline":^0.0`), "deadline is not above 0"},
		{"deadline that rounds to 0", keys(`,"deadline":^1e-10`), "deadline is not above 0"},
		{"negative deadline", keys(`,"deadline":^-1`), "-1 is negative"},
		{"deadline out of range", `{"id":1,"deadline":^9223372036,"at":1,"phases":[{"tasks":1,"time":1}]}`, "at + deadline is out of range"},
		{"no release", keys(`,"release":^0`), "release is not above 0; leave it out if the job may start at once"},
		{"release out of range", `{"id":1,"at":1,"release":^9223372036.5,"phases":[{"tasks":1,"time":1}]}`, "at + release"},
		{"empty sequence", keys(`,"sequence":^""`), "empty sequence; leave it out if there is none"},
		{"cost 2^63", `{"id":1,"at":0,"phases":[{"tasks":1,"time":1,"cost":^9223372036854775808}]}`, "want an integer from 0 to 9223372036854775807"},
		{"negative cost", `{"id":1,"at":0,"phases":[{"tasks":1,"time":1,"cost":[^-1]}]}`, "want an integer from 0 to 9223372036854775807"},
		{"two costs of one task", `{"id":1,"at":0,"phases":[{"tasks":1,"time":1,"cost":^[1,2]}]}`, `"cost" lists 2 values for 1 tasks`},
		{"open", keys(`,^"open":true`), `unknown key "open"`},
		{"added as a number", phase(`{"time":[1,1],"added":^3}`), "want a list, found a number"},
		{"added of another length", phase(`{"time":[1,1],"added":^[0]}`), `"added" lists 1 values for 2 tasks`},
		{"added is empty", phase(`{"time":[1,1],"added":^[]}`), `"added" lists 0 values for 2 tasks`},
		{"added from 1 on", phase(`{"time":[1,1],"added":^[1,2]}`), `"added" does not begin with 0 and go on with no less each`},
		{"added back and forth", phase(`{"time":[1,1,1],"added":^[0,2,1]}`), `"added" does not begin with 0`},
		{"added negative", phase(`{"time":[1,1],"added":[0,^-1]}`), "-1 is negative"},
		{"added out of range", `^{"id":1,"at":1,"phases":[{"time":[1,1],"added":[0,9223372036.5]}]}`, "phase 0: the last task comes at an instant that is out of range"},
		{"added where one waits", `^{"id":1,"at":1,"phases":[{"time":[1,1],"added":[0,1]},{"time":[1]}]}`, "phase 1 waits for phase 0, whose tasks come later"},
		{"parallelism 2^32", keys(`,"parallelism":^4294967296`), "want an integer from 0 to 4294967295"},
		{"empty phases", `{"id":1,"at":0,"phases":^[]}`, "no phases"},
		{"class", phase(`{"class":^"Map"}`), `want "map", "reduce" or a number from 0 to 255, found "Map"`},
		{"class 256", phase(`{"class":^256}`), "want an integer from 0 to 255, found 256"},
		{"class as text", phase(`{"class":^"2"}`), `want "map", "reduce" or a number from 0 to 255, found "2"`},
		{"tasks 0", phase(`{"time":1,"tasks":^0}`), "want an integer from 1 to 2147483647, found 0"},
		{"tasks -1", phase(`{"time":1,"tasks":^-1}`), "found -1"},
		{"tasks 1e12", phase(`{"time":1,"tasks":^1000000000000}`), "found 1000000000000"},
		{"too many tasks", phase(`{"time":1,"tasks":^16777217}`), "more than 16777216 tasks in a job"},
		{"too many tasks together", phase(`{"time":1,"tasks":16777216},{"time":^[1]}`), "more than 16777216 tasks in a job"},
		{"empty list", phase(`{"time":^[]}`), "0 tasks"},
		{"short list", phase(`{"time":^[1],"tasks":2}`), `"time" lists 1 values for 2 tasks`},
		{"long list", phase(`{"time":^[1,2],"tasks":1}`), `"time" lists 2 values for 1 tasks`},
		{"estimates", phase(`{"time":[1],"estimate":^[1,2]}`), `"estimate" lists 2 values for 1 tasks`},
		{"no estimates", phase(`{"time":[1],"estimate":^[]}`), `"estimate" lists 0 values for 1 tasks`},
		{"sizes", phase(`{"bytes":^[1,2],"time":[1]}`), `"bytes" lists 2 values for 1 tasks`},
		{"inputs", phase(`{"time":[1],"nodes":^[]}`), `"nodes" lists 0 values for 1 tasks`},
		{"delays", phase(`{"time":[1],"delay":^[1,2]}`), `"delay" lists 2 values for 1 tasks`},
		{"negative time", phase(`{"time":[1,^-1]}`), "-1 is negative"},
		{"sum of times", phase(`{"time":^[9e9,9e9]}`), "sum of the times"},
		{"product of times", phase(`{"tasks":16777216,"time":^1e6}`), "sum of the times"},
		{"sum over phases", phase(`{"tasks":1,"time":9e9},{"tasks":1,"time":^9e9}`), "sum of the times"},
		{"sum of estimates", phase(`{"estimate":^[9e9,9e9],"time":[1,1]}`), "sum of the estimates"},
		{"product of estimates", phase(`{"tasks":2,"estimate":^9e9,"time":1}`), "sum of the estimates"},
		{"estimate 0", phase(`{"time":[1],"estimate":^0}`), "estimate is not above 0"},
		{"negative estimate", phase(`{"estimate":^-2}`), "-2 is negative"},
		{"negative size", phase(`{"bytes":[^-2]}`), "found -2"},
		{"size 2^63", phase(`{"bytes":^9223372036854775808}`), "found 9223372036854775808"},
		{"negative delay", phase(`{"delay":^-2}`), "-2 is negative"},
		{"empty name of a node", phase(`{"nodes":[[^""]]}`), "empty name"},
		{"after 0", phase(`{"time":[1]},{"after":^0,"time":[1]}`), `after 0 tasks is written "none"`},
		{"after too many", phase(`{"time":[1]},{"after":^2,"time":[1]}`), "after 2 of 1 tasks"},
		{"after in the first phase", phase(`{"after":^1,"time":[1]}`), "no phase comes before the first"},
		{"needs itself", phase(`{"time":[1]},{"time":[1],"needs":[0,^1]}`), "phase 1 does not come before this one, which is phase 1, counted from 0"},
		{"needs twice", phase(`{"time":[1]},{"time":[1]},{"time":[1],"needs":[1,^0]}`), "phase 0 after phase 1: want increasing numbers"},
		{"needs a negative one", phase(`{"time":[1]},{"time":[1],"needs":[^-1]}`), "want an integer from 0 to 65536, found -1"},
		{"needs a number", phase(`{"time":[1]},{"time":[1],"needs":^0}`), "want a list"},
		{"needs and after", phase(`{"time":[1]},{"time":[1],"after":1,"needs":^[0]}`), `"needs" beside "after": want one of the two`},
		{"after a word", phase(`{"after":^"all"}`), `want a number of tasks or "none", found "all"`},

		// Between lines.
		{"out of order", good + `{"id":1,"at":^4.5,"phases":[{"tasks":1,"time":1}]}`, "arrival at 4.5 is before that of the job before, 5"},
		{"duplicate id", good + "\n" + `{"id":^9,"at":6,"phases":[{"tasks":1,"time":1}]}`, "duplicate id 9"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			text, line, column := cut(t, tc.marked)
			jobs, err := collect(t, Read(strings.NewReader(text), ReadOptions{File: "w.jsonl"}))
			checkError(t, text, err, "w.jsonl", line, column, tc.reason)
			if want := strings.Count(text, good); len(jobs) != want {
				t.Errorf("%d jobs before the error, want %d", len(jobs), want)
			}
		})
	}
}

// The reader gives up a list at the limit, not after it has read the list.
func TestReadLimits(t *testing.T) {
	const job = `{"id":1,"at":0,"phases":[{"time":`
	for _, tc := range []struct{ marked, reason string }{
		{job + `^[1,1,1]},{"time":[1,1]}]}`, ""},
		{job + `[1,1,1,1,1,^1,-1]}]}`, "more than 5 tasks in a job"},
		{job + `[1,1,1]},{"time":^[1,1,1]}]}`, "more than 5 tasks in a job"},
		{job + `1,"tasks":^6}]}`, "more than 5 tasks in a job"},
		{job + `1,"tasks":1}` + strings.Repeat(`,{"tasks":1,"time":1}`, 1<<16-1) + `,^{"tasks":1,"time":1}]}`, "more than 65536 phases"},
	} {
		most := limits{tasks: 5}
		if strings.Contains(tc.reason, "phases") {
			most = limits{}
		}
		text, line, column := cut(t, tc.marked)
		_, err := collect(t, Read(strings.NewReader(text), ReadOptions{limits: most}))
		if tc.reason != "" {
			checkError(t, text, err, "-", line, column, tc.reason)
		} else if err != nil {
			t.Errorf("%s: %v, want as many tasks as the limit to pass", text, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	_, err := collect(t, Read(strings.NewReader("\n{\"id\":0}"), ReadOptions{File: "a/w.jsonl"}))
	const want = "a/w.jsonl:2:7: want an integer from 1 to 18446744073709551615, found 0"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	_, err = collect(t, Read(strings.NewReader("{"), ReadOptions{}))
	if err == nil || !strings.HasPrefix(err.Error(), "-:1:2: ") {
		t.Errorf("input without a name: got %v, want -:1:2: ...", err)
	}
}

// The IDs are a million in a row, and then any of them again.
func TestDuplicateIDs(t *testing.T) {
	a := newArrivals()
	for id := range sojourn.JobID(1_000_000) {
		if late, used := a.add(&sim.Job{Job: sojourn.Job{ID: id + 1}}); late+used != "" {
			t.Fatalf("id %d: %s", id+1, late+used)
		}
	}
	for _, id := range []sojourn.JobID{1, 63, 64, 65, 999_999, 1_000_000} {
		if _, used := a.add(&sim.Job{Job: sojourn.Job{ID: id}}); used == "" {
			t.Errorf("id %d is new the second time", id)
		}
	}
	if _, used := a.add(&sim.Job{Job: sojourn.Job{ID: 1_000_001}}); used != "" {
		t.Errorf("id 1000001: %s", used)
	}
	if words := len(a.used); words > 1_000_000/64+1 {
		t.Errorf("%d words for a million consecutive ids, want one for 64", words)
	}
}

func TestReadStopsWhenAsked(t *testing.T) {
	const text = `{"id":1,"at":0,"phases":[{"tasks":1,"time":1}]}` + "\n" + `bad`
	for _, err := range Read(strings.NewReader(text), ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}

// An error of the reader below is not an *Error, and errors.Is finds it.
func TestReadFailure(t *testing.T) {
	const text = `{"id":1,"at":0,"phases":[{"tasks":1,"time":1}]}` + "\n"
	failure := errors.New("disk on fire")
	r := iotest.DataErrReader(strings.NewReader(text))
	jobs, err := collect(t, Read(&failing{r, failure}, ReadOptions{File: "w"}))
	var e *Error
	if len(jobs) != 1 || !errors.Is(err, failure) || errors.As(err, &e) {
		t.Errorf("%d jobs, error %v (%T), want 1 job and an error that wraps %q", len(jobs), err, err, failure)
	}
}

// Single numbers stand for lists only up to a limit on the whole file.
func TestSpreadIsLimited(t *testing.T) {
	text := `{"id":1,"at":0,"phases":[{"tasks":3,"time":1,"bytes":7}]}
{"id":2,"at":0,"phases":[{"tasks":2,"time":1,"bytes":[1,2]}]}
{"id":3,"at":0,"phases":[{"tasks":3,"time":1,"delay":1}]}
`
	jobs := 0
	for _, err := range Read(strings.NewReader(text), ReadOptions{File: "w", limits: limits{spread: 5}}) {
		if err == nil {
			jobs++
			continue
		}
		want := "w:3:54: single numbers for bytes, delay and cost stand for more than 5 values in the file so far"
		if err.Error() != want {
			t.Errorf("Read = %v, want %s", err, want)
		}
	}
	if jobs != 2 {
		t.Errorf("%d jobs before the fault, want 2", jobs)
	}
}

// The reader keeps nothing of IDs that count up one by one. It finds each ID that comes
// again, in whatever order IDs come. The oracle is a set.
func TestKeptIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.SampledFrom([]uint64{1, 60, 1<<63 - 3, math.MaxUint64 - 6}).Draw(t, "near")
		a, seen := newArrivals(), map[uint64]bool{}
		for _, off := range rapid.SliceOfN(rapid.Uint64Range(0, 6), 0, 20).Draw(t, "ids") {
			_, used := a.add(&sim.Job{Job: sojourn.Job{ID: sojourn.JobID(near + off)}})
			if (used != "") != seen[near+off] {
				t.Fatalf("ID %d: fault %q, seen before: %v", near+off, used, seen[near+off])
			}
			seen[near+off] = true
		}
	})
	a := newArrivals()
	for id := sojourn.JobID(5); id < 1000; id++ {
		a.add(&sim.Job{Job: sojourn.Job{ID: id}})
	}
	if len(a.used) != 0 {
		t.Errorf("%d words are kept of IDs that count up", len(a.used))
	}
}
