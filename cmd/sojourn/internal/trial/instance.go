package trial

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/research/plan"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// NewInstance returns the problem that package mars bounds and plans: the jobs with
// their true service times, on as many machines as the cluster has slots, each as
// fast as the fastest node. It leaves out everything that makes attempts longer in
// the simulator, so a bound for the instance is a bound for every run. Phases of a job
// that says what they need wait for none, since package mars knows chains only: any
// schedule of the job is one of the instance, but not the reverse. Bounds on parallelism, priorities and
// sequences are left out for the same reason.
func NewInstance(w *input.Workload, c *input.Cluster) plan.Instance {
	in, speed := emptyInstance(c), Fastest(c)
	for _, j := range w.Jobs {
		in.Jobs = append(in.Jobs, instanceJob(j, c, speed))
	}
	return in
}

// emptyInstance is NewInstance without jobs.
func emptyInstance(c *input.Cluster) plan.Instance {
	machines := c.Capacity()
	if c.Uniform {
		machines = machines[:1]
	}
	return plan.Instance{Machines: machines}
}

// instanceJob returns a job of NewInstance. speed is that of the fastest node.
func instanceJob(j *sim.Job, c *input.Cluster, speed float64) plan.Job {
	job := plan.Job{ID: j.ID, Release: max(j.At, j.Release), Weight: j.Weight}
	graph := hasNeeds(j)
	for i := range j.Phases {
		ph := &j.Phases[i]
		job.Phases = append(job.Phases, plan.Phase{
			Tasks:     ph.Tasks,
			Class:     input.ClassOf(c.Uniform, j, i),
			Time:      Hastened(j.Times[i].Each, speed),
			Times:     allHastened(j.Times[i].List, speed),
			Delays:    ph.Delays,
			NoBarrier: i > 0 && (graph || ph.After == sojourn.NoBarrier),
		})
	}
	return job
}

func hasNeeds(j *sim.Job) bool { return j.Features()&sojourn.FeatureNeeds != 0 }

// longestPath returns how long a job takes at least, in seconds: on its longest path, each phase
// takes as long as its longest task does on the fastest node, and its output as long as it needs
// to arrive.
func longestPath(j *sim.Job, speed float64) (longest float64) {
	there := make([]float64, len(j.Phases)) // when the output of a phase has arrived
	for i := range j.Phases {
		ph, open := &j.Phases[i], 0.0
		needs := ph.Needs
		if needs == nil && i > 0 && ph.After != sojourn.NoBarrier {
			needs = []int{i - 1}
		}
		for _, k := range needs {
			open = max(open, there[k])
		}
		for task := range ph.Tasks {
			end := open + Hastened(j.Times[i].Of(task), speed).Seconds()
			longest = max(longest, end)
			if ph.Delays != nil {
				end += ph.Delays[task].Seconds()
			}
			there[i] = max(there[i], end)
			if j.Times[i].List == nil && ph.Delays == nil {
				break // all are alike
			}
		}
	}
	return longest
}

// Fastest returns the greatest speed of a node.
func Fastest(c *input.Cluster) float64 {
	most := 0.0
	for _, n := range c.Nodes {
		if n.Speed == 0 {
			most = max(most, 1)
		}
		most = max(most, n.Speed)
	}
	return most
}

// Hastened returns a service time on a machine of some speed, rounded down.
func Hastened(d time.Duration, speed float64) time.Duration {
	if speed == 1 {
		return d
	}
	return time.Duration(math.Floor(float64(d) / speed))
}

func allHastened(times []time.Duration, speed float64) []time.Duration {
	if times == nil || speed == 1 {
		return times
	}
	fast := make([]time.Duration, len(times))
	for i, d := range times {
		fast[i] = Hastened(d, speed)
	}
	return fast
}
