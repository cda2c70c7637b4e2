package journal_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A disk is a heap that knows what would be left of its first segment without power.
type disk struct {
	*heap
	mu   sync.Mutex
	kept []byte
}

func (d *disk) Sync(n uint64) error {
	data := slices.Clone(d.segments[n])
	err := d.heap.Sync(n)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = data
	return err
}

// now returns the time of the last record that would be left.
func (d *disk) now(t *testing.T) sojourn.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := newHeap()
	left.segments[1] = slices.Clone(d.kept)
	return open(t, left, newFIFO(t)).Account().Now()
}

// Goroutines that wait together share syncs, and each finds its record durable when Wait returns.
func TestGroupCommit(t *testing.T) {
	h := &disk{heap: newHeap()}
	h.sync = 2 * time.Millisecond
	j := open(t, h, newFIFO(t))
	before := h.syncs
	const workers, rounds = 32, 5
	var mu sync.Mutex
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for round := range rounds {
				mu.Lock()
				at := j.Account().Now() + 1
				if err := j.Observe(sojourn.Event{Kind: sojourn.Tick, At: at}); err != nil {
					t.Error(err)
				}
				pos := j.End()
				mu.Unlock()
				if (worker+round)%4 == 0 { // which makes no record durable
					if err := j.Write(); err != nil {
						t.Error(err)
					}
				}
				if err := j.Wait(pos); err != nil {
					t.Error(err)
				}
				if left := h.now(t); left < at {
					t.Errorf("Wait returns although the record of %v is not durable, only those up to %v", at, left)
				}
			}
		})
	}
	wg.Wait()
	if syncs := h.syncs - before; syncs < rounds || syncs > workers*rounds/4 {
		t.Errorf("%d goroutines that wait %d times took %d syncs", workers, rounds, syncs)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if n := open(t, h, newFIFO(t)).Restored().Records; n != workers*rounds {
		t.Errorf("the journal has %d records, want %d", n, workers*rounds)
	}
}
