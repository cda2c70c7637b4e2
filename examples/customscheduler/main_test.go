package main

import (
	"strings"
	"testing"
	"testing/synctest"
)

// Two workers; the pool "paid" has three times the share of "free", so that job 2
// gets one of them at once. Job 2 is given up after the third failure; job 3 is
// cancelled at 170 ms, while its first task runs to its end.
func TestDemo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		demo(&got)
		want := ` 25ms  task 2/0/0  attempt 1  <nil>
 50ms  task 1/0/0  attempt 1  <nil>
 55ms  task 2/0/1  attempt 1  file does not exist
 85ms  task 2/0/1  attempt 2  file does not exist
102ms  task 1/0/1  attempt 1  <nil>
115ms  task 2/0/1  attempt 3  file does not exist
        job 2 is given up: <nil>
156ms  task 1/0/2  attempt 1  <nil>
        job 3 is cancelled: <nil>
212ms  task 1/0/3  attempt 1  <nil>
216ms  task 3/0/0  attempt 1  <nil>
`
		if got.String() != want {
			t.Errorf("demo printed\n%swant\n%s", got.String(), want)
		}
	})
}
