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
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
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
	if _, err := Find(folder, nil, io.Discard); err == nil {
		t.Error("an empty folder is accepted")
	}
	record := "1 0 0 10 4 -1 -1 4 60 -1 1 1 1 1 1 -1 -1 -1\n"
	write(t, filepath.Join(folder, "one.swf"), "; MaxProcs: 128\n"+strings.Replace(record, " 60 ", " -1 ", 1))
	write(t, filepath.Join(folder, "two.swf"), "; MaxNodes: 128\n"+record)
	write(t, filepath.Join(folder, "three.swf"), ";MaxProcs:  64 \n"+strings.Replace(record, " 60 ", " -1 ", 1)+strings.Repeat(record, 60))
	var notes bytes.Buffer
	list := must(Find(folder, nil, &notes))
	if len(list) != 2 || list[0].Name != "one" || list[0].Cluster != "128x1" || list[0].Requested || list[1].Name != "three" || list[1].Cluster != "64x1" || !list[1].Requested {
		t.Errorf("found %+v", list)
	}
	if !strings.Contains(notes.String(), "two.swf is left out") {
		t.Errorf("notes %q", notes.String())
	}
	if _, err := Find(folder, []string{"one", "four"}, io.Discard); err == nil || !strings.Contains(err.Error(), "there are one, three") {
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

func TestCheck(t *testing.T) {
	for _, b := range []Bench{{Loads: []string{"0"}}, {Loads: []string{"much"}}, {Estimates: []string{"good"}}} {
		if b.Check() == nil {
			t.Errorf("%v %v is accepted", b.Loads, b.Estimates)
		}
	}
}
