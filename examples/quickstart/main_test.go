package main

import (
	"strings"
	"testing"
	"testing/synctest"
)

// The clock of the bubble makes every number exact, and no two tasks of different jobs
// end at one instant. FIFO: the report takes 8 rounds of 61 ms on three workers, the
// import 3 rounds of 41 ms after that, the thumbnails 2 of 23 ms, then the email on one
// worker and the search on the others. HFSP: at 0 the one training slot goes to the
// first of the thumbnails, which have the fewest tasks of the jobs that are not tiny;
// the others to the email and the search, whose second task follows at 11. Thumbnails
// start until 53 and train until 46, when the training slot goes to the import, and at
// 128, when five tasks of the import have started, to the report. The import's last
// task starts at 188, the report's at 626.
func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		compare(&got)
		want := `job                 fifo    hfsp
nightly report     488ms   687ms
import             611ms   229ms
thumbnails         657ms    76ms
email              668ms    11ms
search             676ms    30ms
`
		if got.String() != want {
			t.Errorf("compare printed\n%swant\n%s", got.String(), want)
		}
	})
}
