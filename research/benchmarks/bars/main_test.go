package main

import (
	"io"
	"strings"
	"testing"
)

// Of each record the first fields are kept, and comments stay.
func TestFields(t *testing.T) {
	got, err := io.ReadAll(fields(strings.NewReader("; a comment of many words\n1  2\t3 4\n5 6\n"), 3))
	if err != nil {
		t.Fatal(err)
	}
	if want := "; a comment of many words\n1 2 3\n5 6\n"; string(got) != want {
		t.Errorf("fields = %q, want %q", got, want)
	}
}

// Without a trace there is no table of nothing.
func TestNoTraces(t *testing.T) {
	b := bars{data: t.TempDir(), dir: t.TempDir()}
	if err := b.run(io.Discard, false, "", []string{"0.9"}, []string{"none"}); err == nil {
		t.Error("a folder without traces is no error")
	}
}
