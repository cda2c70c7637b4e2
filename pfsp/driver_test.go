package pfsp_test

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
)

// An instance is a set of jobs of one phase with exact estimates, in the order of
// arrival, and the number of slots that they share.
type instance struct {
	slots int
	jobs  []testJob
	kept  int // percent of the slots: the bound is that of the others
}

// served returns the number of slots that the bound counts on.
func (in instance) served() int {
	return in.slots - gpstest.Kept(big.NewRat(int64(in.kept), 100), in.slots)
}

type testJob struct {
	at     sojourn.Time
	weight float64        // 0 means 1
	times  []sojourn.Time // of its tasks
	told   sojourn.Time   // percent of its times that the policy is told; 0 means 100
	pool   string
}

func (in instance) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d slots, %d %% reserved", in.slots, in.kept)
	for i, j := range in.jobs {
		fmt.Fprintf(&b, "; job %d at %v weight %g: %v", i+1, j.at, j.weight, j.times)
	}
	return b.String()
}

func (j testJob) work() (sum int64) {
	for _, d := range j.times {
		sum += int64(d)
	}
	return sum
}

// A chooser returns an integer in [lo, hi]. Random instances and those that rapid
// shrinks are drawn by the same code.
type chooser func(label string, lo, hi int) int

func byRapid(t *rapid.T) chooser {
	return func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }
}

func byRand(r *rand.Rand) chooser {
	return func(_ string, lo, hi int) int { return lo + r.IntN(hi-lo+1) }
}

// drawInstance draws an instance of the families on which the bound was measured:
// 1 to 16 slots, 2 to 13 jobs that arrive at once, in bursts or one by one, with
// tasks that are equal, unequal, of two sizes or heavy-tailed, more or fewer than
// there are slots.
func drawInstance(draw chooser, weighted bool) instance {
	const ms = sojourn.Time(time.Millisecond)
	in := instance{slots: draw("slots", 1, 16)}
	family := draw("family", 0, 3)
	arrival := draw("arrivals", 0, 2)
	most := [...]int{3, 12, 40}[draw("tasks", 0, 2)]
	at := sojourn.Time(0)
	for i := range draw("jobs", 2, 13) {
		switch {
		case arrival == 1 && i%3 == 0:
			at += ms * sojourn.Time(draw("gap", 0, 60))
		case arrival == 2:
			at += ms * sojourn.Time(draw("gap", 0, 15))
		}
		j := testJob{at: at}
		if weighted {
			j.weight = [...]float64{0.25, 0.5, 1, 3, 100}[draw("weight", 0, 4)]
		}
		first := ms * sojourn.Time(draw("time", 1, 20))
		for range draw("n", 1, most) {
			d := first
			switch family {
			case 1:
				d = ms * sojourn.Time(draw("time", 1, 20))
			case 2:
				d = ms * sojourn.Time(1+19*(draw("long", 0, 3)/3))
			case 3:
				d = ms << draw("log time", 0, 7)
			}
			j.times = append(j.times, d)
		}
		in.jobs = append(in.jobs, j)
	}
	return in
}

// A start is the start of a task in a schedule.
type start struct {
	job   int // from 0
	at    sojourn.Time
	end   sojourn.Time
	task  int // of the job, in the order of starts, from 0
	round int // offering rounds before it
}

// A schedule is what a policy makes of an instance.
type schedule struct {
	finish []sojourn.Time // by job
	starts []start        // in their order
	idle   []int          // rounds after which a slot stayed free
}

// run drives a policy through an instance. It is the plainest driver there is: it
// searches lists for the next thing to happen.
func run(p sojourn.Policy, in instance) schedule {
	must := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			panic(err)
		}
	}
	for i := range in.slots {
		must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	type attempt struct {
		a   sojourn.Assignment
		end sojourn.Time
	}
	var live []attempt
	s := schedule{finish: make([]sojourn.Time, len(in.jobs))}
	begun := make([]int, len(in.jobs))
	busy := make([]bool, in.slots)
	for next, round := 0, 0; next < len(in.jobs) || len(live) > 0; round++ {
		now := sojourn.Time(1 << 62)
		for _, l := range live {
			now = min(now, l.end)
		}
		if next < len(in.jobs) {
			now = min(now, in.jobs[next].at)
		}
		for _, l := range live {
			if l.end == now {
				must(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: l.a.Task, Attempt: l.a.Attempt, Slot: sojourn.Slot{ID: l.a.Slot}})
				busy[l.a.Slot] = false
				s.finish[l.a.Task.Job-1] = now
			}
		}
		live = slices.DeleteFunc(live, func(l attempt) bool { return l.end == now })
		for ; next < len(in.jobs) && in.jobs[next].at == now; next++ {
			j := in.jobs[next]
			job := &sojourn.Job{ID: sojourn.JobID(next + 1), Weight: j.weight, Pool: j.pool, Phases: []sojourn.Phase{{Tasks: len(j.times)}}}
			for _, d := range j.times {
				job.Phases[0].Estimates = append(job.Phases[0].Estimates, (d * cmp.Or(j.told, 100) / 100).Sub(0))
			}
			must(sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: job})
		}
		for i := range busy {
			if busy[i] {
				continue
			}
			a, ok := p.Assign(sojourn.SlotID(i))
			if !ok {
				s.idle = append(s.idle, round)
				break
			}
			k := int(a.Task.Job - 1)
			end := now + in.jobs[k].times[a.Task.Index]
			live = append(live, attempt{a, end})
			s.starts = append(s.starts, start{k, now, end, begun[k], round})
			begun[k]++
			busy[i] = true
		}
	}
	return s
}
