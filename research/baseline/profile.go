package baseline

import (
	"cmp"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A profile says how many places will be free from each of some instants on, until the next of
// them. The instants increase; the first is the present.
type profile []freeFrom

type freeFrom struct {
	at   sojourn.Time
	free int
}

// ahead returns what will be free if nothing more is started, and all that runs ends by its limit.
// What runs on after its limit is taken to end at any moment. It is valid until the next call.
func (p *backfill) ahead() profile {
	p.future = append(p.future[:0], freeFrom{p.ledger.Now(), p.places})
	for s, a := range p.ledger.Attempts() {
		p.future = p.future.hold(p.ledger.Now(), endOf(a), p.widths.Width(s.Class))
	}
	return p.future
}

// A turn is when the next task of a job that runs as many as it may can start at the latest.
type turn struct {
	job *rigidJob
	at  sojourn.Time
}

// follow holds the places of jobs before first that have tasks left, and wait for one of their own to end: the next task
// takes its places then.
func (p *backfill) follow(f profile, first *rigidJob) profile {
	turns := p.turns[:0]
	for _, a := range p.ledger.Attempts() {
		if a.Job.Bounded() && a.Job.Seq() < first.Seq() && a.Job.Side(0).Pending() > 0 {
			turns = append(turns, turn{a.Job, max(endOf(a), p.ledger.Now())})
		}
	}
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Or(cmp.Compare(a.job.Seq(), b.job.Seq()), cmp.Compare(a.at, b.at)) })
	p.turns = turns
	for len(turns) > 0 {
		j, n := turns[0].job, 1
		for n < len(turns) && turns[n].job == j {
			n++
		}
		f = p.succeed(f, j, turns[max(0, n-int(j.Spec().Parallelism)):n])
		turns = turns[n:]
	}
	return f
}

// succeed holds the places of a job for the tasks that it has left. The turns are in order; those that come first are taken first.
func (p *backfill) succeed(f profile, j *rigidJob, turns []turn) profile {
	for i := range j.Spec().Phases[0].Tasks {
		if turns[0].at == forever {
			break
		}
		if !j.Phase(0).IsPending(uint32(i)) {
			continue
		}
		from := turns[0].at
		to := after(from, j.Spec().Phases[0].EstimateOf(i))
		f = f.hold(from, to, p.width(j))
		k, _ := slices.BinarySearchFunc(turns[1:], to, func(t turn, at sojourn.Time) int { return cmp.Compare(t.at, at) })
		copy(turns, turns[1:k+1])
		turns[k].at = to
	}
	return f
}

// hold takes a number of places from one instant to another.
func (f profile) hold(from, to sojourn.Time, width int) profile {
	if to <= from {
		return f
	}
	f, i := f.cut(from)
	f, end := f.cut(to)
	for ; i < end; i++ {
		f[i].free -= width
	}
	return f
}

// cut makes sure that an instant is among those of f, and returns its index.
func (f profile) cut(at sojourn.Time) (profile, int) {
	i, found := slices.BinarySearchFunc(f, at, func(s freeFrom, at sojourn.Time) int { return cmp.Compare(s.at, at) })
	if !found {
		f = slices.Insert(f, i, freeFrom{at, f[i-1].free})
	}
	return f, i
}

// earliest returns the first instant from which width places are free for as long as limit;
// forever if there is none.
func (f profile) earliest(width int, limit time.Duration) sojourn.Time {
	for i := 0; i < len(f) && f[i].at < forever; i++ {
		k, end := i, after(f[i].at, limit)
		for k < len(f) && f[k].at < end && f[k].free >= width {
			k++
		}
		if k == len(f) || f[k].at >= end {
			return f[i].at
		}
		i = k // it does not fit before f[k+1]
	}
	return forever
}

// feasible reports whether no place is taken twice.
func (f profile) feasible() bool {
	return !slices.ContainsFunc(f, func(s freeFrom) bool { return s.free < 0 && s.at < forever })
}

// keep makes the reservations those that jobs keep.
func (p *backfill) keep() {
	if !p.planned {
		return
	}
	for _, j := range p.waiting {
		j.Data.kept = j.Data.start
	}
	p.planned = false
}

// plan makes the reservations from those that jobs keep. Each job that waits, in the order of arrival,
// moves to the earliest instant that the others leave to it, which is no later than what it keeps. If the
// limits were wrong, or the cluster has not as many places, reservations have passed or do not fit
// beside each other. Then they are all void, and made anew.
func (p *backfill) plan() {
	p.planned = true
	f := p.ahead()
	kept := true
	for _, j := range p.waiting {
		j.Data.start = j.Data.kept
	}
	for _, j := range p.waiting {
		if kept = j.Data.start >= p.ledger.Now(); !kept {
			break
		}
		f = f.hold(j.Data.start, after(j.Data.start, limitOf(j)), p.width(j))
	}
	if !kept || !f.feasible() {
		f = p.ahead()
		for _, j := range p.waiting {
			j.Data.start = forever
		}
	}
	for _, j := range p.waiting {
		width, limit := p.width(j), limitOf(j)
		f = f.hold(j.Data.start, after(j.Data.start, limit), -width)
		j.Data.start = f.earliest(width, limit)
		f = f.hold(j.Data.start, after(j.Data.start, limit), width)
	}
	p.future = f // its memory is used again
}
