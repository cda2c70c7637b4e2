package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Interactive requests take 5 ms. They wait for whole batches under FIFO, and for a prompt or two under the
// library's default.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		if err := compare(context.Background(), &got); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(got.String(), "\n")
		if len(lines) != 5 {
			t.Fatalf("got\n%s, want a line for each of three policies", got.String())
		}
		var times [3][3]time.Duration // by policy: median, 99 %, end of the batches
		for i, line := range lines[1:4] {
			for k, field := range strings.Fields(line)[1:] {
				var err error
				if times[i][k], err = time.ParseDuration(field); err != nil {
					t.Fatal(err)
				}
			}
		}
		const ms = time.Millisecond
		if fifo, fair, least := times[0], times[1], times[2]; fifo[0] < 200*ms || fair[0] > 50*ms || least[1] > 30*ms || least[2] > 900*ms {
			t.Errorf("got\n%s", got.String())
		}
	})
}
