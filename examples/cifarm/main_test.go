package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
)

// All builds are complete, the flaky one as well, and pull requests keep to their two workers.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got strings.Builder
		if err := run(context.Background(), &got); err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile(`^(build [1-5]: 9 of 9 steps\n){5}at most 2 workers for pull requests, [234] for main\n$`)
		if !want.MatchString(got.String()) {
			t.Errorf("got\n%swant\n%s", got.String(), want)
		}
	})
}
