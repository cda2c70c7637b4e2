package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
)

// The queue of Kueue v0.17, which admits jobs to a Kubernetes cluster: a cluster queue with one local
// queue, in strict FIFO order, without a server. It is in a module of its own, kueue, which takes four
// minutes of processor time to build, once. An operation takes the workload at the head, forgets it, and
// adds a new one. The row of this library is of jobs of one task: the end of one, the start of the
// oldest, and the arrival of another.
//
// Compared: jobs that come and go while n wait. Not compared: Kueue's scheduler, with flavors, quotas,
// cohorts and preemption, takes no part, and neither do slots. Kueue writes metrics. Those of local
// queues, which are on unless they are switched off, count the workloads of the queue one by one at each
// operation: with 100,000 of them, filling the queue takes more than half an hour, so this row is left out.

var kueueBinary = sync.OnceValues(func() (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "kueue")
	cmd := exec.Command("go", "build", "-C", "kueue", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	_, err = output(cmd)
	return binary, err
})

func kueueRows() (list []row) {
	for _, n := range []int{1000, 100_000} {
		group := fmt.Sprint(n, " waiting")
		list = append(list, row{group, "sojourn fifo, " + group, 200_000, func(ops int) (time.Duration, error) { return turnover(n, ops), nil }})
		if n == 1000 {
			list = append(list, row{group, "kueue, " + group, 1000, func(ops int) (time.Duration, error) { return kueueRun(n, ops, true) }})
		}
		list = append(list, row{group, "kueue, no local metrics, " + group, 20_000, func(ops int) (time.Duration, error) { return kueueRun(n, ops, false) }})
	}
	return list
}

func kueueRun(workloads, ops int, metrics bool) (time.Duration, error) {
	binary, err := kueueBinary()
	if err != nil {
		return 0, err
	}
	text, err := output(exec.Command(binary, fmt.Sprint("-workloads=", workloads), fmt.Sprint("-ops=", ops), fmt.Sprint("-metrics=", metrics)))
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return time.Duration(seconds * 1e9), err
}

// turnover measures fifo with one busy slot while n jobs of one task wait.
func turnover(n, ops int) time.Duration {
	p := must(fifo.New(fifo.Options{}))
	now, id := sojourn.Time(0), sojourn.JobID(0)
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	arrive := func() {
		id++
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}})
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded})
	for range n + 1 {
		arrive()
	}
	a, _ := p.Assign(0)
	before := cpu()
	for range ops {
		now += sojourn.Time(time.Second)
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: time.Second})
		was := a.Task.Job
		if a, _ = p.Assign(0); a.Task.Job != was+1 {
			log.Fatalf("job %d started after job %d", a.Task.Job, was)
		}
		arrive()
	}
	return cpu() - before
}
