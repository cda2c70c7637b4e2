package live_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/pfsp"
)

// common are the policies that most pools will have.
func common() map[string]func() sojourn.Policy {
	return map[string]func() sojourn.Policy{
		"fifo":      newFIFO,
		"fair":      pooled.Fair.With(fair.Options{}),
		"hfsp":      constructors.HFSP.With(hfsp.Options{}),
		"pfsp":      constructors.PFSP.With(pfsp.Options{}),
		"leastwork": constructors.LeastWork.With(leastwork.Options{}),
	}
}

func nothing(context.Context, live.Task) error { return nil }

// BenchmarkTasks runs the tasks of one job, which do nothing.
func BenchmarkTasks(b *testing.B) {
	for name, newPolicy := range common() {
		b.Run(name, func(b *testing.B) {
			p := must(live.New(newPolicy(), live.Options{Slots: 1}))
			defer p.Close(bg)
			b.ReportAllocs()
			b.ResetTimer()
			if err := must(p.Submit(bg, bag(b.N, nothing))).Wait(bg); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkJobs runs jobs of one task, which are all submitted before the first one starts.
func BenchmarkJobs(b *testing.B) {
	for name, newPolicy := range common() {
		b.Run(name, func(b *testing.B) {
			p := must(live.New(newPolicy(), live.Options{Slots: 1}))
			defer p.Close(bg)
			gate := make(chan struct{})
			must(p.Submit(bg, bag(1, func(context.Context, live.Task) error { <-gate; return nil })))
			handles := make([]*live.Handle, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range handles {
				handles[i] = must(p.Submit(bg, bag(1, nothing)))
			}
			close(gate)
			for _, h := range handles {
				if err := h.Wait(bg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A slowDisk keeps nothing, and needs a while for each sync.
type slowDisk struct {
	sync  time.Duration
	syncs *int
}

func (slowDisk) Segments() ([]uint64, error) { return nil, nil }
func (slowDisk) Name(n uint64) string        { return fmt.Sprint("segment ", n) }
func (slowDisk) Read(uint64) ([]byte, error) { return nil, fs.ErrNotExist }
func (slowDisk) Create(uint64, []byte) error { return nil }
func (slowDisk) Append(uint64, []byte) error { return nil }
func (slowDisk) Remove(uint64) error         { return nil }
func (slowDisk) Close() error                { return nil }
func (d slowDisk) Sync(uint64) error         { *d.syncs++; time.Sleep(d.sync); return nil }

// BenchmarkSyncedStarts runs the tasks of one job, which do nothing, each after its start is durable.
func BenchmarkSyncedStarts(b *testing.B) {
	for _, sync := range []time.Duration{0, time.Millisecond} {
		for _, slots := range []int{1, 16, 512} {
			b.Run(fmt.Sprintf("slots=%d/sync=%v", slots, sync), func(b *testing.B) {
				syncs := 0
				j := must(journal.Open(slowDisk{sync, &syncs}, newFIFO(), journal.Options{SnapshotBytes: -1}))
				p := must(live.New(j, live.Options{Slots: slots, Handlers: map[string]live.Handler{"work": func(context.Context, live.Task, []byte) error { return nil }}}))
				b.ReportAllocs()
				b.ResetTimer()
				if err := must(p.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: b.N}}})).Wait(bg); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "starts/s")
				b.ReportMetric(float64(syncs)/float64(b.N), "syncs/start")
				if err := errors.Join(p.Close(bg), j.Close()); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
