package hfsp

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A watched policy is checked after each event and each start.
type watched struct {
	*Policy
	check  func()
	revise func(at sojourn.Time)
}

func (w watched) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.JobArrived { // the simulator does not know the bound, which changes
		job := *ev.Job
		job.Parallelism = uint32(job.ID) * 5 % 12
		ev.Job = &job
	}
	err := w.Policy.Observe(ev)
	w.check()
	if err == nil {
		w.revise(ev.At)
	}
	return err
}

func (w watched) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := w.Policy.Assign(id)
	w.check()
	return a, ok
}

// Of a job that bounds how many of its tasks run at a time, the queues of a class have the first phases in each order,
// as many as it has room for: of those at a level of the reserve, of those that claim slots, and of those that train. With delays
// they have all, unless there is no room.
func TestQueuesHaveTheFirstPhasesOfBoundedJobs(t *testing.T) {
	bounded, hidden := 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 36))
		o := Options{TrainingTasks: 1 + r.IntN(5), Late: []vqueue.Late{vqueue.LateFirst, vqueue.LateShare}[r.IntN(2)]}
		switch r.IntN(3) {
		case 0:
			o.Preemption = KillAny
		case 1:
			o.Reserve = 0.3
		}
		if r.IntN(4) == 0 {
			o.NodeDelay = 2 * time.Second
		}
		sized := r.IntN(2) == 0
		if sized {
			o.Estimator = func() Estimator { return NewOracle(NewTrainer(0, 0)) }
		}
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		check := func() {
			for j := range p.ledger.All() {
				if !j.Bounded() {
					continue
				}
				bounded++
				for _, c := range p.classes {
					var lists [reserve.Levels + 2][]*phase
					for _, ph := range j.Data.phases {
						if ph == nil || ph.class != c || !ph.may() {
							continue
						}
						lists[ph.item.Level()] = append(lists[ph.item.Level()], ph)
						if o.Preemption == KillAny && !ph.early {
							lists[reserve.Levels] = append(lists[reserve.Levels], ph)
						}
						if c.trains(ph) {
							lists[reserve.Levels+1] = append(lists[reserve.Levels+1], ph)
						}
					}
					in := make(map[string]bool)
					for it := range c.aging.Marked(claims) {
						in[fmt.Sprint("claims", it.Value.handle)] = true
					}
					for _, k := range c.training.queue.All() {
						in[fmt.Sprint("trains", k.phase.handle)] = true
					}
					for i, list := range lists {
						name, before := "ready", func(a, b *phase) bool { return c.aging.Before(a.item, b.item) }
						switch i {
						case reserve.Levels:
							name = "claims"
						case reserve.Levels + 1:
							name, before = "trains", func(a, b *phase) bool {
								return cmp.Or(cmp.Compare(a.initial, b.initial), cmp.Compare(a.index, b.index)) < 0
							}
						}
						slices.SortFunc(list, func(a, b *phase) int {
							if before(a, b) {
								return -1
							}
							return 1
						})
						for k, ph := range list {
							got := in[fmt.Sprint(name, ph.handle)]
							if name == "ready" {
								got = ph.item.Ready()
							}
							if k < j.Room() && !got || j.Room() == 0 && got || o.NodeDelay > 0 && got != (j.Room() > 0) {
								t.Fatalf("seed %d: job %d has room for %d: phase %d, number %d of %d, is in %s: %t", seed, j.Spec().ID, j.Room(), ph.index, k, len(list), name, got)
							}
							if !got {
								hidden++
							}
						}
					}
				}
			}
		}
		revise := func(at sojourn.Time) {
			if r.IntN(8) > 0 {
				return
			}
			for j := range p.ledger.All() {
				spec := *j.Spec()
				spec.Parallelism, spec.Weight = uint32(r.IntN(12)), float64(1+r.IntN(3))
				spec.Phases = slices.Clone(spec.Phases)
				for i := range spec.Phases {
					if sized && r.IntN(2) == 0 {
						spec.Phases[i].Estimate = time.Duration(1+r.IntN(100)) * time.Second / 4
					}
				}
				if err := p.Observe(sojourn.Event{Kind: sojourn.JobRevised, At: at, Job: &spec}); err != nil {
					t.Fatal(err)
				}
				check()
				return
			}
		}
		var cluster sim.Cluster
		for range 1 + r.IntN(3) {
			cluster.Nodes = append(cluster.Nodes, sim.Node{Slots: []int{1 + r.IntN(5), 1 + r.IntN(5)}})
		}
		var jobs []*sim.Job
		for id := range 1 + r.IntN(5) {
			j := &sim.Job{
				Job: sojourn.Job{ID: sojourn.JobID(id + 1), Phases: make([]sojourn.Phase, 1+r.IntN(40))},
				At:  sojourn.Time(4*id+r.IntN(4)) * sojourn.Time(time.Second),
			}
			for i := range j.Phases {
				ph := &j.Phases[i]
				ph.Tasks, ph.Class = 1+r.IntN(6), sojourn.Class(r.IntN(2))
				switch r.IntN(5) {
				case 0:
					ph.After = sojourn.NoBarrier
				case 1:
					if i > 0 {
						ph.After = 1 + r.IntN(j.Phases[i-1].Tasks)
					}
				case 2, 3:
					ph.Needs = []int{}
					if i > 0 && r.IntN(2) == 0 {
						ph.Needs = []int{r.IntN(i)}
					}
				}
				each := time.Duration(1+r.IntN(100)) * time.Second / 4
				if sized {
					ph.Estimate = each
				}
				j.Times = append(j.Times, sim.Times{Each: each})
			}
			jobs = append(jobs, j)
		}
		_, err = sim.Run(context.Background(), sim.Config{
			Cluster: cluster, Jobs: sim.Jobs(jobs...), Policy: watched{p, check, revise}, Preempt: seed%2 == 0, Seed: seed,
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if bounded < 10000 || hidden < 10000 {
		t.Errorf("%d bounded jobs were seen, and %d phases that are in no queue: want more", bounded, hidden)
	}
}
