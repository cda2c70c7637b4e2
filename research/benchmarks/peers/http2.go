package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "golang.org/x/net/http2" // whose tests are run
)

// The write schedulers of golang.org/x/net/http2, which choose the stream of a connection that sends
// its next frame. What they schedule cannot be made outside of their package, so the package's own
// benchmark runs: WriteSchedulerThroughput pushes a message to each of 100 streams, and pops frames
// until there are none. An operation is one pop.
//
// Compared: the choice among 100 streams. Not compared: a pop cuts a frame from its message, and has a
// fifteenth of a push in it. Frames do not end later, so nothing keeps an account of what runs. Round
// robin and random choose without an order, and all streams have the same priority.
//
// The test binary runs twice, with few and with many iterations, and the difference counts.

// http2Pops is how many frames an iteration of the benchmark pops: 20 streams have a message of 5 frames,
// 20 of 10, and so on up to 25.
const http2Pops = 20 * (5 + 10 + 15 + 20 + 25)

func http2Rows() []row {
	const group = "100 streams"
	build := sync.OnceValues(http2Build)
	list := []row{floorRow(group, 100), policyRow(group, "fair", 100, newFair, false)}
	for _, s := range []struct{ title, bench string }{
		{"round robin", "RoundRobin"},
		{"random", "Random"},
		{"RFC 7540", "PriorityRFC7540"},
		{"RFC 9218", "PriorityRFC9218Incremental"},
	} {
		list = append(list, row{group, "http2 " + s.title + ", " + group, 2000 * http2Pops, func(ops int) (time.Duration, error) {
			binary, err := build()
			if err != nil {
				return 0, err
			}
			return http2Run(binary, s.bench, ops)
		}})
	}
	return list
}

// http2Build builds the test binary of the package, in a folder of its own, and returns its path.
func http2Build() (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "http2.test")
	_, err = output(exec.Command("go", "test", "-c", "-o", binary, "golang.org/x/net/http2"))
	return binary, err
}

// http2Run returns the processor time of so many pops of a benchmark.
func http2Run(binary, bench string, pops int) (time.Duration, error) {
	run := func(iterations int) (time.Duration, error) {
		name := "BenchmarkWriteSchedulerThroughput" + bench
		cmd := exec.Command(binary, "-test.run=^$", "-test.bench=^"+name+"$", fmt.Sprintf("-test.benchtime=%dx", iterations))
		text, err := output(cmd)
		if err == nil && !strings.Contains(text, name) {
			err = fmt.Errorf("no %s in golang.org/x/net/http2", name)
		}
		if err != nil {
			return 0, err
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
	}
	few, err := run(1)
	if err != nil {
		return 0, err
	}
	many, err := run(1 + pops/http2Pops)
	return many - few, err
}
