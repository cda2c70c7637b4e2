package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/trace"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// workload has jobs of one task: a long one first, and n short ones.
func workload(n int) string {
	text := `{"id":1,"at":0,"phases":[{"tasks":1,"time":[100]}]}` + "\n"
	for i := range n {
		text += fmt.Sprintf(`{"id":%d,"at":%d,"phases":[{"tasks":1,"time":[%d]}]}`+"\n", i+2, i+1, 1+i%3)
	}
	return text
}

// newBench returns a bench of two workloads and one log.
func newBench(t *testing.T) *Bench {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.jsonl"), workload(20))
	write(t, filepath.Join(folder, "b.jsonl"), strings.Replace(workload(40), `{"id":3,`, `{"id":3,"sequence":"one by one",`, 1))
	write(t, filepath.Join(folder, "c.swf"), "the log\n")
	write(t, filepath.Join(folder, List), `[{"name":"a","file":"a.jsonl","cluster":"1x1"},{"name":"b","file":"b.jsonl","cluster":"1x1"},
		{"name":"c","file":"c.swf","cluster":"2x1","convert":["--from","swf"],"requested":true}]`)
	policies := catalog.Builtin()
	b := &Bench{
		Policies: policies, Folder: folder, Dir: filepath.Join(t.TempDir(), "out"), Version: "v1",
		Specs: must(catalog.Parse("fair,fifo,srpt")), Loads: []string{Recorded, "0.5"}, Estimates: []string{"exact", "none", Requested},
		Convert: func(_ context.Context, args []string, to, _ io.Writer) error {
			jobs := 10
			if args[0] == "--requested-time" {
				jobs = 11
			}
			_, err := io.WriteString(to, workload(jobs))
			return err
		},
	}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	b.Traces = must(Find(folder, nil, io.Discard))
	return b
}

// run prepares and runs a bench until ctx ends, and returns the table.
func run(t *testing.T, ctx context.Context, b *Bench) *Table {
	t.Helper()
	book := must(Open(b.Dir, b.Version))
	defer book.Close()
	if err := b.Prepare(context.Background(), io.Discard, io.Discard, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Run(ctx, io.Discard, book); err != nil {
		t.Fatal(err)
	}
	return must(b.Table(book))
}

func text(t *Table) string {
	var out bytes.Buffer
	if err := errors.Join(format.WriteJSON(&out, t), t.Write(&out), t.WritePage(&out)); err != nil {
		panic(err)
	}
	return out.String()
}

// Each cell is run, each ratio is that of what 'compare' says, and a policy that refuses a workload is no error.
func TestBench(t *testing.T) {
	b := newBench(t)
	table := run(t, context.Background(), b)
	if table.Cells != (2+2+3)*2*3 || table.Done != table.Cells {
		t.Fatalf("%d of %d cells, want 42 of 42", table.Done, table.Cells)
	}
	refused, figures := 0, map[Cell][]float64{}
	for i := range table.Rows {
		r := &table.Rows[i]
		switch {
		case r.Refused != "":
			refused++
			if r.Trace != "b" || r.Ratios != nil || !strings.Contains(r.Refused, "Sequence") {
				t.Errorf("%+v is refused: %s", r.Cell, r.Refused)
			}
			continue
		case r.Trace == "b":
			t.Errorf("%+v is not refused, though a job has a sequence", r.Cell)
		}
		v := must(values(r.Result))
		figures[r.Cell] = v[:]
	}
	for i := range table.Rows {
		r := &table.Rows[i]
		of := r.Cell
		of.Policy = "fair"
		for k := range Figures {
			if r.Refused == "" && math.Abs(float64(r.Ratios[k])-figures[r.Cell][k]/figures[of][k]) > 1e-12 {
				t.Errorf("%+v: ratio %v, want %v over %v", r.Cell, r.Ratios[k], figures[r.Cell][k], figures[of][k])
			}
		}
	}
	if refused != 12 {
		t.Errorf("%d cells are refused, want 12", refused)
	}
	for _, l := range table.Summary {
		want, n := 0.0, 0
		for c, v := range figures {
			if c.Estimates == l.Estimates && c.Policy == l.Policy {
				of := c
				of.Policy = "fair"
				want += math.Log(v[0] / figures[of][0])
				n++
			}
		}
		if math.Abs(float64(l.Means[0])-math.Exp(want/float64(n))) > 1e-12 || l.Cells != n || l.Policy == "srpt" && l.Estimates == "exact" && !(l.Means[0] < 1) {
			t.Errorf("%+v, want a mean of %v over %d", l, math.Exp(want/float64(n)), n)
		}
	}
	if jobs := [3]int{table.Traces[0].Jobs, table.Traces[1].Jobs, table.Traces[2].Jobs}; jobs != [3]int{21, 41, 11} {
		t.Errorf("the traces have %v jobs, want 21, 41 and 11", jobs)
	}
}

// However often it is stopped, and whatever it was writing then, the same comes out in the end.
func TestGoesOn(t *testing.T) {
	b := newBench(t)
	want := text(run(t, context.Background(), b))
	again := *b
	again.Dir = filepath.Join(t.TempDir(), "out")
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if table := run(t, over, &again); table.Done != 0 {
		t.Errorf("%d cells were run after the end", table.Done)
	}
	lines := bytes.SplitAfter(must(os.ReadFile(filepath.Join(b.Dir, Records))), []byte("\n"))
	for n := 0; n < len(lines); n += 5 {
		torn := append(bytes.Join(lines[:n], nil), lines[n][:len(lines[n])/2]...)
		write(t, filepath.Join(again.Dir, Records), string(torn))
		if got := text(run(t, context.Background(), &again)); got != want {
			t.Fatalf("stopped after %d cells, it ends with\n%s\nwant\n%s", n, got, want)
		}
	}
	// Nothing is run that is there, and nothing is taken from another trace or version.
	broken := again
	broken.Policies = nil // whoever runs anything fails
	if got := text(run(t, context.Background(), &broken)); got != want {
		t.Errorf("a second look says\n%s\nwant\n%s", got, want)
	}
	other := again
	other.Version = "v2"
	book := must(Open(other.Dir, other.Version))
	if table := must(other.Table(book)); table.Done != 0 {
		t.Errorf("version 2 takes %d cells of version 1", table.Done)
	}
	book.Close()
	for what, change := range map[string]func(b *Bench){
		"seed":    func(b *Bench) { b.Seed++ },
		"cluster": func(b *Bench) { b.Traces[0].Cluster, b.Traces[1].Cluster, b.Traces[2].Cluster = "3x1", "3x1", "3x1" },
	} {
		changed := again
		changed.Traces = slices.Clone(again.Traces)
		change(&changed)
		book := must(Open(changed.Dir, changed.Version))
		if table := must(changed.Table(book)); table.Done != 0 {
			t.Errorf("with another %s, %d cells are taken as done", what, table.Done)
		}
		book.Close()
	}
	options := again
	options.Traces = slices.Clone(again.Traces)
	options.Traces[2].Convert = []string{"--from", "swf", "--keep-times"}
	book = must(Open(options.Dir, options.Version))
	if table := must(options.Table(book)); table.Done != table.Cells-18 || options.workload(&options.Traces[2], false) == again.workload(&again.Traces[2], false) {
		t.Errorf("%d of %d cells after the third trace is converted otherwise, want 18 less, and another workload", table.Done, table.Cells)
	}
	book.Close()
	write(t, filepath.Join(b.Folder, "a.jsonl"), workload(30))
	again.Traces = must(Find(b.Folder, nil, io.Discard))
	book = must(Open(again.Dir, again.Version))
	if table := must(again.Table(book)); table.Done != table.Cells-12 {
		t.Errorf("%d of %d cells of traces of which one has changed, want 12 less", table.Done, table.Cells)
	}
	book.Close()
}

// Lists that say nothing, or what cannot be, are refused with the place; logs are found by themselves.
func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		`[{"name":"a","file":"a.jsonl","cluster":"1x1"},{"name":"a","file":"b.jsonl","cluster":"1x1"}]`: "two traces",
		`[{"name":"../a","file":"a.jsonl","cluster":"1x1"}]`:                                            "name",
		`[{"name":"a","file":"../a.jsonl","cluster":"1x1"}]`:                                            "below the folder",
		`[{"name":"a","file":"a","cluster":"1x1","convert":["--cluster-out=/etc/passwd"]}]`:             "--cluster-out",
		`[{"name":"a","file":"a.jsonl"}]`:                                                               "no cluster",
		"[\n{\"nom\":1}]":                                                                               "unknown field",
		`[`:                                                                                             "unexpected EOF",
	} {
		folder := t.TempDir()
		write(t, filepath.Join(folder, List), text)
		_, err := Find(folder, nil, io.Discard)
		if bad := (*trace.Error)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), List) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	folder := t.TempDir()
	if _, err := Find(folder, nil, io.Discard); err == nil || !strings.Contains(err.Error(), "has no file") {
		t.Errorf("an empty folder: %v", err)
	}
	write(t, filepath.Join(folder, List), "[]")
	if _, err := Find(folder, nil, io.Discard); err == nil || !strings.Contains(err.Error(), "lists no trace") {
		t.Errorf("an empty list: %v", err)
	}
	if err := os.Remove(filepath.Join(folder, List)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "four.swf.gz"), "not compressed")
	record := "1 0 0 10 4 -1 -1 4 60 -1 1 1 1 1 1 -1 -1 -1\n"
	write(t, filepath.Join(folder, "one.swf"), "; MaxProcs: 128\n"+strings.Replace(record, " 60 ", " -1 ", 1))
	write(t, filepath.Join(folder, "two.swf"), "; MaxNodes: 128\n"+strings.Replace(record, " 4 ", " -1 ", 2))
	write(t, filepath.Join(folder, "five.swf"), strings.Repeat(record, 150)+strings.Replace(record, " 10 4 ", " 10 16 ", 1)+
		// Rows that never ran, or are part of another, say nothing, nor does what was asked for and not given.
		"2 0 0 -1 -1 -1 -1 1000000 60 -1 5 1 1 1 1 -1 -1 -1\n3 0 0 0 900 -1 -1 900 60 -1 5 1 1 1 1 -1 -1 -1\n"+
		"4 0 0 10 800 -1 -1 800 60 -1 3 1 1 1 1 -1 -1 -1\n5 0 0 10 4 -1 -1 700 60 -1 1 1 1 1 1 -1 -1 -1\n"+record)
	write(t, filepath.Join(folder, "three.swf"), ";MaxProcs:  64 \n"+strings.Replace(record, " 60 ", " -1 ", 1)+strings.Repeat(record, 60))
	var notes bytes.Buffer
	list := must(Find(folder, nil, &notes))
	type found struct {
		name, cluster string
		requested     bool
	}
	var all []found
	for _, trace := range list {
		all = append(all, found{trace.Name, trace.Cluster, trace.Requested})
	}
	if want := []found{{"five", "16x1", true}, {"one", "128x1", false}, {"three", "64x1", true}}; !slices.Equal(all, want) {
		t.Errorf("found %+v", list)
	}
	if !strings.Contains(notes.String(), "two.swf is left out") || !strings.Contains(notes.String(), "five.swf runs on 16 slots, those of its widest job") || !strings.Contains(notes.String(), "four.swf.gz is left out: gzip") {
		t.Errorf("notes %q", notes.String())
	}
	if _, err := Find(folder, []string{"one", "four"}, io.Discard); err == nil || !strings.Contains(err.Error(), "there are five, one, three") {
		t.Errorf("an unknown trace: %v", err)
	}
	if list := must(Find(folder, []string{"three"}, io.Discard)); len(list) != 1 || list[0].Name != "three" {
		t.Errorf("asked for three: %+v", list)
	}
}

// A file that a policy, a cluster or convert names counts by what it says.
func TestNamedFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"pools.json", "c.json", "topology.json"} {
		write(t, name, "1")
		b := &Bench{}
		tr := &Trace{SHA256: "0", Cluster: "c.json", Convert: []string{"--from", "rumen", "--topology=topology.json"}}
		c := Cell{Policy: "priority:inner=fair:pools=pools.json", Estimates: "exact"}
		before := b.inputs(c, tr)
		if again := b.inputs(c, tr); again != before {
			t.Errorf("%s and %s", before, again)
		}
		write(t, name, "2")
		if b.inputs(c, tr) == before {
			t.Errorf("%s has changed, and nobody sees it", name)
		}
	}
}

// What somebody else has put into a folder stays there.
func TestForeignFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "index.html"), "mine")
	if _, err := Open(dir, "v1"); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a folder with a page of somebody's: %v", err)
	}
}

// Two programs do not work in one folder: the second would remove what the first one has converted.
func TestTwoPrograms(t *testing.T) {
	if !locksFiles {
		t.Skip("bench locks no folder on " + runtime.GOOS + ": see lock_other.go")
	}
	dir := t.TempDir()
	first := must(Open(dir, "v1"))
	if _, err := Open(dir, "v2"); !errors.As(err, new(usage.Error)) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("the second one: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := must(Open(dir, "v2")).Close(); err != nil {
		t.Error(err)
	}
}

// A full disk writes half of what it is given.
type full struct{ records }

func (f full) Write(data []byte) (int, error) {
	n, _ := f.records.Write(data[:len(data)/2])
	return n, syscall.ENOSPC
}

// A record that was written in part is taken back: those before it and after it are there in the next run.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	book := must(Open(dir, "v1"))
	cell := func(load string) Record { return Record{Cell: Cell{Trace: "t", Load: load}, Inputs: "i"} }
	file := book.file
	for load, f := range map[string]records{"1": file, "2": full{file}, "3": file} { // in any order
		book.file = f
		if err := book.Add(cell(load)); (err != nil) != (load == "2") {
			t.Errorf("load %s: %v", load, err)
		}
		if _, ok := book.find(cell(load).Cell, "i"); ok != (load != "2") {
			t.Errorf("load %s is there: %v", load, ok)
		}
	}
	if err := book.Close(); err != nil {
		t.Fatal(err)
	}
	book = must(Open(dir, "v1"))
	defer book.Close()
	for load, want := range map[string]bool{"1": true, "2": false, "3": true} {
		if _, ok := book.find(cell(load).Cell, "i"); ok != want {
			t.Errorf("then load %s is there: %v, want %v", load, ok, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, b := range []Bench{
		{Loads: []string{"0"}}, {Loads: []string{"much"}}, {Estimates: []string{"good"}},
		{Loads: []string{Recorded, Recorded}}, {Loads: []string{"0.5", "0.7", "0.50"}}, {Estimates: []string{"exact", "none", "exact"}},
		{Estimates: []string{"lognormal:0.5", "lognormal:.5"}}, {Estimates: []string{Requested, Requested}},
	} {
		if b.Check() == nil {
			t.Errorf("%v %v is accepted", b.Loads, b.Estimates)
		}
	}
}

// workloads returns how many files there are of converted traces.
func workloads(b *Bench) int {
	return len(must(os.ReadDir(filepath.Join(b.Dir, "workloads"))))
}

// Another program converts anew what it runs, and what the one before has converted is removed.
func TestConvertsAnew(t *testing.T) {
	b := newBench(t)
	run(t, context.Background(), b)
	if n := workloads(b); n != 2 {
		t.Fatalf("%d workloads, want 2", n)
	}
	b.Version = "v2"
	calls := 0
	b.Convert = func(_ context.Context, args []string, to, _ io.Writer) error {
		calls++
		_, err := io.WriteString(to, workload(20))
		return err
	}
	for range 2 {
		if table := run(t, context.Background(), b); table.Traces[2].Jobs != 21 || calls != 2 || workloads(b) != 2 {
			t.Errorf("the second program has converted %d times, runs %d jobs, and there are %d workloads; want 2, 21 and 2", calls, table.Traces[2].Jobs, workloads(b))
		}
	}
}

// Programs of one version that differ in a byte have names that differ, and copies have the same one.
func TestBuild(t *testing.T) {
	folder := t.TempDir()
	name := func(bytes string) string {
		path := filepath.Join(folder, fmt.Sprint(len(must(os.ReadDir(folder)))))
		write(t, path, bytes)
		return must(program("(devel)", path))
	}
	if a, again, other := name("one"), name("one"), name("two"); a != again || a == other || !strings.HasPrefix(a, "(devel) ") {
		t.Errorf("%q, its copy %q, another one %q", a, again, other)
	}
	if _, err := program("v1", filepath.Join(folder, "none")); err == nil {
		t.Error("a program that nobody can read has a name")
	}
	if name := must(Build("v1")); name != must(program("v1", must(os.Executable()))) {
		t.Errorf("this program is %q", name)
	}
}

// Of a job for which nobody requested a time, policies are told nothing.
func TestNobodyRequested(t *testing.T) {
	b := newBench(t)
	request := ""
	b.Convert = func(_ context.Context, args []string, to, _ io.Writer) error {
		text := workload(20)
		if args[0] == requestedTime {
			text = strings.ReplaceAll(text, `"tasks":1`, request+`"tasks":1`)
		}
		_, err := io.WriteString(to, text)
		return err
	}
	figure := func(told string) string {
		b.Version += "+"
		for _, r := range run(t, context.Background(), b).Rows {
			if r.Trace == "c" && r.Load == Recorded && r.Policy == "srpt" && r.Estimates == told {
				return fmt.Sprint(must(values(r.Result)))
			}
		}
		panic(told)
	}
	exact, none := figure("exact"), figure("none")
	if got := figure(Requested); got != none || got == exact {
		t.Errorf("nobody requested a time: srpt has %s, want %s as with nothing told; with exact sizes %s", got, none, exact)
	}
	request = `"estimate":7,`
	if got := figure(Requested); got != none {
		t.Errorf("all requested the same: srpt has %s, want %s", got, none)
	}
}

// A trace that cannot be read, converted or brought to a load is refused with the reason, and all others are run.
func TestOneTraceStopsNoOther(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "burst.jsonl"), `{"id":1,"at":5,"phases":[{"tasks":1,"time":10}]}`+"\n"+`{"id":2,"at":5,"phases":[{"tasks":1,"time":10}]}`+"\n")
	write(t, filepath.Join(folder, "torn.jsonl"), `{"id":1,`)
	write(t, filepath.Join(folder, "good.jsonl"), workload(20))
	write(t, filepath.Join(folder, List), `[{"name":"burst","file":"burst.jsonl","cluster":"1x1"}, {"name":"torn","file":"torn.jsonl","cluster":"1x1"},
		{"name":"many","file":"good.jsonl","cluster":"many"}, {"name":"log","file":"good.jsonl","cluster":"1x1","convert":["--from","odd"],"requested":true},
		{"name":"half","file":"good.jsonl","cluster":"1x1","convert":["--from","good"],"requested":true}, {"name":"good","file":"good.jsonl","cluster":"1x1"}]`)
	b := newBench(t)
	b.Folder, b.Traces = folder, must(Find(folder, nil, io.Discard))
	b.Convert = func(_ context.Context, args []string, to, _ io.Writer) error {
		if slices.Contains(args, "odd") || args[0] == requestedTime {
			return errors.New("nobody can convert that")
		}
		_, err := io.WriteString(to, workload(20))
		return err
	}
	for range 2 { // and at each try
		for i := range b.Traces {
			b.Traces[i].failed = [2]error{}
		}
		book := must(Open(b.Dir, b.Version))
		err := b.Prepare(context.Background(), io.Discard, io.Discard, nil)
		for _, name := range []string{"torn", "many", "log", "half"} {
			if err == nil || strings.Count(err.Error(), "trace "+name+":") != 1 {
				t.Errorf("trace %s is not in the error once: %v", name, err)
			}
		}
		if err := b.Run(context.Background(), io.Discard, book); err != nil {
			t.Fatal(err)
		}
		table := must(b.Table(book))
		book.Close()
		ran := map[string]int{}
		for _, r := range table.Rows {
			if r.Refused == "" {
				ran[r.Trace]++
			}
		}
		if want := map[string]int{"burst": 2 * 3, "half": 2 * 2 * 3, "good": 2 * 2 * 3}; fmt.Sprint(ran) != fmt.Sprint(want) || table.Done != table.Cells {
			t.Errorf("%v cells are run, want %v; %d of %d are done", ran, want, table.Done, table.Cells)
		}
		said := strings.Join(strings.Fields(text(table)), " ")
		for _, want := range []string{
			"trace burst refuses 6 runs, such as burst at load 0.5: burst.jsonl: all jobs arrive at once",
			fmt.Sprintf("%d of %d runs on 6 traces, of which 6 refused, without 48 of traces that cannot be read", 36, table.Cells),
			"trace torn cannot be read, for 12 runs: ", "trace log cannot be read, for 18 runs: nobody can convert that", "trace half cannot be read, for 6 runs: nobody",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("the table does not say %q:\n%s", want, said)
			}
		}
	}
	if n := bytes.Count(must(os.ReadFile(filepath.Join(b.Dir, Records))), []byte("\n")); n != 6+6+12+12 {
		t.Errorf("%d records, want 36: what cannot be read is tried again, and nothing else", n)
	}
}

// A run that fails stops no other one, and the error says how many failed.
func TestOneRunStopsNoOther(t *testing.T) {
	b := newBench(t)
	book := must(Open(b.Dir, b.Version))
	defer book.Close()
	must(0, b.Prepare(context.Background(), io.Discard, io.Discard, nil))
	write(t, filepath.Join(b.Folder, "a.jsonl"), "torn") // since it was looked at
	err := b.Run(context.Background(), io.Discard, book)
	if table := must(b.Table(book)); err == nil || !strings.Contains(err.Error(), "12 runs failed, the first one: trace a") || table.Done != table.Cells-12 {
		t.Errorf("%d of %d cells are done, want 12 less; error %v", table.Done, table.Cells, err)
	}
}

// What is done is told although the rest is not even converted.
func TestInterruptedConversion(t *testing.T) {
	b := newBench(t)
	want := run(t, context.Background(), b).Done
	convert := b.Convert
	b.Traces[2].Convert = []string{"--from", "swf", "--keep-times"}
	ctx, cancel := context.WithCancel(context.Background())
	b.Convert = func(ctx context.Context, args []string, to, notes io.Writer) error {
		cancel()
		return convert(ctx, args, to, notes)
	}
	if err := b.Prepare(ctx, io.Discard, io.Discard, nil); err != nil {
		t.Fatal(err)
	}
	book := must(Open(b.Dir, b.Version))
	defer book.Close()
	if err := b.Run(ctx, io.Discard, book); err != nil {
		t.Fatal(err)
	}
	if table := must(b.Table(book)); table.Done != want-18 || strings.Contains(text(table), "context canceled") {
		t.Errorf("%d cells are done, want %d:\n%s", table.Done, want-18, text(table))
	}
	if n := workloads(b); n != 2 {
		t.Errorf("%d workloads, want the 2 of before", n)
	}
}

// Files that the list names lie beside it, or where the command is called.
func TestFilesBesideTheList(t *testing.T) {
	t.Chdir(t.TempDir())
	b := newBench(t)
	for _, dir := range []string{".", b.Folder} {
		write(t, filepath.Join(dir, "c.json"), `{"nodes":[{"name":"n","slots":1}]}`)
		write(t, filepath.Join(dir, "1x1"), "no cluster: 1x1 is one")
	}
	write(t, "here.json", `{"nodes":[{"name":"n","slots":1}]}`)
	b.Traces[0].Cluster = "c.json"
	b.Traces[1].Cluster = "here.json"
	b.Traces[2].Convert = []string{"--from", "swf", "--topology=c.json", "--cluster", "c.json", "-c", "here.json", "--pool", "c.json"}
	var got []string
	convert := b.Convert
	b.Convert = func(ctx context.Context, args []string, to, notes io.Writer) error {
		got = args
		return convert(ctx, args, to, notes)
	}
	table := run(t, context.Background(), b)
	if table.Done != table.Cells || table.Traces[0].Cluster != "c.json" {
		t.Errorf("%d of %d cells on %s", table.Done, table.Cells, table.Traces[0].Cluster)
	}
	c := filepath.Join(b.Folder, "c.json")
	if want := []string{requestedTime, "--from", "swf", "--topology=" + c, "--cluster", c, "-c", "here.json", "--pool", "c.json", filepath.Join(b.Folder, "c.swf")}; !slices.Equal(got, want) {
		t.Errorf("convert %q, want %q", got, want)
	}
	before := b.inputs(Cell{Trace: "a"}, &b.Traces[0])
	write(t, c, `{"nodes":[{"name":"n","slots":2}]}`)
	if b.inputs(Cell{Trace: "a"}, &b.Traces[0]) == before {
		t.Error("the cluster beside the list has changed, and nobody sees it")
	}
}

// A file that is missing stops no other trace.
func TestMissingFile(t *testing.T) {
	b := newBench(t)
	if err := os.Remove(filepath.Join(b.Folder, "a.jsonl")); err != nil {
		t.Fatal(err)
	}
	book := must(Open(b.Dir, b.Version))
	defer book.Close()
	b.Traces = must(Find(b.Folder, nil, io.Discard))
	if err := b.Prepare(t.Context(), io.Discard, io.Discard, nil); !errors.Is(err, os.ErrNotExist) || strings.Count(err.Error(), "trace ") != 1 || !strings.Contains(err.Error(), "trace a") {
		t.Errorf("Prepare: %v, want that of trace a alone", err)
	}
	if err := b.Run(t.Context(), io.Discard, book); err != nil {
		t.Error(err)
	}
	if len(book.done) == 0 {
		t.Error("nothing was run")
	}
}
