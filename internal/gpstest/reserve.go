package gpstest

import (
	"math/big"
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
	levels  map[sojourn.JobID]int
}

// A reserved slot runs a task of a job; 0 if it is free.
type reserved struct {
	job sojourn.JobID
	out bool
}

// NewReserve returns a reserve of no slots.
func NewReserve(share *big.Rat, counted bool) *Reserve {
	return &Reserve{Share: share, Counted: counted, slots: map[sojourn.SlotID]*reserved{}, levels: map[sojourn.JobID]int{}}
}

// Kept returns how many of n slots are reserved for a share.
func Kept(share *big.Rat, n int) int {
	k := new(big.Rat).Mul(share, integer(int64(n)))
	return max(0, min(floor(k.Add(k, big.NewRat(1, 2))), n-1))
}

// Slots returns how many slots there are, and how many of them are not reserved.
func (r *Reserve) Slots() (all, others int) {
	return len(r.slots), len(r.slots) - Kept(r.Share, len(r.slots))
}

// Add adds a slot that is free.
func (r *Reserve) Add(id sojourn.SlotID) { r.slots[id] = &reserved{} }

// Out returns how many slots are held by tasks that were started out of turn.
func (r *Reserve) Out() (n int) {
	for _, s := range r.slots { //sojourn:unordered a count
		if s.job != 0 && s.out {
			n++
		}
	}
	return n
}

// Arrive counts a phase by the length of its longest task.
func (r *Reserve) Arrive(d time.Duration) { r.lengths = append(r.lengths, d) }

// File gives a job its present level, by the length of its longest task; less than 0 means
// unknown.
func (r *Reserve) File(job sojourn.JobID, longest time.Duration) {
	running := int64(0)
	for _, s := range r.slots { //sojourn:unordered a count
		if s.job == job {
			running++
		}
	}
	if longest < 0 {
		r.levels[job] = int(min(running, 1)) * 15
		return
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
	threshold := big.NewRat(int64(r.levels[job]*Kept(r.Share, len(r.slots))), 15)
	return free > floor(threshold.Add(threshold, big.NewRat(1, 2)))
}

// Start lets a slot run a task of a job.
func (r *Reserve) Start(id sojourn.SlotID, job sojourn.JobID, inTurn bool) {
	*r.slots[id] = reserved{job, !inTurn}
}

// End frees a slot, and returns the job that it ran a task of.
func (r *Reserve) End(id sojourn.SlotID) sojourn.JobID {
	job := r.slots[id].job
	*r.slots[id] = reserved{}
	return job
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
