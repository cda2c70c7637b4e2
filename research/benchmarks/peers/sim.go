package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Simulators of a cluster of 100 slots under FIFO: jobs of 20 tasks arrive as a Poisson process, and
// tasks have exponential lengths and start in their order. An operation is a task. Every program gets
// the same jobs, and must find the same mean sojourn time, within a millionth: what it measures is
// the same work.
//
// Compared: what it costs to simulate a task, from its arrival to its end. Not compared: package sim
// has a policy with slots and jobs, and all of its metrics but the audit; the others have a queue of
// tasks, and the mean. To read the jobs is in no number.

const (
	simSlots, simTasks = 100, 20
	simMean, simLoad   = 60.0, 0.8 // seconds; work that arrives, as a part of what the slots can do
)

func simulatorRows() []row {
	const group = "simulated task"
	return []row{
		{group, "sojourn sim, fifo, " + group, 100_000, simulate},
		program("SimPy, "+group, simpy),
		program("SimGrid, "+group, simgrid),
	}
}

// simJobs draws jobs with so many tasks together, always the same.
func simJobs(tasks int) (list []*sim.Job) {
	rng := rand.New(rand.NewPCG(1, 2))
	at := 0.0
	for i := range tasks / simTasks {
		at += simTasks * simMean / (simLoad * simSlots) * rng.ExpFloat64()
		times := make([]time.Duration, simTasks)
		for k := range times {
			times[k] = time.Duration(simMean * rng.ExpFloat64() * 1e9)
		}
		job := &sim.Job{At: sojourn.Time(at * 1e9), Times: []sim.Times{{List: times}}}
		job.ID, job.Phases = sojourn.JobID(i+1), []sojourn.Phase{{Tasks: simTasks}}
		list = append(list, job)
	}
	return list
}

func simulate(tasks int) (time.Duration, error) {
	_, took, err := simResult(tasks)
	return took, err
}

func simResult(tasks int) (*sim.Result, time.Duration, error) {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		return nil, 0, err
	}
	cfg := sim.Config{Policy: p, NoAudit: true, Jobs: sim.Jobs(simJobs(tasks)...)}
	cfg.Cluster.Nodes = []sim.Node{{Slots: []int{simSlots}}}
	before := cpu()
	res, err := sim.Run(context.Background(), cfg)
	return res, cpu() - before, err
}

// simText returns the jobs for another program: the slots, then a line for each job, with its arrival and
// the lengths of its tasks in seconds.
func simText(tasks int) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, simSlots)
	for _, j := range simJobs(tasks) {
		fmt.Fprintf(&b, "%.9f", float64(j.At)/1e9)
		for _, t := range j.Times[0].List {
			fmt.Fprintf(&b, " %.9f", t.Seconds())
		}
		fmt.Fprintln(&b)
	}
	return b.Bytes()
}

// program makes a row of a program that reads jobs, and prints the seconds of processor time that it
// simulated for, and the mean sojourn time of the jobs. It is prepared once.
func program(name string, prepare func() ([]string, error)) row {
	prepare = sync.OnceValues(prepare)
	return row{"simulated task", name, 100_000, func(tasks int) (time.Duration, error) {
		command, err := prepare()
		if err != nil {
			return 0, err
		}
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdin = bytes.NewReader(simText(tasks))
		text, err := output(cmd)
		if err != nil {
			return 0, err
		}
		want, _, err := simResult(tasks)
		if err != nil {
			return 0, err
		}
		return simAnswer(text, want.Sojourn.Mean)
	}}
}

// simAnswer reads what a program prints, and checks the mean.
func simAnswer(text string, want float64) (time.Duration, error) {
	fields := bytes.Fields([]byte(text))
	if len(fields) != 2 {
		return 0, fmt.Errorf("it printed %q, want two numbers", text)
	}
	took, err := strconv.ParseFloat(string(fields[0]), 64)
	if err != nil {
		return 0, err
	}
	got, err := strconv.ParseFloat(string(fields[1]), 64)
	if err != nil {
		return 0, err
	}
	if math.Abs(got-want) > 1e-6*want {
		return 0, fmt.Errorf("mean sojourn time %v s, want %v: it does other work", got, want)
	}
	return time.Duration(took * 1e9), nil
}
