package main

import (
	"io"
	"testing"
)

// Without a trace there is no table of nothing.
func TestNoTraces(t *testing.T) {
	b := bars{data: t.TempDir(), dir: t.TempDir()}
	if err := b.run(io.Discard, false, "", []string{"0.9"}, []string{"none"}); err == nil {
		t.Error("a folder without traces is no error")
	}
}
