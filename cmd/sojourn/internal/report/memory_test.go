package report

import (
	"fmt"
	"io"
	"iter"
	"runtime"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// linesOf returns a workload of many jobs, which is made while it is read.
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

// The memory of a run grows by less than 75 bytes for each job. They are for quantiles
// and the order of jobs.csv. A job in memory takes hundreds.
func TestRunMemory(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the bound comes after the run, and leaves no garbage in between
	c, err := input.ReadCluster("2x2")
	if err != nil {
		t.Fatal(err)
	}
	var most [2]uint64
	for i, jobs := range []int{2000, 12000} {
		w, err := input.Streamed(linesOf(jobs), "stdin", c)
		if err != nil {
			t.Fatal(err)
		}
		with := trial.Setup{Policies: catalog.Builtin()}
		if err := (&input.ScaledLoad{Load: 0.5}).Apply(w, c); err != nil {
			t.Fatal(err)
		}
		all, read := w.Again, 0
		w.Again = func() iter.Seq2[*sim.Job, error] {
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
		rows, err := files.NewSortedCSV("")
		if err != nil {
			t.Fatal(err)
		}
		s, done := &trial.Scenario{Setup: with, Workload: w, Cluster: c, Part: 500}, 0
		_, err = s.RunCounted(t.Context(), new(progress.Bar), []catalog.Spec{{Name: "fair"}}, func(int) trial.RunHooks {
			return trial.RunHooks{Job: func(rank int, r *sim.JobRecord) {
				rows.Write(rank, jobRow(r))
				done++
			}}
		})
		if err != nil || done != jobs || read != 2*jobs || s.Bound == nil {
			t.Fatalf("%d of %d jobs, %d read, error %v, bound %v", done, jobs, read, err, s.Unbound)
		}
		rows.Spool.Remove()
		w.Close()
	}
	if most[1] > most[0]+10_000*75 {
		t.Errorf("%d bytes in use with 2,000 jobs, %d with 12,000", most[0], most[1])
	}
}
