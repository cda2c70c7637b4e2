package fair

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// jobKey returns the key of one side of a job among the jobs of its pool.
func (t *tree) jobKey(j *job, s *ledger.Side) jobKey {
	d := &j.Data
	switch {
	case d.pool.conf.leaf():
		return newJobKey(0, 1, wide.Uint128{}, d.turn)
	case t.ties == Arrival:
		return newJobKey(t.measure(j, s), j.Weight(), wide.Uint128{}, d.turn)
	case t.ranked:
		of := overall(j)
		return newJobKey(t.measure(j, s), j.Weight(), of.tie, of.turn)
	}
	of := sideOf(j, s)
	return newJobKey(t.measure(j, s), j.Weight(), of.tie, of.turn)
}

// sideOf returns what is kept of one side of j.
func sideOf(j *job, s *ledger.Side) *side {
	i := 0
	for j.Side(i) != s {
		i++
	}
	return &j.Data.sides[i]
}

// overall returns the greatest tie and the latest turn of the sides of j.
func overall(j *job) (of side) {
	for _, d := range j.Data.sides {
		of.turn = max(of.turn, d.turn)
		if of.tie.Less(d.tie) {
			of.tie = d.tie
		}
	}
	return of
}

// begin makes what is kept of the sides of a job that has just come.
func (t *tree) begin(j *job) {
	j.Data.makeSides(j.NumSides())
	for i := range j.Data.sides {
		j.Data.sides[i].turn, j.Data.sides[i].before = j.Data.turn, j.Data.turn
		if t.ties == LeastService {
			j.Data.sides[i].tie = j.Data.pool.class(t.counted(j.Side(i).Class())).most
		}
	}
	if t.ties == LeastWork {
		t.setWork(j)
	}
}

// addTie charges a side of j, among the jobs of its pool, for slot time of a class, below 2^64.
func (t *tree) addTie(j *job, d *side, c sojourn.Class, held uint64) {
	nc := j.Data.pool.class(t.counted(c))
	d.tie = d.tie.AddCapped(service(held, j.Weight())) // jobs that have come to the cap are served in turn
	if nc.most.Less(d.tie) {
		nc.most = d.tie
	}
}

// service returns floor(held*2^48/weight) for 0 < weight < 2^48: the slot
// time of a job for its weight, in units of 2^-32 ns where the weight is 1.
func service(held, weight uint64) wide.Uint128 {
	if weight == 1<<16 { // of most jobs, and no division
		return wide.Uint128{Hi: held >> 32, Lo: held << 32}
	}
	q, _ := wide.Uint128{Hi: held >> 16, Lo: held << 48}.QuoRem(wide.From64(weight))
	return q
}

// setWork sets the ties of a job to the work in its unfinished tasks.
func (t *tree) setWork(j *job) {
	left := charge.RemainingWork(j.Spec(), j.Phase, option.DefaultTaskTime)
	for i := range j.Data.sides {
		j.Data.sides[i].tie = left
	}
}

// countWork brings the ties of a job up to date after an event, in constant time unless
// the job was revised.
func (t *tree) countWork(ev *sojourn.Event, j *job) {
	change := wide.Uint128.Sub
	switch ev.Kind {
	case sojourn.JobRevised:
		t.setWork(j)
		return
	case sojourn.TaskFinished, sojourn.TaskDone:
	case sojourn.OutputLost:
		change = wide.Uint128.Add
	default:
		return
	}
	of := charge.TaskWork(&j.Spec().Phases[ev.Task.Phase], ev.Task.Index, option.DefaultTaskTime)
	for i := range j.Data.sides {
		j.Data.sides[i].tie = change(j.Data.sides[i].tie, of)
	}
}
