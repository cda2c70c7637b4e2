package main

import (
	"bytes"
	"os"
	"testing"
)

// The picture in the documents is what the program draws now.
func TestDraw(t *testing.T) {
	var got bytes.Buffer
	if err := draw(&got); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/gantt.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("docs/gantt.svg is not what is drawn: go run ./examples/gantt > docs/gantt.svg")
	}
}
