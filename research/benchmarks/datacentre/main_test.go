package main

import (
	"math"
	"testing"
)

// The workload has the moments that the package comment names.
func TestWorkload(t *testing.T) {
	jobs, tasks, work := 0, 0, 0.0
	last := 0.0
	for j, err := range workload(100_000, 1000, 0.8) {
		if err != nil {
			t.Fatal(err)
		}
		jobs++
		tasks += j.Phases[0].Tasks
		for _, d := range j.Times[0].List {
			work += d.Seconds()
		}
		last = float64(j.At) / 1e9
	}
	for _, tc := range []struct {
		what      string
		got, want float64
	}{
		{"tasks of a job", float64(tasks) / float64(jobs), 100},
		{"seconds of a task", work / float64(tasks), 60},
		{"load", work / (last * 1000), 0.8},
	} {
		if math.Abs(tc.got/tc.want-1) > 0.05 {
			t.Errorf("%s: %v, want %v", tc.what, tc.got, tc.want)
		}
	}
}
