package gpstest

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A Reserve is the rule of package kit/reserve for one class of slots, in lists and rational
// numbers. Use [NewReserve] to make one.
type Reserve struct {
	Share   *big.Rat
	Counted bool // slots that are held out of turn count as free

	slots   map[sojourn.SlotID]*reserved
	lengths []time.Duration
	longest map[sojourn.JobID]time.Duration
	levels  map[sojourn.JobID]int
}

// A reserved slot runs a task of a job; 0 if it is free.
type reserved struct {
	job sojourn.JobID
	out bool
}

// NewReserve returns a reserve of no slots.
func NewReserve(share *big.Rat, counted bool) *Reserve {
	return &Reserve{Share: share, Counted: counted, slots: map[sojourn.SlotID]*reserved{},
		longest: map[sojourn.JobID]time.Duration{}, levels: map[sojourn.JobID]int{}}
}

// Observe follows a cluster of one class in which jobs have one phase and each task an
// estimate. v is its virtual cluster, which gets all slots, or, with fewer, all but the
// reserved ones.
func (r *Reserve) Observe(ev sojourn.Event, v *Cluster, fewer bool) {
	switch ev.Kind {
	case sojourn.SlotAdded:
		r.slots[ev.Slot.ID] = &reserved{}
		if v.Slots = len(r.slots); fewer {
			v.Slots -= r.kept()
		}
	case sojourn.JobArrived:
		id := ev.Job.ID
		r.longest[id] = slices.Max(ev.Job.Phases[0].Estimates)
		r.lengths = append(r.lengths, r.longest[id])
		r.file(id)
	case sojourn.TaskFinished:
		job := r.slots[ev.Slot.ID].job
		*r.slots[ev.Slot.ID] = reserved{}
		r.file(job)
	}
}

// Start lets a slot run a task of a job.
func (r *Reserve) Start(id sojourn.SlotID, job sojourn.JobID, inTurn bool) {
	*r.slots[id] = reserved{job, !inTurn}
	r.file(job)
}

// Check fails if more slots are held by tasks that were started out of turn than are reserved,
// although these count as free.
func (r *Reserve) Check() error {
	out := 0
	for _, s := range r.slots { //sojourn:unordered a count
		if s.job != 0 && s.out {
			out++
		}
	}
	if r.Counted && out > r.kept() {
		return fmt.Errorf("%d slots are held out of turn, %d are reserved", out, r.kept())
	}
	return nil
}

// Small reports whether nothing is reserved against a job of so many tasks while it is alone: there are fewer than 8 for each slot.
func (r *Reserve) Small(tasks int) bool { return tasks < 8*len(r.slots) }

// Kept returns how many of n slots are reserved for a share.
func Kept(share *big.Rat, n int) int {
	k := new(big.Rat).Mul(share, integer(int64(n)))
	return max(0, min(floor(k.Add(k, big.NewRat(1, 2))), n-1))
}

func (r *Reserve) kept() int { return Kept(r.Share, len(r.slots)) }

// file gives a job its present level, by the length of its longest task.
func (r *Reserve) file(job sojourn.JobID) {
	longest, running := r.longest[job], int64(0)
	for _, s := range r.slots { //sojourn:unordered a count
		if s.job == job {
			running++
		}
	}
	x := new(big.Rat)
	for _, d := range r.lengths {
		switch a, b := halfOctave(d), halfOctave(longest); {
		case a < b:
			x.Add(x, big.NewRat(1, 1))
		case a == b:
			x.Add(x, big.NewRat(1, 2))
		}
	}
	x.Quo(x, integer(int64(len(r.lengths)))).Add(x, integer(running))
	r.levels[job] = floor(x.Quo(x, integer(1+running)).Mul(x, big.NewRat(15999, 1000)))
}

// May reports whether a job may start a task that is not the only live one.
func (r *Reserve) May(job sojourn.JobID) bool {
	free := 0
	for _, s := range r.slots { //sojourn:unordered a count
		if s.job == 0 || s.out && r.Counted {
			free++
		}
	}
	threshold := big.NewRat(int64(r.levels[job]*r.kept()), 15)
	return free > floor(threshold.Add(threshold, big.NewRat(1, 2)))
}

// Stream returns the tasks of three jobs, the smallest case of what a reserve that is not
// counted loses: two slots, of which one is reserved, and two jobs of short tasks whose ends never
// coincide, from 0 on. While they last, one slot at a time becomes free, and the task of the
// long job, which arrives at 0.25 s, needs two.
func Stream(tasks int) (first, second, long []sojourn.Time) {
	const s = sojourn.Time(time.Second)
	first = slices.Repeat([]sojourn.Time{s}, tasks)
	second = slices.Clone(first)
	second[0] = s / 2
	return first, second, []sojourn.Time{10 * s}
}

// halfOctave returns floor(2 log2 d).
func halfOctave(d time.Duration) int {
	square := new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(int64(d)))
	b := 0
	for new(big.Int).Lsh(big.NewInt(1), uint(b+1)).Cmp(square) <= 0 {
		b++
	}
	return b
}

func floor(x *big.Rat) int { return int(new(big.Int).Div(x.Num(), x.Denom()).Int64()) }
