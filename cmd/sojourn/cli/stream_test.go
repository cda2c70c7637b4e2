package cli

import (
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/schollz/progressbar/v3"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
	"github.com/sojourn-sched/sojourn/sim"
)

// linesOf returns a workload of so many jobs, which is made as it is read.
func linesOf(jobs int) io.Reader {
	r, w := io.Pipe()
	go func() {
		for id := range jobs {
			fmt.Fprintf(w, `{"id":%d,"at":%d,"phases":[{"tasks":2,"time":%d}]}`+"\n", id+1, id, id%3)
		}
		w.Close()
	}()
	return r
}

// The memory that a run takes grows by less than 75 bytes a job, which are for quantiles and
// the order of jobs.csv. A job in memory takes hundreds.
func TestRunMemory(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the bound comes after the run, and leaves no garbage in between
	c, err := readCluster("2x2")
	if err != nil {
		t.Fatal(err)
	}
	var most [2]uint64
	for i, jobs := range []int{2000, 12000} {
		w, err := streamed(linesOf(jobs), "stdin", c)
		if err != nil {
			t.Fatal(err)
		}
		flags := &runFlags{policies: builtin()}
		if err := (&loadFlags{load: 0.5}).apply(w, c); err != nil {
			t.Fatal(err)
		}
		all, read := w.again, 0
		w.again = func() iter.Seq2[*sim.Job, error] {
			return func(yield func(*sim.Job, error) bool) {
				for j, err := range all() {
					if read++; read%1000 == 0 {
						var m runtime.MemStats
						runtime.GC()
						runtime.ReadMemStats(&m)
						most[i] = max(most[i], m.HeapAlloc)
					}
					if !yield(j, err) {
						return
					}
				}
			}
		}
		rows, err := newSortedCSV("")
		if err != nil {
			t.Fatal(err)
		}
		s, done := &scenario{flags: flags, workload: w, cluster: c, part: 500}, 0
		_, err = s.runCounted(t.Context(), progressbar.DefaultSilent(1<<30), []catalog.Spec{{Name: "fair"}}, func(int) runHooks {
			return runHooks{job: func(rank int, r *sim.JobRecord) {
				rows.write(rank, jobRow(r))
				done++
			}}
		})
		if err != nil || done != jobs || read != 2*jobs || s.bound == nil {
			t.Fatalf("%d of %d jobs, %d read, error %v, bound %v", done, jobs, read, err, s.unbound)
		}
		rows.spool.remove()
		w.close()
	}
	if most[1] > most[0]+10_000*75 {
		t.Errorf("%d bytes in use with 2,000 jobs, %d with 12,000", most[0], most[1])
	}
}

// What run says of a policy, which reads jobs again and again, is what compare says, which
// keeps them.
func TestRunIsCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("w.jsonl", sampleWorkload, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"--sample --seed 3 --estimates lognormal:1",
		"-w w.jsonl -c 10x3 --load 0.7",
		"-w w.jsonl -c 10x2+1 --load 0.7 --scale durations --fault-task 0.1",
		"--gen hfsp-test:jobs=30 --load 0.9 --place 2 --place-all",
		"--gen rtmr-1 -p rtmr --retest",
	} {
		args := strings.Fields(args)
		if args[len(args)-2] != "rtmr" && args[len(args)-1] != "--retest" {
			args = append(args, "-p", "hfsp")
		}
		var alone map[string]any
		runJSON(t, &alone, append([]string{"run", "--json", "-q"}, args...)...)
		var both struct{ Policies []map[string]any }
		runJSON(t, &both, append([]string{"compare", "--json", "-q"}, args...)...)
		if len(both.Policies) != 1 || !reflect.DeepEqual(alone, both.Policies[0]) {
			t.Errorf("%v: run says\n%v\ncompare\n%v", args, alone, both.Policies)
		}
	}
}

// A file that changes between two readings is found out.
func TestChangedFile(t *testing.T) {
	c, err := readCluster("10x2+1")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "w.jsonl")
	text := string(sampleWorkload)
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := streamed(file, name, c)
	if err != nil {
		t.Fatal(err)
	}
	read := func() (jobs int, last error) {
		for _, err := range w.all() {
			if last = err; err == nil {
				jobs++
			}
		}
		return jobs, last
	}
	for range 2 {
		if jobs, err := read(); err != nil || jobs != 180 {
			t.Fatalf("%d jobs, %v", jobs, err)
		}
	}
	// More at the end is not part of it.
	if err := os.WriteFile(name, []byte(text+"{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if jobs, err := read(); err != nil || jobs != 180 {
		t.Errorf("with more at the end: %d jobs, %v", jobs, err)
	}
	for _, other := range []string{strings.Replace(text, `"at":`, `"at" :`, 1)[:len(text)-1] + "\n", strings.Replace(text, "time", "tims", 1), text[:len(text)/2]} {
		if err := os.WriteFile(name, []byte(other), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := read(); err == nil {
			t.Errorf("no error although the file is another one")
		}
	}
}

// Rows come out in the order of their ranks, in whatever order they come, with anything in
// them; also those that are longer than what is read at a time.
func TestSortedCSV(t *testing.T) {
	f, err := newSortedCSV("")
	if err != nil {
		t.Fatal(err)
	}
	defer f.spool.remove()
	const n = 3000
	want := "n,text\n"
	var rows [][]string
	for i := range n {
		text := strings.Repeat("x", i%50)
		switch i {
		case 17:
			text = strings.Repeat("long ", 30_000)
		case 2000:
			text = ""
		}
		rows = append(rows, []string{fmt.Sprint(i), text})
		want += fmt.Sprintf("%d,%s\n", i, text)
	}
	rows[5][1], want = "a\n\"b\"", strings.Replace(want, "\n5,xxxxx\n", "\n5,\"a\n\"\"b\"\"\"\n", 1)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		f.write(i, rows[i])
	}
	name := filepath.Join(t.TempDir(), "t.csv")
	if err := f.create(name, []string{"n", "text"}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%v; %d bytes, want %d", err, len(got), len(want))
	}
}
