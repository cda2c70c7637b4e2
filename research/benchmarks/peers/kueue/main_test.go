package main

import (
	"context"
	"fmt"
	"testing"
)

// Workloads leave in the order in which they came, and a pop with a push leaves as many as before.
func TestOrder(t *testing.T) {
	l, err := newLine(true)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := l.push(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		got, err := l.pop(context.Background())
		if want := fmt.Sprint("w", i); err != nil || got != want {
			t.Fatalf("pop %d = %s, %v, want %s", i, got, err, want)
		}
		if err := l.push(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.manager.PendingWorkloadsInfo("cluster")); n != 100 {
		t.Errorf("%d workloads wait, want 100", n)
	}
}

func TestMeasure(t *testing.T) {
	if took, err := measure(10, 100, false); err != nil || took < 0 {
		t.Errorf("measure = %v, %v", took, err)
	}
}
