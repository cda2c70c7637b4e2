package statuspage

import (
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

// Jobs that a pool has found or that have run before are entered in any order at the same cost: four times as many take about four times as long.
func TestEnteredInAnyOrder(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // its work is not that of the recorder
	took := func(n int) (least time.Duration) {
		least = time.Hour
		for range 3 {
			st := live.Status{Now: sojourn.Time(time.Hour)}
			for i := range n { // the one to be served first is the latest
				st.Jobs = append(st.Jobs, live.JobStatus{ID: sojourn.JobID(n - i), Pool: "web", Age: time.Duration(i), Progress: live.Progress{Tasks: 1}})
			}
			r := NewRecorder()
			begun := spent()
			r.load(&st)
			for i := range n { // those of a process before come after others
				r.Note(live.Note{Kind: live.JobResumed, At: st.Now, Took: time.Duration(i), Done: []int{0}, Job: &sojourn.Job{ID: sojourn.JobID(n + i + 1), Pool: "web", Phases: []sojourn.Phase{{Tasks: 1}}}})
			}
			least = min(least, spent()-begun)
		}
		return max(least, time.Millisecond)
	}
	if few, many := took(16_000), took(64_000); many > 10*few { // 4 times as many; the square would be 16
		t.Errorf("16,000 jobs take %v of a processor, 64,000 take %v", few, many)
	}
}

// spent returns the processor time of this process: the clock goes on while others have the processor.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
