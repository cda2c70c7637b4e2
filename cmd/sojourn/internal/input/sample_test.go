package input

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

var update = flag.Bool("update", false, "write sample.jsonl anew")

// makeSample makes the built-in workload.
func TestSample(t *testing.T) {
	var got bytes.Buffer
	if err := trace.Write(&got, makeSample(t).All()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("sample.jsonl", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got.Bytes(), SampleWorkload) {
		t.Error("sample.jsonl is not what makeSample makes; go test -run TestSample -update writes it")
	}
}

// A kind of job in the sample has ranges, from the least to the most, of numbers of tasks
// and of times in tenths of a second.
type kind struct {
	name, pool          string
	share               int // of 100 jobs
	maps, mapTime       [2]int
	reduces, reduceTime [2]int
}

// makeSample returns 180 jobs of three kinds. The rarest kind brings most of the work.
// Arrivals come in bursts, at a load of 0.85. The seed is one that tells the five
// policies apart.
func makeSample(t *testing.T) *Workload {
	kinds := []kind{
		{"query", "adhoc", 64, [2]int{1, 8}, [2]int{40, 250}, [2]int{0, 1}, [2]int{40, 150}},
		{"hourly", "etl", 27, [2]int{10, 60}, [2]int{80, 300}, [2]int{2, 8}, [2]int{150, 400}},
		{"train", "batch", 9, [2]int{120, 300}, [2]int{120, 300}, [2]int{12, 40}, [2]int{200, 500}},
	}
	rng := rand.New(rand.NewPCG(1, 4))
	between := func(r [2]int) int { return r[0] + rng.IntN(r[1]-r[0]+1) }
	w := &Workload{Name: sampleName}
	var at time.Duration
	for id := range 180 {
		n := rng.IntN(100)
		k := kinds[0]
		for _, k = range kinds {
			if n -= k.share; n < 0 {
				break
			}
		}
		if rng.IntN(4) > 0 { // three of four jobs arrive alone, the others right after
			at += time.Duration(rng.IntN(1000)) * time.Second
		}
		j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(id + 1), Name: k.name, Pool: k.pool}, At: sojourn.Time(at)}
		add := func(class sojourn.Class, tasks int, each int) {
			if tasks == 0 {
				return
			}
			list := make([]time.Duration, tasks)
			for i := range list {
				// Task times differ by up to a fifth, and one of 25 tasks takes twice as
				// long.
				tenths := each * (80 + rng.IntN(41)) / 100
				if rng.IntN(25) == 0 {
					tenths *= 2
				}
				list[i] = time.Duration(tenths) * 100 * time.Millisecond
			}
			j.Phases = append(j.Phases, sojourn.Phase{Tasks: tasks, Class: class})
			j.Times = append(j.Times, sim.Times{List: list})
		}
		add(sojourn.MapClass, between(k.maps), between(k.mapTime))
		add(sojourn.ReduceClass, between(k.reduces), between(k.reduceTime))
		w.Jobs = append(w.Jobs, j)
	}
	c, err := ReadCluster(sampleCluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&ScaledLoad{Load: 0.85}).Apply(w, c); err != nil {
		t.Fatal(err)
	}
	for _, j := range w.Jobs {
		j.At = sojourn.Time(time.Duration(j.At).Round(100 * time.Millisecond))
	}
	return w
}
