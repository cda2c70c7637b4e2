package main

import (
	"strings"
	"testing"
	"testing/synctest"
)

// The clock of the bubble makes every number exact, and no two tasks of different jobs
// end at one instant. FIFO: the report takes 8 rounds of 61 ms on three workers, the
// import 3 rounds of 41 ms after that, the thumbnails 2 of 23 ms, then the email on one
// worker and the search on the others. leastwork: a job with fewer tasks
// has less work left while nothing tells them apart. The email takes one worker, the
// search the others. From 11 on the first worker runs thumbnails, from 19 on all do: one
// of them ends at 34, two at 42, one at 57 and two at 65. The import follows on each
// worker, three tasks one after the other, until 188, and then the report, eight.
func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		compare(&got)
		want := `job                 fifo  leastwork
nightly report     488ms      676ms
import             611ms      188ms
thumbnails         657ms       65ms
email              668ms       11ms
search             676ms       19ms
`
		if got.String() != want {
			t.Errorf("compare printed\n%swant\n%s", got.String(), want)
		}
	})
}
