package cli

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mars"
)

// marsOnline returns Figure 17.
func marsOnline() experiment {
	e := marsExperiment(17, "ratio to the lower bound where jobs are known when they arrive", "total weighted job completion time / lower bound", semiOnlineRatios,
		"Section 5.3: with batch intervals of 50 s SO-MarS is at 1.09, MARES at 1.35, HUWF at 1.63, HJWF at 1.75; with 100 s SO-MarS is below 1.19 and the others are above 1.53. Neither the number of jobs nor their load is given. Here it is 20 and 100 jobs, of which one is released in each slot of 1 s (beyond the capacity of the machines) or of 10 s with probability 1/2.",
		"so-mars:commit=true is the strict reading: a batch is planned at its end, and comes after those before it. so-mars:batch=T plans all waiting work anew at each end; so-mars plans it when jobs arrive, and batches nothing. It is the policy itself, carried out.",
		"huwf and hjwf are strict lists of each batch, those of a batch after those before it; huwf-dispatch gives free machines to the first task of the jobs that have been batched. MARES is left out.",
		"The bound knows all jobs in advance. With bound=batches it is that of jobs which are released at the end of their batch interval: what is left is not due to waiting for batches.",
		"Delays, plans and bounds are as in mars-fig7.",
	)
	for _, slot := range []string{"1s", "10s"} {
		for _, jobs := range []int{20, 100} {
			name := fmt.Sprintf("%d %s", jobs, slot)
			e.workloads = append(e.workloads, paperWorkload{name, fmt.Sprintf("mars-random:jobs=%d,slot=%s", jobs, slot), ""})
			add := func(policy string, value float64) {
				e.rows = append(e.rows, paperRow{workload: name, policy: policy, value: value,
					reason: "It depends on the load, which the paper does not give."})
			}
			for _, l := range []struct {
				batch            string
				mars, huwf, hjwf float64
			}{{"50s", 1.09, 1.63, 1.75}, {"100s", 0, 0, 0}} {
				b := ":batch=" + l.batch
				add("so-mars"+b+",commit=true", l.mars)
				add("so-mars"+b, l.mars)
				add("huwf"+b, l.huwf)
				add("hjwf"+b, l.hjwf)
				add("huwf-dispatch"+b, 0)
				for _, policy := range []string{"so-mars" + b + ",commit=true", "so-mars" + b, "huwf" + b, "hjwf" + b} {
					add(policy+",bound=batches", 0)
				}
			}
			add("so-mars", 0)
			add("huwf-dispatch", 0)
			add(marsBest, 0)
		}
	}
	return e
}

// semiOnlineRatios returns the objective of each plan over the lower bound of the
// instance, or of that in which jobs are released at the end of their batch interval.
func semiOnlineRatios(s *scenario, planners []plannerSpec) ([]float64, error) {
	in := planInstance(s)
	late := map[time.Duration]float64{}
	ratios := make([]float64, len(planners))
	err := makePlans(s, &in, planners, func(i int, p *mars.Schedule) error {
		ratios[i] = p.Ratio()
		if batch := planners[i].Online.Batch; planners[i].late {
			if late[batch] == 0 {
				b, err := mars.LowerBound(batched(in, batch), mars.Options{})
				if err != nil {
					return err
				}
				late[batch] = b.LowerBound
			}
			ratios[i] = p.Objective / late[batch]
		}
		return nil
	})
	return ratios, err
}

// batched returns the instance in which jobs are released at the end of their batch
// interval, counted from the first release.
func batched(in mars.Instance, interval time.Duration) mars.Instance {
	jobs := append([]mars.Job(nil), in.Jobs...)
	var first sojourn.Time
	for j := range jobs {
		if j == 0 || jobs[j].Release < first {
			first = jobs[j].Release
		}
	}
	for j := range jobs {
		if rest := jobs[j].Release.Sub(first) % interval; rest > 0 {
			jobs[j].Release = jobs[j].Release.Add(interval - rest)
		}
	}
	in.Jobs = jobs
	return in
}
