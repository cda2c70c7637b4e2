package main

import (
	"strings"
	"testing"
	"testing/synctest"
)

// The clock of the bubble makes every number exact. FIFO: the report takes 8 rounds
// of 60 ms on three workers, the import 3 rounds of 40 ms after that, the
// thumbnails 2 of 20 ms, then the email on one worker and the search on the others.
// HFSP: at 0 the one training slot goes to the first of the thumbnails, which have
// the fewest tasks of the jobs that are not tiny; the others to the email and the
// search, whose second task follows at 10. The thumbnails take every slot until 40,
// the import from 50 on. From 100 to 160 the report's first task trains, since five of
// the import have started, and the import's last task starts at 180. Then the report
// has three slots, and its last task starts at 630.
func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		compare(&got)
		want := `job                 fifo    hfsp
nightly report     480ms   690ms
import             600ms   220ms
thumbnails         640ms    60ms
email              650ms    10ms
search             660ms    30ms
`
		if got.String() != want {
			t.Errorf("compare printed\n%swant\n%s", got.String(), want)
		}
	})
}
