package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// flood is the log of the page: four workers that take calls as they come, three tenants with a call of 2 s every 5 s, and one that sends 500 at once.
func flood() string {
	type arrival struct {
		flow string
		at   int
	}
	var calls []arrival
	for i := range 80 {
		for _, name := range []string{"alice", "bob", "carol"} {
			calls = append(calls, arrival{name, 5 * i})
		}
		if 5*i == 20 {
			calls = append(calls, slices.Repeat([]arrival{{"flood", 20}}, 500)...)
		}
	}
	var free [4]int
	text := "flow,queued,started,ended\n"
	for _, c := range calls {
		k := slices.Index(free[:], slices.Min(free[:]))
		start := max(c.at, free[k])
		free[k] = start + 2
		text += fmt.Sprintf("%s,%d,%d,%d\n", c.flow, c.at, start, free[k])
	}
	return text
}

// The page shows what the program prints, from CSV as from JSON lines.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/tenants.md")
	if err != nil {
		t.Fatal(err)
	}
	csv := flood()
	jsonl := ""
	for line := range strings.Lines(csv) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		if cells[0] != "flow" {
			jsonl += fmt.Sprintf("{\"flow\":%q,\"queued\":%s,\"started\":%s,\"ended\":%s}\n", cells[0], cells[1], cells[2], cells[3])
		}
	}
	for _, text := range []string{csv, jsonl} {
		file := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := run(&out, file, "", 0); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), out.String()) {
			t.Errorf("docs/tenants.md does not show what is printed:\n%s", &out)
		}
	}
}

// With one flow, calls are dispatched as they came, and nothing changes. Weights and costs decide who waits, and dates are read.
func TestPick(t *testing.T) {
	calls, _, err := read(strings.NewReader(flood()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		calls[i].flow = "one"
	}
	starts, err := pick(calls, nil, atMost(calls))
	for i, c := range calls {
		if err != nil || starts[i] != c.started {
			t.Fatalf("call %d starts at %d, want %d as it was: %v", i, starts[i], c.started, err)
		}
	}
	const two = `flow,queued,started,ended,cost
a,2025-01-31T00:00:00Z,2025-01-31T00:00:00Z,2025-01-31T00:00:01Z,30
b,2025-01-31T00:00:00Z,2025-01-31T00:00:01Z,2025-01-31T00:00:02Z,10
`
	if calls, _, err = read(strings.NewReader(two + strings.Repeat(strings.Join(strings.Split(two, "\n")[1:], "\n"), 99))); err != nil {
		t.Fatal(err)
	}
	if starts, err = pick(calls, map[string]uint64{"b": 1}, 1); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for i, c := range calls {
		if starts[i]-starts[0] < 40e9 {
			count[c.flow]++
		}
	}
	if count["a"] < 9 || count["a"] > 11 || count["b"] != 40-count["a"] {
		t.Errorf("costs of 30 and of 10: %v of the first 40 calls, want 10 and 30", count)
	}
}

// Logs are read as programs and spreadsheets write them: with a mark of the byte order, other separators and titles, empty lines, and calls that are
// still open.
func TestForms(t *testing.T) {
	want := []call{{"a", 0, 1e9, 3e9, 2e9}, {"b", 1e9, 2e9, 4e9, 2e9}}
	for _, test := range []struct {
		text string
		open int
	}{
		{"\uFEFFFlow,Queued,Started,Ended\r\na,0,1,3\r\nb,1,2,4\r\n", 0},
		{"id;flow;queued;started;ended\n1;a;0;1;3\n2;b;1;2;4\n3;b;5;;\n4;b;5;6;\n", 2},
		{"flow\tqueued\tstarted\tended\na\t0\t1\t3\nb\t1\t2\t4\n", 0},
		{`{"flow":"a","queued":0,"started":1,"ended":3}

{"flow":"b","queued":1,"started":2,"ended":4}
{"flow":"b","queued":1,"started":null}

{"flow":"b","queued":1}
`, 2},
	} {
		if calls, open, err := read(strings.NewReader(test.text)); err != nil || !slices.Equal(calls, want) || open != test.open {
			t.Errorf("%q: %v, %d left out, %v, want %v, %d", test.text, calls, open, err, want, test.open)
		}
	}
}

func TestBadLogs(t *testing.T) {
	const titles = "flow,queued,started,ended\n"
	for text, want := range map[string]string{
		"":                           "the log is empty",
		titles:                       "no calls",
		titles + "a,1,,\n":           "no calls that have ended",
		titles + "a,1,2":             "line 2: wrong number of fields",
		titles + "a,0,1,2\na,x,1,2":  `line 3: queued: "x" is neither seconds nor a date`,
		titles + "a,2,1,3":           "line 2: queued 2, started 1, ended 3: want them in this order",
		"flow,queued,started\na,1,2": `line 1: no title ended among ["flow" "queued" "started"]`,
		"{\"flow\":\"a\"}\n":         "line 1: no key queued",
		"{\"flow\":\n":               "line 1: want one JSON object",
		`{"flow":"a","queued":0,"started":0,"ended":1} {}`: "line 1: want one JSON object",
		"flow,queued,started,ended,cost\na,0,1,2,-3\n":     `line 2: cost: "-3" is no whole number`,
	} {
		if _, _, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"a", "a=0", "a=x", "a=1,b", "a=1,none=2"} {
		if _, err := parseWeights(text, []call{{flow: "a"}, {flow: "b"}}); err == nil {
			t.Errorf("weights %q are taken", text)
		}
	}
}
