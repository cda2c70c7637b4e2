package rtmr

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// A cluster knows the slots and the running attempts: the account, and when slots become
// free.
type cluster struct {
	ledger   ledger.Ledger[data]
	inputs   *locality.Index[data]           // of ledger
	slots    [2]int64                        // by stage: slots that do not retire, busy or free
	free     [2]int64                        // the free ones among them
	retiring []sojourn.SlotID                // busy slots that leave with their attempts, by ID
	adopted  map[sojourn.SlotID]sojourn.Time // the starts of running attempts that were adopted

	// timers has an entry for each stage of a job with attempts that have not outlasted
	// their estimate: the first instant at which one of them will.
	timers *heap.Heap[overrun]
}

// An overrun is an instant after which an attempt has taken longer than its estimate.
type overrun struct {
	at int64
	id uint32 // of job and stage, so that the order is total
}

func (a overrun) before(b overrun) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

func (a overrun) prefix() (hi, lo uint64) { return uint64(a.at), uint64(a.id) }

func (c *cluster) now() int64 { return int64(c.ledger.Now()) }

// left returns how many tasks of a stage are not dispatched, held ones included.
func (c *cluster) left(j *job, stage int) int64 {
	i := j.Data.phase[stage]
	if i < 0 || j.Cancelled() {
		return 0
	}
	return int64(j.Spec().Phases[i].Tasks - j.Phase(i).Done() - j.Phase(i).Running())
}

func (c *cluster) addSlot(s sojourn.Slot, restored bool) {
	if int(s.Class) >= len(c.slots) {
		return
	}
	c.slots[s.Class]++
	if restored {
		c.unretire(s.ID)
	} else {
		c.free[s.Class]++
	}
}

func (c *cluster) removeSlot(s sojourn.Slot, gone bool) {
	if int(s.Class) >= len(c.slots) {
		return
	}
	c.slots[s.Class]--
	if gone {
		c.free[s.Class]--
	} else {
		c.retire(s.ID)
	}
}

// retire records a busy slot that leaves with its attempt.
func (c *cluster) retire(id sojourn.SlotID) {
	i, _ := slices.BinarySearch(c.retiring, id)
	c.retiring = slices.Insert(c.retiring, i, id)
}

// unretire undoes retire.
func (c *cluster) unretire(id sojourn.SlotID) {
	if i, found := slices.BinarySearch(c.retiring, id); found {
		c.retiring = slices.Delete(c.retiring, i, i+1)
	}
}

func timerID(j *job, stage int) uint32 { return 2*j.Handle() + uint32(stage) }

// setTimer sets the timer of a stage to the first of its running attempts that has not
// outlasted its estimate at an instant.
func (c *cluster) setTimer(j *job, stage int, now int64) {
	d := &j.Data
	if start, ok := d.running[stage].from(sojourn.Time(now - d.eps[stage])); ok {
		c.timers.Set(timerID(j, stage), overrun{slotvec.Add(int64(start), d.eps[stage]), timerID(j, stage)})
	} else {
		c.timers.Remove(timerID(j, stage))
	}
}

// due reports whether a running attempt has outlasted its estimate at an instant.
func (c *cluster) due(at int64) bool {
	t, ok := c.timers.MinKey()
	return ok && t.at < at
}

// passTimers sets timers that have gone off to the next attempts.
func (c *cluster) passTimers(at int64) {
	for c.due(at) {
		id, _ := c.timers.Min()
		c.setTimer(c.ledger.ByHandle(id/2), int(id%2), at)
	}
}

// ends tells the starts of attempts of a stage of the jobs, with the time that they take at most,
// some of them at a time. Each start comes with the number of slots that become available at the
// end, which is negative for slots that retire, and may be 0.
func (c *cluster) ends(jobs []*job, stage int, tell func(s *starts, eps int64)) {
	for _, j := range jobs {
		if s := &j.Data.running[stage]; s.live > 0 {
			tell(s, j.Data.eps[stage])
		}
	}
	for _, id := range c.retiring {
		a, _ := c.ledger.Attempt(id)
		start, ok := c.adopted[id]
		if !ok {
			start = a.Start
		}
		if stageOf(&a.Job.Spec().Phases[a.Task.Phase]) == stage {
			tell(&starts{runs: []startRun{{start, -1}}}, a.Job.Data.eps[stage])
		}
	}
}
