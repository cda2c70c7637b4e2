package journal

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A store that fails for an hour: with Retry the journal goes on in memory, no more than 64 MiB, and writes all when the store works
// again, in whatever call it has failed. What it had said to be durable is there meanwhile. After an error that is the last one it takes nothing more.
func TestRetry(t *testing.T) {
	job := func(id sojourn.JobID) sojourn.Event {
		return sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}}
	}
	for _, keep := range []bool{false, true} {
		for fail := 1; fail < 12; fail++ { // calls of the file system after the first job
			func() {
				m := newMemory()
				s, _ := openFiles(m, "dir")
				j, err := Open(s, newFIFO(t), Options{Retry: true, SnapshotBytes: 20, Keep: keep})
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(j.Observe(job(1)), j.Flush()); err != nil {
					t.Fatal(err)
				}
				m.fail = m.calls + fail
				last, safe := sojourn.JobID(1), sojourn.JobID(1)
				for err == nil { // segments begin meanwhile
					last++
					if err = errors.Join(j.Observe(job(last)), j.Flush()); err == nil {
						safe = last
					}
				}
				if !errors.Is(err, errPower) {
					t.Fatal(err)
				}
				for range 60 {
					last++
					if err := j.Observe(job(last)); err != nil {
						t.Fatalf("Observe while the store fails: %v", err)
					}
					if err := j.Flush(); !errors.Is(err, errPower) {
						t.Fatalf("Flush while the store fails: %v", err)
					}
				}
				killed, _ := openFiles(m.crash(0, false, true), "dir")
				if k, err := Open(killed, newFIFO(t), Options{Keep: keep}); err != nil || k.MaxJob() < safe {
					t.Fatalf("a process that is killed then has %d jobs of %d that were waited for: %v", k.MaxJob(), safe, err)
				}
				m.fail = 0
				if err := errors.Join(j.Flush(), j.Close()); err != nil {
					t.Fatalf("the store works again: %v", err)
				}
				s, _ = openFiles(m, "dir")
				j, err = Open(s, newFIFO(t), Options{Keep: keep})
				if err != nil || j.Account().Live() != int(last) || j.Restored().Rebuilt != nil {
					t.Fatalf("%d jobs are there, want %d: %v, %+v", j.Account().Live(), last, err, j.Restored())
				}
			}()
		}
	}
	for _, how := range []string{"too many bytes", "closed"} {
		func() {
			m := newMemory()
			s, _ := openFiles(m, "dir")
			j, err := Open(s, newFIFO(t), Options{Retry: true})
			if err != nil {
				t.Fatal(err)
			}
			m.fail = m.calls + 1
			err = errors.Join(j.Observe(job(1)), j.Flush())
			var stalled interface{ Stalled() bool }
			if !errors.As(err, &stalled) || !errors.Is(err, errPower) {
				t.Fatalf("Flush: %v", err)
			}
			switch how {
			case "too many bytes":
				for i := 0; err == nil || errors.As(err, &stalled); i++ {
					if err = j.Keep(fmt.Sprint(i), make([]byte, 1<<20)); i > 70 {
						t.Fatal("there is no end")
					}
				}
			case "closed":
				if err = j.Close(); !errors.Is(err, errPower) {
					t.Errorf("Close: %v", err)
				}
				err = j.Flush()
			}
			if errors.As(err, &stalled) || how != "closed" && !errors.Is(err, errPower) || how == "closed" && !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", how, err)
			}
			m.fail = 0
			if err := j.Observe(job(2)); err == nil {
				t.Errorf("%s, and Observe works", how)
			}
		}()
	}
}

// One record of more than 64 MiB that the store does not take is kept with all that comes after it. Meanwhile there is no room for another large one.
func TestRetryOfALargeRecord(t *testing.T) {
	job := func(id sojourn.JobID) sojourn.Event {
		return sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}}
	}
	m := newMemory()
	s, _ := openFiles(m, "dir")
	j, err := Open(s, newFIFO(t), Options{Retry: true})
	if err != nil {
		t.Fatal(err)
	}
	var stalled interface{ Stalled() bool }
	m.fail = m.calls + 1
	large := make([]byte, mostUnwritten+1)
	large[mostUnwritten] = 7
	if err := errors.Join(j.Attach(1, large), j.Observe(job(1)), j.Flush()); !errors.As(err, &stalled) {
		t.Fatalf("a large record: %v, want that the store fails for a while", err)
	}
	for id := sojourn.JobID(2); id < 50; id++ {
		if err := errors.Join(j.Attach(id, []byte{1}), j.Observe(job(id))); err != nil {
			t.Fatalf("job %d: %v", id, err)
		}
	}
	if err := j.Attach(50, large); !errors.As(err, &stalled) || j.Attached(50) != nil {
		t.Errorf("another large record: %v, and %d bytes are attached", err, len(j.Attached(50)))
	}
	m.fail = 0
	if err := errors.Join(j.Flush(), j.Attach(50, large), j.Observe(job(50)), j.Close()); err != nil {
		t.Fatalf("the store works again: %v", err)
	}
	s, _ = openFiles(m, "dir")
	if j, err = Open(s, newFIFO(t), Options{}); err != nil {
		t.Fatal(err)
	}
	if j.Account().Live() != 50 || !bytes.Equal(j.Attached(1), large) || !bytes.Equal(j.Attached(50), large) {
		t.Errorf("%d jobs are there, with %d and %d bytes", j.Account().Live(), len(j.Attached(1)), len(j.Attached(50)))
	}
}

// What was written and could not be synced may be lost: Write fails until the segment was written anew.
func TestWriteAfterAFailedSync(t *testing.T) {
	m := newMemory()
	s, _ := openFiles(m, "dir")
	j, err := Open(s, newFIFO(t), Options{Retry: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}}), j.Write()); err != nil {
		t.Fatal(err)
	}
	m.fail = m.calls + 1
	if err := j.Flush(); !errors.Is(err, errPower) {
		t.Fatalf("Flush: %v", err)
	}
	var stalled interface{ Stalled() bool }
	if err := j.Write(); !errors.As(err, &stalled) || !errors.Is(err, errPower) {
		t.Errorf("Write while the store fails: %v", err)
	}
	m.fail = 0
	if err := j.Write(); err != nil {
		t.Errorf("Write when the store works again: %v", err)
	}
	killed, _ := openFiles(m.crash(0, false, true), "dir")
	if k, err := Open(killed, newFIFO(t), Options{}); err != nil || k.MaxJob() != 1 {
		t.Errorf("a process that is killed then has %d jobs, want 1: %v", k.MaxJob(), err)
	}
}
