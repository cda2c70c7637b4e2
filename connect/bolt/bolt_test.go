package bolt_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/bolt"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
)

func open(t *testing.T, path string) journal.Store {
	t.Helper()
	s, err := bolt.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A segment is replaced by a part of it, and goes on from there.
func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	for size := range 8 {
		s := open(t, path)
		for _, err := range []error{s.Create(7, []byte("abc")), s.Append(7, []byte("de")), s.Append(7, []byte("fg")), s.Create(7, []byte("abcdefg")[:size]), s.Append(7, []byte("XY")), s.Sync(7)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, path)
		got, err := s.Read(7)
		if want := "abcdefg"[:size] + "XY"; err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("replaced by %d bytes: %q, %v, want %q", size, got, err, want)
		}
		if list, err := s.Segments(); err != nil || !slices.Equal(list, []uint64{7}) {
			t.Errorf("Segments() = %d, %v", list, err)
		}
		if err := s.Remove(7); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(7); err == nil {
			t.Error("a segment that was removed is read")
		}
		s.Close()
	}
}

// A journal goes on from a file of bbolt, and two of them cannot use it.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	for life := range 3 {
		s := open(t, path)
		if _, err := bolt.Open(path); !errors.Is(err, journal.ErrLocked) {
			t.Fatalf("the file is opened twice: %v, want ErrLocked", err)
		}
		p, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(s, p, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := j.Account().Live(); n != life || j.MaxJob() != sojourn.JobID(life) {
			t.Fatalf("life %d: %d jobs are live, the last is %d", life, n, j.MaxJob())
		}
		if err := j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: j.MaxJob() + 1, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
			t.Fatal(err)
		}
		if life == 1 {
			if err := j.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
