package live_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// threadTime returns the processor time of this thread.
func threadTime() time.Duration {
	const thread = 3 // CLOCK_THREAD_CPUTIME_ID
	var at syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, thread, uintptr(unsafe.Pointer(&at)), 0)
	return time.Duration(at.Nano())
}

// The longest call of a pool with so many durable jobs of one task, by the processor time of its thread. Nothing is collected meanwhile. The first ones are for
// every day, the others look at all jobs.
func BenchmarkLongest(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		for name, newPolicy := range map[string]func() (sojourn.Policy, error){"fifo": func() (sojourn.Policy, error) { return newFIFO(), nil },
			"leastwork": func() (sojourn.Policy, error) { return constructors.LeastWork(leastwork.Options{}) }} {
			b.Run(fmt.Sprintf("%s/jobs=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					longestCalls(b, n, newPolicy)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func longestCalls(b *testing.B, n int, newPolicy func() (sojourn.Policy, error)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	dir, err := os.MkdirTemp("/dev/shm", "longest") // where syncs take no time
	if err != nil {
		b.Skip(err)
	}
	defer os.RemoveAll(dir)
	long := map[string]time.Duration{}
	call := func(what string, f func()) {
		begun := threadTime()
		f()
		long[what] = max(long[what], threadTime()-begun)
	}
	var j *journal.Journal
	var p *live.Pool
	open := func() {
		j = must(journal.Open(must(journal.OpenFiles(dir)), must(newPolicy()), journal.Options{Another: newPolicy}))
		p = must(live.New(j, live.Options{Slots: 16, Handlers: map[string]live.Handler{"work": func(ctx context.Context, _ live.Task, _ []byte) error {
			<-ctx.Done()
			return ctx.Err()
		}}}))
	}
	open()
	var handles []*live.Handle
	for range n {
		call("Submit", func() {
			if h, err := p.Submit(bg, live.Job{Handler: "work", Payload: []byte("what to do"), Phases: []live.Phase{{Tasks: 1}}}); err != nil {
				b.Fatal(err)
			} else if len(handles) < 1000 {
				handles = append(handles, h)
			}
		})
	}
	for _, h := range handles[100:] {
		call("Cancel", h.Cancel)
		call("Progress", func() { h.Progress() })
	}
	call("AddSlots", func() { must(p.AddSlots(1, sojourn.Slot{})) })
	call("Drain", func() { _ = p.Drain(16) })
	call("Handle", func() { p.Handle(sojourn.JobID(n)) })
	call("Handles", func() { p.Handles() })
	call("Status", func() { p.Status() })
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	call("Suspend", func() { _ = p.Suspend(stop) })
	call("Journal.Close", func() { _ = j.Close() })
	used := processorTime()
	begun := time.Now()
	open()
	long["reopen-all-threads"], long["reopen-clock"] = processorTime()-used, time.Since(begun)
	call("Close", func() { _ = p.Close(stop) })
	_ = j.Close()
	for what, took := range long { //sojourn:unordered they are printed by name
		b.ReportMetric(float64(took.Microseconds())/1000, "ms-"+what)
	}
}
