package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/fifo"
)

// After many decisions as many jobs are live as at first, and all slots are busy.
func TestSizeStays(t *testing.T) {
	for _, s := range []size{{1, 1, 1, 8, 1}, {20, 4, 3, 1, 1}, {50, 10, 7, 4, 5}} {
		p, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := cluster{policy: p, size: s, rng: rand.New(rand.NewPCG(1, 2))}
		if err := c.fill(time.Hour); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if err := c.decide(); err != nil {
				t.Fatal(err)
			}
			if got, want := len(p.AppendRanking(nil)), s.jobs; got != want {
				t.Fatalf("%v: %d live jobs, want %d", s, got, want)
			}
		}
		if int(c.next) == s.jobs {
			t.Errorf("%v: no job ended", s)
		}
		if len(c.running) != s.slots {
			t.Errorf("%v: %d slots busy, want %d", s, len(c.running), s.slots)
		}
	}
}

// Each policy has a line in the table, where it can be measured.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	var rows []row
	for _, v := range []int{10, 100} {
		for _, p := range policies {
			policy, err := p.make()
			if err != nil {
				t.Fatal(err)
			}
			r, err := measure(policy, size{v, 10, 1, 20, 1}, time.Microsecond, time.Hour)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			r.policy, r.axis, r.value = p.name, "jobs", v
			rows = append(rows, r)
		}
	}
	if err := write(dir, rows); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "curves.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range policies {
		if !strings.Contains(string(text), p.name) {
			t.Errorf("the table lacks %s", p.name)
		}
	}
}
