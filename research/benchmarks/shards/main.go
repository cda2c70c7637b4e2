// Command shards compares one policy for a whole cluster with several that each own a part of its
// slots and of its jobs:
//
//	go run ./shards                what is lost, then what is won
//	go run ./shards -only hfsp     under one policy
//
// What is lost: the same workload is simulated on the whole cluster, and on 2 to 16 parts of it with the
// jobs that are dealt to each in turn. The slowdown of a job is its sojourn time by the time that it takes
// alone on the whole idle cluster, or by 10 s if this is more (bounded slowdown). Jobs that need one class of
// slot, and a policy for each class, are compared with one policy for all classes of the same cluster.
//
// What is won: an operation is the end of a task and the decision that follows. Each part has a goroutine.
// Beside it are as many goroutines that share one policy in a sojourn.Locked, with one lock an operation.
// They do nothing else, so that they wait for the lock as much as can be. The numbers are the best of
// several runs that take turns.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/workload"
)

var policies = []struct {
	name string
	make func() (sojourn.Policy, error)
}{
	{"fifo", func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }},
	{"fair", func() (sojourn.Policy, error) { return fair.New(fair.Options{}) }},
	{"hfsp", func() (sojourn.Policy, error) { return hfsp.New(hfsp.Options{}) }},
}

var parts = []int{1, 2, 4, 8, 16}

func main() {
	only := flag.String("only", "", "policies whose name contains this")
	jobs := flag.Int("jobs", 20_000, "jobs that are simulated")
	slots := flag.Int("slots", 160, "slots of the simulated cluster")
	load := flag.Float64("load", 0.8, "work that arrives, as a part of what the slots can do")
	live := flag.Int("live", 100_000, "jobs of the policy that decides")
	ops := flag.Int("ops", 1_000_000, "operations of a run")
	reps := flag.Int("reps", 5, "runs, of which the best counts")
	flag.Parse()
	for _, f := range []func() error{
		func() error { return lost(os.Stdout, *only, *jobs, *slots, *load) },
		func() error { return won(os.Stdout, *only, *live, *ops, *reps) },
	} {
		if err := f(); err != nil {
			log.Fatal(err)
		}
	}
}

// lost writes what parts cost jobs.
func lost(w io.Writer, only string, jobs, slots int, load float64) error {
	list, err := draw(jobs, slots, load)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d jobs, %d slots, load %v\n", jobs, slots, load)
	fmt.Fprintf(w, "%-8s %6s %12s %12s %26s\n", "", "", "", "", "sojourn, s, in classes")
	fmt.Fprintf(w, "%-8s %6s %12s %12s %12s %13s\n", "", "parts", "sojourn, s", "slowdown", "one policy", "a policy each")
	for _, p := range policies {
		if !strings.Contains(p.name, only) {
			continue
		}
		alone := map[sojourn.JobID]float64{}
		for _, k := range parts {
			cut, err := simulate(p.make, split(list, k), sim.Node{Slots: []int{slots / k}})
			if err != nil {
				return err
			}
			if k == 1 {
				for _, r := range cut {
					alone[r.ID] = r.Alone.Seconds()
				}
			}
			one, err := simulate(p.make, [][]*sim.Job{classes(list, k)}, sim.Node{Slots: equal(slots/k, k)})
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%-8s %6d %12.1f %12.2f %12.1f %13.1f\n", p.name, k, sojourns(cut), slowdown(cut, alone), sojourns(one), sojourns(cut))
		}
	}
	fmt.Fprintln(w)
	return nil
}

// draw makes jobs of 1 to 100 tasks and of very different sizes.
func draw(jobs, slots int, load float64) (list []*sim.Job, err error) {
	g, err := workload.Lookup("poisson")
	if err != nil {
		return nil, err
	}
	seq, err := g.Jobs(1, map[string]string{
		"jobs": fmt.Sprint(jobs), "slots": fmt.Sprint(slots), "load": fmt.Sprint(load),
		"sizes": "lognormal", "mean": "1000s", "tasks": "1-100", "noise": "0.3",
	})
	if err != nil {
		return nil, err
	}
	for job, err := range seq {
		if err != nil {
			return nil, err
		}
		list = append(list, job)
	}
	return list, nil
}

// split deals the jobs to k parts.
func split(list []*sim.Job, k int) [][]*sim.Job {
	dealt := make([][]*sim.Job, k)
	for i, j := range list {
		dealt[i%k] = append(dealt[i%k], j)
	}
	return dealt
}

// classes returns jobs that each need the class of their part.
func classes(list []*sim.Job, k int) (all []*sim.Job) {
	for i, j := range list {
		job := *j
		job.Phases = []sojourn.Phase{j.Phases[0]}
		job.Phases[0].Class = sojourn.Class(i % k)
		job.AnyClass = nil
		all = append(all, &job)
	}
	return all
}

func equal(x, n int) (list []int) {
	for range n {
		list = append(list, x)
	}
	return list
}

// simulate runs each part by itself on a node, and returns the records of all jobs.
func simulate(make func() (sojourn.Policy, error), dealt [][]*sim.Job, node sim.Node) (all []sim.JobRecord, err error) {
	for _, jobs := range dealt {
		p, err := make()
		if err != nil {
			return nil, err
		}
		res, err := sim.Run(context.Background(), sim.Config{
			Cluster: sim.Cluster{Nodes: []sim.Node{node}}, Jobs: sim.Jobs(jobs...), Policy: p, Records: true, NoAudit: true,
		})
		if err != nil {
			return nil, err
		}
		if res.Finished != len(jobs) {
			return nil, fmt.Errorf("%d of %d jobs finished", res.Finished, len(jobs))
		}
		all = append(all, res.JobRecords...)
	}
	return all, nil
}

// sojourns returns the mean sojourn time in seconds.
func sojourns(list []sim.JobRecord) float64 {
	sum := 0.0
	for i := range list {
		sum += list[i].Sojourn().Seconds()
	}
	return sum / float64(len(list))
}

// slowdown returns the mean bounded slowdown, with the times that jobs take alone on the whole cluster.
func slowdown(list []sim.JobRecord, alone map[sojourn.JobID]float64) float64 {
	sum := 0.0
	for i := range list {
		sum += max(list[i].Sojourn().Seconds()/max(alone[list[i].ID], 10), 1)
	}
	return sum / float64(len(list))
}

// won writes how many decisions a second there are.
func won(w io.Writer, only string, live, ops, reps int) error {
	fmt.Fprintf(w, "%d jobs, %d slots, %d processors; millions of decisions a second, and ns of processor time each\n", live, slotsOfAll, runtime.GOMAXPROCS(0))
	fmt.Fprintf(w, "%-8s %6s %20s %20s\n", "", "parts", "a policy each", "one, with a lock")
	for _, p := range policies {
		if !strings.Contains(p.name, only) {
			continue
		}
		best := make([][2]cost, len(parts))
		for range reps {
			for i, k := range parts {
				for column, measure := range []func(func() (sojourn.Policy, error), int, int, int) (cost, error){apart, locked} {
					c, err := measure(p.make, live, k, ops)
					if err != nil {
						return err
					}
					b := &best[i][column]
					if b.wall == 0 || c.wall < b.wall {
						b.wall = c.wall
					}
					if b.cpu == 0 || c.cpu < b.cpu {
						b.cpu = c.cpu
					}
				}
			}
		}
		for i, k := range parts {
			fmt.Fprintf(w, "%-8s %6d", p.name, k)
			for _, c := range best[i] {
				fmt.Fprintf(w, " %12.2f %7.0f", float64(ops)/float64(c.wall.Microseconds()), float64(c.cpu)/float64(ops))
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

// slotsOfAll is how many slots all parts have together.
const slotsOfAll = 1024

type cost struct{ wall, cpu time.Duration }

// A part is a policy and what runs on its slots.
type part struct {
	policy  sojourn.Policy
	now     sojourn.Time
	running []sojourn.Assignment
}

// newPart returns a policy with jobs whose tasks do not end, and slots that are all busy.
func newPart(make func() (sojourn.Policy, error), jobs, slots int) (*part, error) {
	p, err := make()
	if err != nil {
		return nil, err
	}
	t := &part{policy: p}
	for id := range sojourn.SlotID(slots) {
		if err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}}); err != nil {
			return nil, err
		}
	}
	for i := range jobs {
		job := &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: 1 << 20, Estimate: time.Second}}}
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err != nil {
			return nil, err
		}
	}
	for id := range sojourn.SlotID(slots) {
		a, ok := p.Assign(id)
		if !ok {
			return nil, fmt.Errorf("slot %d stays free", id)
		}
		t.running = append(t.running, a)
	}
	for i := range 2 * slots {
		t.step(i % slots)
	}
	return t, nil
}

// step ends the task on a slot and starts another one.
func (t *part) step(slot int) {
	t.now += sojourn.Time(time.Millisecond)
	a := t.running[slot]
	err := t.policy.Observe(sojourn.Event{Kind: sojourn.TaskFinished, At: t.now, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	next, ok := t.policy.Assign(a.Slot)
	if !ok {
		log.Fatalf("slot %d stays free", a.Slot)
	}
	t.running[slot] = next
}

// apart measures k parts, each with a goroutine.
func apart(make func() (sojourn.Policy, error), jobs, k, ops int) (cost, error) {
	var list []*part
	for range k {
		t, err := newPart(make, jobs/k, slotsOfAll/k)
		if err != nil {
			return cost{}, err
		}
		list = append(list, t)
	}
	return together(k, func(g int) {
		for i := range ops / k {
			list[g].step(i % len(list[g].running))
		}
	}), nil
}

// locked measures one policy that k goroutines share. Each has its own slots.
func locked(make func() (sojourn.Policy, error), jobs, k, ops int) (cost, error) {
	t, err := newPart(make, jobs, slotsOfAll)
	if err != nil {
		return cost{}, err
	}
	l := sojourn.NewLocked(t.policy)
	return together(k, func(g int) {
		for i := range ops / k {
			l.Visit(func(sojourn.Policy) { t.step(i*k%slotsOfAll + g) })
		}
	}), nil
}

// together measures goroutines that run at once.
func together(k int, f func(g int)) cost {
	runtime.GC()
	var all sync.WaitGroup
	start, before := time.Now(), cpu()
	for g := range k {
		all.Go(func() { f(g) })
	}
	all.Wait()
	return cost{time.Since(start), cpu() - before}
}

// cpu is the time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
