package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// heights returns how many stages come before each stage on the longest path to it, and the stages
// that it waits for, from what drivers are told.
func heights(j *sim.Job) (before []int, needs [][]int) {
	for s := range j.Phases {
		h, list := 0, []int(nil)
		for k := range j.WaitsFor(s) {
			list = append(list, k)
			h = max(h, before[k]+1)
		}
		before, needs = append(before, h), append(needs, list)
	}
	return before, needs
}

// The shape of a graph: levels without gaps, each stage fed by the level before alone, and as many
// edges as the rule of Spår gives and its supplement allows.
func TestShapeOfSparkJobs(t *testing.T) {
	seen := map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		stages := rapid.SampledFrom([]string{"alibaba", "1", "2", "3-40", "40"}).Draw(rt, "stages")
		partitions := rapid.SampledFrom([]int{1, 200}).Draw(rt, "partitions")
		jobs := make1(t, "spark", rapid.Uint64().Draw(rt, "seed"), fmt.Sprintf("jobs=10 stages=%s partitions=%d", stages, partitions))
		for _, j := range jobs {
			before, needs := heights(j)
			if !slices.IsSorted(before) {
				rt.Fatalf("job %d: stages of levels %v are not in the order of levels", j.ID, before)
			}
			width := make([]int, before[len(before)-1]+1)
			for _, l := range before {
				width[l]++
			}
			edges := make([]int, len(width)) // from each level to the next
			readers := make([]int, len(needs))
			for s, list := range needs {
				for _, k := range list {
					readers[k]++
					edges[before[k]]++
					if before[k] != before[s]-1 {
						rt.Fatalf("job %d: stage %d of level %d needs stage %d of level %d", j.ID, s, before[s], k, before[k])
					}
				}
				if before[s] > 0 && j.Phases[s].Tasks > partitions {
					rt.Fatalf("job %d: stage %d has %d tasks, want at most %d", j.ID, s, j.Phases[s].Tasks, partitions)
				}
				seen["several needs"] = seen["several needs"] || len(list) > 1
			}
			for l := range len(width) - 1 {
				each := (3*width[l+1] + 4*width[l] - 1) / (4 * width[l]) // three quarters, rounded up
				if least := width[l] * each; edges[l] < least || edges[l] > least+width[l+1]-1 {
					rt.Fatalf("job %d: %d edges from %d stages to %d, want %d and less than %d more", j.ID, edges[l], width[l], width[l+1], least, width[l+1])
				}
			}
			for s, n := range readers {
				seen["several readers"] = seen["several readers"] || n > 1
				if before[s] < len(width)-1 && n == 0 {
					rt.Fatalf("job %d: nothing needs stage %d of level %d of %d", j.ID, s, before[s], len(width))
				}
			}
			if j.Features() != 0 {
				seen["needs"] = true
			} else if len(needs) > 1 {
				seen["chain"] = true
			}
		}
	})
	for _, what := range []string{"several needs", "several readers", "needs", "chain"} {
		if !seen[what] {
			t.Errorf("no job had %s", what)
		}
	}
}

// Numbers of stages and lengths of the longest path are as often as in the trace.
func TestStagesOfSparkJobs(t *testing.T) {
	all := overSeeds(t, "spark", "jobs=1000 partitions=1 inputs=0.1,0.1,0.1,0.1,0.1,0.1,0.1", many(20))
	byStages := map[int][]int{} // depths of the jobs with so many stages
	n := 0
	for _, jobs := range all {
		for _, j := range jobs {
			before, _ := heights(j)
			byStages[len(before)] = append(byStages[len(before)], before[len(before)-1]+1)
			n++
		}
	}
	// Of 2,857,851 jobs of the trace, 1,095,436 have one stage, 583,168 two, 364,851 three, and
	// 2,711,155 at most ten.
	few := 0
	for stages := range 11 {
		few += len(byStages[stages])
	}
	checkShare(t, "jobs of one stage", len(byStages[1]), n, 0.3833)
	checkShare(t, "jobs of two stages", len(byStages[2]), n, 0.2041)
	checkShare(t, "jobs of three stages", len(byStages[3]), n, 0.1277)
	checkShare(t, "jobs of at most ten stages", few, n, 0.9487)
	for stages, want := range map[int][]float64{
		2: {0.023, 0.977}, 3: {0.013, 0.226, 0.761}, 5: {0.007, 0.083, 0.293, 0.443, 0.174},
	} {
		for i, p := range want {
			hits := 0
			for _, depth := range byStages[stages] {
				if depth == i+1 {
					hits++
				}
			}
			checkShare(t, fmt.Sprintf("of jobs of %d stages, those of depth %d", stages, i+1), hits, len(byStages[stages]), p)
		}
	}
}

// The other stages are on all levels alike, and so are the stages that feed those which the rule of
// Spår feeds from none.
func TestPlacesOfSparkStages(t *testing.T) {
	first, three, fed, four := 0, 0, 0, 0
	for _, j := range make1(t, "spark", 1, fmt.Sprintf("jobs=%d stages=3-4 partitions=1 inputs=0.1,0.1,0.1,0.1,0.1,0.1,0.1", many(40_000))) {
		before, needs := heights(j)
		switch fmt.Sprint(before) {
		case "[0 0 1]":
			first++
			three++
		case "[0 1 1]":
			three++
		case "[0 0 1 1]":
			if single := min(len(needs[2]), len(needs[3])); single == 1 && len(needs[2])+len(needs[3]) == 3 {
				four++
				for _, list := range needs {
					if len(list) == 1 && list[0] == 0 {
						fed++
					}
				}
			}
		}
	}
	checkShare(t, "of three stages on two levels, two on the first", first, three, 0.5)
	checkShare(t, "of stages that nothing feeds, those that the first one feeds", fed, four, 0.5)
}

// Data flows: what the first stages read is the input, each stage writes a part of what it reads, and
// what it writes is divided among its readers. Without noise, the times say how much each stage reads.
func TestDataOfSparkJobs(t *testing.T) {
	for _, selectivity := range []float64{0, 0.3, 0.5} {
		var shares []float64 // of what a stage reads, what it writes
		options := fmt.Sprintf("noise=0 start=0s scan-time=1000s shuffle-time=1000s load=none selectivity=%v", selectivity)
		for _, jobs := range append(overSeeds(t, "spark", options, many(8)), make1(t, "spark", 1, options+" stages=2 jobs=1000")) {
			for _, j := range jobs {
				before, needs := heights(j)
				reads := make([]float64, len(needs)) // GB
				scanned := 0.0
				for s := range needs {
					gb := j.Times[s].Total(j.Phases[s].Tasks).Seconds() / 1000
					pieces := 16.0
					if before[s] == 0 {
						pieces = 8
					}
					reads[s] = gb / pieces
					if want := max(1, math.Ceil(gb-1e-6)); before[s] == 0 && float64(j.Phases[s].Tasks) != want || before[s] > 0 && float64(j.Phases[s].Tasks) != min(want, 200) {
						t.Fatalf("job %d: stage %d reads %v pieces with %d tasks", j.ID, s, gb, j.Phases[s].Tasks)
					}
					if before[s] == 0 {
						scanned += reads[s]
					}
				}
				if got := fmt.Sprintf("%.0fGB", scanned); got != j.Name || !slices.Contains(strings.Split("2GB 5GB 10GB 20GB 50GB 80GB 100GB", " "), got) {
					t.Fatalf("job %d of %s: its first stages read %v GB", j.ID, j.Name, scanned)
				}
				if len(needs) == 2 && before[1] == 1 {
					shares = append(shares, reads[1]/reads[0])
				}
				for l := 1; l <= before[len(before)-1]; l++ {
					var from, to float64
					for s, b := range before {
						if b == l-1 {
							from += reads[s]
						} else if b == l {
							to += reads[s]
						}
					}
					if to > 2*selectivity*from+1e-6 {
						t.Fatalf("job %d: level %d reads %v GB of %v", j.ID, l, to, from)
					}
				}
			}
		}
		checkMoments(t, "share that a stage writes", shares, selectivity, selectivity*selectivity/3)
	}
}

// A graph survives a file, and a first job runs in the order of its graph.
func TestSparkJobsInFiles(t *testing.T) {
	jobs := make1(t, "spark", 4, "stages=2-40 jobs=50")
	i := 0
	for j, err := range trace.Read(strings.NewReader(text(t, "spark", 4, "stages=2-40 jobs=50")), trace.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		_, got := heights(j)
		_, want := heights(jobs[i])
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("job %d: needs %v read, %v written", j.ID, got, want)
		}
		i++
	}
	if i != len(jobs) {
		t.Errorf("%d jobs read, want %d", i, len(jobs))
	}
}

// A stage takes its start, and the time of what it reads.
func TestTimesOfSparkJobs(t *testing.T) {
	plain := make1(t, "spark", 1, "noise=0 start=0s")
	late := make1(t, "spark", 1, "noise=0 start=3s")
	var noise []float64
	for i, j := range make1(t, "spark", 1, "noise=0.5 start=3s") {
		for s, times := range j.Times {
			for task := range j.Phases[s].Tasks {
				noise = append(noise, float64(times.Of(task))/float64(late[i].Times[s].Of(task)))
			}
			if got, want := late[i].Times[s].Each, plain[i].Times[s].Each+3*time.Second; got < want-1 || got > want+1 {
				t.Fatalf("job %d, stage %d: tasks of %v, want %v", j.ID, s, got, want)
			}
		}
	}
	checkMoments(t, "noise", noise, 1, math.Exp(0.25)-1)
	if plain[0].Features()&^sojourn.FeatureNeeds != 0 {
		t.Errorf("features %v, want needs alone", plain[0].Features())
	}
}
