package journal

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// What is kept under keys is there after a crash as it was after some call: the last one that was waited for, or a later one.
// It is there with everything that was reported before, across segments, and if the policy is made anew.
func TestKeep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMemory()
		open := func(o Options) *Journal {
			s, err := openFiles(m, "dir")
			if err != nil {
				t.Fatal(err)
			}
			j, err := Open(s, newFIFO(nil), o)
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		j := open(Options{SnapshotBytes: rapid.SampledFrom([]int64{-1, 60, 200, 2000}).Draw(t, "bytes")})
		world := map[string]string{}
		worlds := []string{fmt.Sprint(world)} // as they were after each call that changes them
		safe := 0
		for range rapid.IntRange(0, 20).Draw(t, "calls") {
			switch rapid.IntRange(0, 5).Draw(t, "call") {
			case 0:
				if err := j.Flush(); err != nil {
					t.Fatal(err)
				}
				safe = len(worlds) - 1
			case 1:
				if err := j.Snapshot(); err != nil {
					t.Fatal(err)
				}
			case 2: // the number of jobs says which world it is
				id := j.MaxJob() + 1
				if err := j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
					t.Fatal(err)
				}
			default:
				key := rapid.SampledFrom([]string{"", "a", "b\x00", strings.Repeat("k", 300)}).Draw(t, "key")
				data := rapid.SampledFrom([]string{"", "x", "\x00", strings.Repeat("d", 1000)}).Draw(t, "data")
				if err := j.Keep(key, []byte(data)); err != nil {
					t.Fatal(err)
				}
				if world[key] = data; data == "" {
					delete(world, key)
				}
				worlds = append(worlds, fmt.Sprint(world))
			}
		}
		m = m.crash(rapid.IntRange(0, m.unsynced()).Draw(t, "left"), rapid.Bool().Draw(t, "zeros"), false)
		j = open(Options{Rebuild: rapid.Bool().Draw(t, "rebuild")})
		got := map[string]string{}
		for key, data := range j.Kept() {
			got[key] = string(data)
		}
		found := false
		for _, w := range worlds[safe:] {
			found = found || w == fmt.Sprint(got)
		}
		if !found {
			t.Fatalf("kept %q, want one of %q", got, worlds[safe:])
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j = open(Options{})
		again := map[string]string{}
		for key, data := range j.Kept() {
			again[key] = string(data)
		}
		if !maps.Equal(got, again) {
			t.Fatalf("kept %q, and then %q", got, again)
		}
	})
}

// Bytes that are more than a segment has between snapshots can be attached to a job and kept, and Open reads them.
func TestLargeBytes(t *testing.T) {
	m := newMemory()
	j := mustOpen(t, m, newFIFO(t), Options{})
	large := bytes.Repeat([]byte("0123456789abcdef"), 9<<16)
	if err := j.Keep("key", large); err != nil {
		t.Fatal(err)
	}
	if err := j.Attach(1, large); err != nil {
		t.Fatal(err)
	}
	if err := j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, m, newFIFO(t), Options{})
	if !bytes.Equal(j.Attached(1), large) {
		t.Error("what was attached is not there")
	}
	for key, data := range j.Kept() {
		if key != "key" || !bytes.Equal(data, large) {
			t.Errorf("%d bytes under key %q", len(data), key)
		}
	}
}
