package main

import (
	"strings"
	"testing"
	"testing/synctest"
)

// The clock of the bubble makes every number exact. FIFO: the report takes 8 rounds
// of 60 ms on three workers, the import 3 rounds of 40 ms after that, the
// thumbnails 2 of 20 ms, then the email on one worker and the search on the others.
// FSP serves in the order of total work: email and search at 0; thumbnails as the
// workers become free at 10, 20 and 20 ms, until 60; the import until 180; the
// report until 180 + 8*60.
func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		compare(&got)
		want := `job                 fifo     fsp
nightly report     480ms   660ms
import             600ms   180ms
thumbnails         640ms    60ms
email              650ms    10ms
search             660ms    20ms
`
		if got.String() != want {
			t.Errorf("compare printed\n%swant\n%s", got.String(), want)
		}
	})
}
