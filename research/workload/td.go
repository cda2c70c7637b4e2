package workload

import (
	"fmt"
	"iter"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// td returns the job queues of the TD paper.
func td() []*Generator {
	queue := func(name, doc, splits, source string) *Generator {
		const assumed = "assumed: the paper says nothing"
		return &Generator{
			Name:    name,
			Doc:     doc,
			Source:  "TD (Throughput-Driven task scheduler), Section V",
			Cluster: "50x2+2",
			Options: []Option{
				option("size", "200", integers(1, 60_000), "input of all jobs together, in GB of 16 splits of 64 MB; the last job is cut to fit", "Section V: 100 to 300, default 200"),
				option("splits", splits, spans(1, maxTasks), "splits of a job, which are its map tasks, all numbers alike", source),
				option("times", "9s,12s,18s,25s", list(4, durations(1)), "mean time of a map task of grep, sort, word count, inverted index; jobs take turns", "assumed: Section V names the applications only"),
				option("spread", "0.15", numbers(0, 1), "times are uniform from 1-spread to 1+spread times their mean", "assumed: Section II says \"almost the same\""),
				option("reduces", "0", integers(0, maxTasks), "reduce tasks of a job", "the paper schedules map tasks only"),
				option("reduce-time", "20s", durations(1), "time of a reduce task", assumed),
				option("nodes", "50", integers(1, maxNodes), "nodes n1, n2, ... that hold the input", "Section V"),
				option("replicas", "1", integers(1, maxReplicas), "nodes that hold a split, all sets of them alike",
					"assumed: HDFS has 3 by default, but then most tasks are local under FIFO as well, not 35 % as in Section V-A"),
			},
			model: tdModel,
		}
	}
	return []*Generator{
		queue("td-small", "A queue of small jobs that read data at random places.", "10-100", "Section V: at most 100; the least is assumed"),
		queue("td-mix", "A queue of jobs of all sizes that read data at random places.", "50-300", "Section V"),
		queue("td-large", "A queue of large jobs that read data at random places.", "250-400", "Section V: at least 250; the greatest is assumed"),
	}
}

// splitsPerGB is 1 GiB over 64 MiB.
const (
	splitsPerGB = 16
	splitBytes  = 64 << 20
)

func tdModel(d draws, v values) (iter.Seq[*draft], error) {
	nodes, replicas := v.integer("nodes"), v.integer("replicas")
	if replicas > nodes {
		return nil, fmt.Errorf("option replicas: %d replicas on %d nodes", replicas, nodes)
	}
	applications := []string{"grep", "sort", "wordcount", "index"}
	times := v["times"].([]float64)
	spread := v.number("spread")
	return func(yield func(*draft) bool) {
		left := v.integer("size") * splitsPerGB
		for i := 0; left > 0; i++ {
			maps := min(left, within(d.stream(mapCounts, i), v.span("splits")))
			left -= maps

			j := &draft{}
			app := i % len(applications)
			j.job.Name = applications[app]
			r := d.stream(mapNoise, i)
			p := j.phase(sojourn.MapClass, maps, func(int) float64 {
				return float64(times[app] * uniform(r, 1-spread, 1+spread))
			})
			p.Inputs = d.place(i, maps, nodes, replicas)
			p.Bytes = slices.Repeat([]int64{splitBytes}, maps)
			if reduces := v.integer("reduces"); reduces > 0 {
				j.phase(sojourn.ReduceClass, reduces, func(int) float64 { return v.number("reduce-time") })
			}
			if !yield(j) {
				return
			}
		}
	}, nil
}
