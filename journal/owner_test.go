package journal

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A segment is cut to each length: it holds a state that the policy had, never less than the snapshot with which the segment
// begins, or Open names the file and the byte. What is left goes on.
func TestCutSegments(t *testing.T) {
	want := states(t)
	m := newMemory()
	j := mustOpen(t, m, newFIFO(t), Options{})
	if _, _, err := tell(j, story()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	name := base(2)
	g := &segment{data: m.names[name].data, number: 2, at: int64(len(firstLine))}
	if err := g.readHead(); err != nil {
		t.Fatal(err)
	}
	const snapshot = 11 // calls of the story before the segment
	for size := range len(g.data) + 1 {
		left := newMemory()
		left.names[name] = &content{data: slices.Clone(g.data[:size])}
		s, _ := openFiles(left, "dir")
		j, err := Open(s, newFIFO(t), Options{})
		if int64(size) < g.at {
			var bad *DamageError
			if !errors.As(err, &bad) || bad.Offset > int64(size) || !strings.Contains(err.Error(), name) {
				t.Fatalf("%d bytes, of a head of %d: %v", size, g.at, err)
			}
			if got := left.names[name].data; len(got) != size {
				t.Fatalf("%d bytes are left of %d that are damaged", len(got), size)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		got := facts(slices.Collect(j.Account().Facts()))
		n := slices.Index(want[snapshot:], got)
		if n < 0 || size == len(g.data) && got != want[len(want)-1] {
			t.Fatalf("%d bytes of %d: the facts are\n%s", size, len(g.data), got)
		}
		if _, _, err := tell(j, story()[snapshot+n:]); err != nil {
			t.Fatalf("%d bytes: the rest of the story: %v", size, err)
		}
	}
}

// What is in the way is named, whatever stands where a folder or a file should.
func TestInTheWay(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string) {
		if err := os.WriteFile(path(name), []byte("something"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mkdir := func(name string) {
		if err := os.MkdirAll(path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("file")
	mkdir("lock/lock")
	mkdir("segment/" + base(1))
	mkdir("temporary/" + temporary)
	mkdir("other")
	write("other/" + base(1))
	mkdir("ignored")
	for _, name := range []string{"1.journal", "00000000.journal", "00000001.journal~", "+0000001.journal", "-0000001.journal", "0x000001.journal", temporary, "notes"} {
		write("ignored/" + name)
	}
	for name, fine := range map[string]bool{
		"file": false, "file/below": false, "lock": false, "segment": false, "temporary": false, "other": false, "ignored": true,
		"new/and/below": true,
	} {
		s, err := OpenFiles(path(name))
		if err == nil {
			_, err = Open(s, newFIFO(t), Options{})
			s.Close()
		}
		if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want that it is opened: %v", name, err, fine)
		}
	}
	if data, err := os.ReadFile(path("other/" + base(1))); err != nil || string(data) != "something" {
		t.Errorf("a file that is no segment is now %q, %v", data, err)
	}
}

// Whatever the clock says, time goes on from the latest event.
func TestAnyClock(t *testing.T) {
	m := newMemory()
	for life, wall := range []time.Time{
		time.Unix(1_700_000_000, 0), {}, time.Unix(0, math.MinInt64), time.Unix(0, 0), time.Unix(1_700_000_001, 0), time.Unix(0, math.MaxInt64), {},
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		j := mustOpen(t, m, newFIFO(t), Options{})
		before := j.Account().Now()
		for range 2 {
			if err := j.Observe(sojourn.Event{Kind: sojourn.Tick, At: j.Time(wall)}); err != nil {
				t.Fatalf("life %d: %v", life, err)
			}
		}
		if now := j.Account().Now(); now != max(before, sojourn.Time(wall.Sub(time.Unix(0, 0)))) {
			t.Errorf("life %d: at %v it is %v, and was %v", life, wall, now, before)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
