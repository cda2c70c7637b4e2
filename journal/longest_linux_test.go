package journal_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// processor returns the processor time of this thread.
func processor() time.Duration {
	const thread = 3 // CLOCK_THREAD_CPUTIME_ID
	var at syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, thread, uintptr(unsafe.Pointer(&at)), 0)
	return time.Duration(at.Nano())
}

// The longest call by the processor time of its thread, while the queue grows to so many jobs and while they end, one slot after the other. The
// journal has Another. Nothing is collected meanwhile: what that takes is not part of a call.
func BenchmarkLongest(b *testing.B) {
	policies := map[string]func() (sojourn.Policy, error){
		"fifo":      func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) },
		"leastwork": func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) },
	}
	for _, n := range []int{100_000, 1_000_000} {
		for _, name := range []string{"fifo", "leastwork"} {
			for _, durable := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/jobs=%d/journal=%t", name, n, durable), func(b *testing.B) {
					for b.Loop() {
						longest(b, n, durable, policies[name])
					}
				})
			}
		}
	}
}

func longest(b *testing.B, n int, durable bool, another func() (sojourn.Policy, error)) {
	p, err := another()
	must(err)
	if durable {
		store, err := journal.OpenFiles(b.TempDir())
		must(err)
		j, err := journal.Open(store, p, journal.Options{Another: another})
		must(err)
		defer j.Close()
		p = j
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	now := sojourn.Time(0)
	long := map[string]time.Duration{}
	call := func(what string, f func()) {
		begun := processor()
		f()
		if took := processor() - begun; took > long[what] {
			long[what] = took
		}
	}
	observe := func(what string, ev sojourn.Event) {
		now++
		ev.At = now
		call(what, func() { must(p.Observe(ev)) })
	}
	const slots = 16
	for id := range sojourn.SlotID(slots) {
		observe("slots", sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	for id := range sojourn.JobID(n) {
		observe("arrival", sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id + 1, Phases: []sojourn.Phase{{Tasks: 1}}}})
	}
	for range n / slots / 2 {
		for id := range sojourn.SlotID(slots) {
			var a sojourn.Assignment
			call("start", func() { a, _ = p.Assign(id) })
			observe("end", sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}, Service: time.Duration(now%7+1) * time.Second})
		}
	}
	for _, what := range []string{"arrival", "start", "end"} {
		b.ReportMetric(float64(long[what].Microseconds()), "us-longest-"+what)
	}
	b.ReportMetric(0, "ns/op")
}
