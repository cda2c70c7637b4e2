package main

import (
	"strings"
	"testing"
)

// Job 1 keeps both workers busy until 20 min. Job 2 would push one of its tasks to 25
// min; behind it, it ends at 25 min itself, which is the offer. Job 3 starts at 25 min and
// runs two rounds.
func TestRun(t *testing.T) {
	var got strings.Builder
	if err := run(&got); err != nil {
		t.Fatal(err)
	}
	want := `job 1 by 20m0s: accepted
job 2 by 15m0s: job 1 would be late by 5m0s; offered 25m0s
job 2 by 25m0s: accepted
job 3 by 2h0m0s: accepted
job 1 ends at 20m0s, in time: true
job 2 ends at 25m0s, in time: true
job 3 ends at 55m0s, in time: true
`
	if got.String() != want {
		t.Errorf("run printed\n%swant\n%s", &got, want)
	}
}
