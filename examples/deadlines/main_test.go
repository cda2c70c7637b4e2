package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
)

// The report keeps both slots busy until 200 ms, by its estimates. The import would push one of its tasks to 250 ms; behind
// it, it ends at 250 ms itself, which is the offer. Tasks then take nine tenths of that.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		if err := run(context.Background(), &got); err != nil {
			t.Fatal(err)
		}
		const want = "report within 220ms: accepted\n" +
			"import within 150ms: refused, offered 250ms\n" +
			"import within 250ms: accepted\n" +
			"backup within 1s: accepted\n" +
			"report ends after 180ms, in time: true\n" +
			"import ends after 230ms, in time: true\n" +
			"backup ends after 500ms, in time: true\n"
		if got.String() != want {
			t.Errorf("run printed\n%swant\n%s", &got, want)
		}
	})
}
