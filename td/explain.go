package td

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// AppendRanking implements [sojourn.Explainer]. It lists senile jobs, which only
// end; then teenaged jobs, adults below their floors, the other adults by amt, the
// infantile job, and the waiting ones. Ties go by arrival. Which of the adults
// gets a slot depends on the slot.
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	jobs := p.ledger.AppendJobs(nil)
	slices.SortFunc(jobs, func(a, b *job) int {
		if c := turn(a) - turn(b); c != 0 {
			return c
		}
		if turn(a) == turnOfAdults && a.Data.amt != b.Data.amt {
			if a.Data.amt < b.Data.amt {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Seq(), b.Seq())
	})
	for _, j := range jobs {
		dst = append(dst, j.Spec().ID)
	}
	return dst
}

const turnOfAdults = 3

// turn returns the place of a job's group among those that AppendRanking lists.
func turn(j *job) int {
	switch d := &j.Data; {
	case d.status == senile:
		return 0
	case d.status == teenaged:
		return 1
	case d.short:
		return 2
	case d.status == adult:
		return turnOfAdults
	case d.status == infantile:
		return 4
	}
	return 5
}

// Explain implements [sojourn.Explainer]. Its keys are those of [ledger.Ledger.Attrs] and
//
//	key        unit   meaning
//	status     text   waiting, infantile, teenaged, adult, senile or finished
//	demand     slots  its demand, until it is senile
//	floor      slots  L times its demand, until it is senile
//	bound      slots  H times its demand, until it is senile
//	occupied   tasks  map tasks that run
//	remain     tasks  map tasks that are left to start
//	amt        s      the mean time of a map task
//	measured   tasks  map tasks that amt was measured on
//	T          slots  slots of the class of its map tasks
//	D          slots  the demands of adults and teenaged jobs there
//	Osen       slots  those there that neither infantile, teenaged nor adult jobs hold
//	hot_spots  nodes  those that have theta tuples in the hot queue
//	td         text   what it waits for, if it has something to start
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	d, ph := &j.Data, j.Phase(0)
	l := d.lane
	attrs := append(p.ledger.Attrs(j), slog.String("status", d.status.String()))
	if d.status < senile {
		demand := d.demand
		if d.status <= infantile {
			demand = p.demand(j)
		}
		attrs = append(attrs,
			slog.Int("demand", demand),
			slog.Int("floor", p.set.floor(demand)),
			slog.Float64("bound", float64(p.bound(l)*uint64(demand))/million))
	}
	attrs = append(attrs,
		slog.Int("occupied", ph.Running()),
		slog.Int("remain", j.Spec().Phases[0].Tasks-ph.Done()-ph.Running()),
		slog.Float64("amt", float64(d.amt)/million),
		slog.Uint64("measured", d.runs),
		slog.Int("T", p.ledger.Capacity(l.class)),
		slog.Int("D", l.demand),
		slog.Int("Osen", l.senile()),
		slog.Int("hot_spots", p.hotSpots()))
	if why := p.why(j); why != "" {
		attrs = append(attrs, slog.String("td", why))
	}
	return attrs, true
}

// hotSpots returns the number of hot spots, which no task may read from.
func (p *Policy) hotSpots() (n int) {
	for _, count := range p.hot.count { //sojourn:unordered a sum
		if count >= p.set.Theta {
			n++
		}
	}
	return n
}

// why says what a job that could start tasks waits for. UPDATE runs when a slot is
// offered, so a condition for a change of status may hold before the change.
func (p *Policy) why(j *job) string {
	d := &j.Data
	l := d.lane
	slots := p.ledger.Capacity(l.class)
	switch {
	case !d.awake:
		return p.whyLate(j)
	case d.status == waiting && l.infantile != nil:
		return fmt.Sprintf("job %d is infantile and has to grow up first", l.infantile.Spec().ID)
	case d.status == waiting && l.senile()+l.demand < slots:
		return fmt.Sprintf("its turn comes with the next slots, by arrival: Osen + D = %d is below T = %d", l.senile()+l.demand, slots)
	case d.status == waiting:
		return fmt.Sprintf("not co-scheduled: Osen + D = %d, which has to be below T = %d", l.senile()+l.demand, slots)
	case d.status == infantile && p.full(l):
		return fmt.Sprintf("runs on what others leave: no more than MaxCoScheduled = %d may be co-scheduled", p.set.MaxCoScheduled)
	case d.status == infantile && l.senile()+l.demand+p.demand(j) <= slots:
		return "grows up with the next slot that gets a task"
	case d.status == infantile:
		return fmt.Sprintf("runs on what others leave: Osen + D + demand = %d, which may be at most T = %d",
			l.senile()+l.demand+p.demand(j), slots)
	case (d.teen || d.short) && p.behind(j):
		return "is below its floor: gets the next slot for which it has a task that is not at a hot spot"
	case !p.underH(l, j, d.demand):
		return "is at its upper bound: gets slots that would stay idle"
	}
	return "gets slots close to its inputs, or remote ones in the order of falling amt"
}

// whyLate says what a job waits for if it has no map task left that was never started.
func (p *Policy) whyLate(j *job) string {
	maps := j.Phase(0)
	reduces := 0
	for i := range j.NumSides() {
		reduces += j.Side(i).Startable()
	}
	switch {
	case j.Cancelled():
		return ""
	case maps.Pending() > 0:
		return "its map tasks, which came back or were added, go first, by arrival"
	case reduces == 0:
		return ""
	case maps.Done() == j.Spec().Phases[0].Tasks:
		return "its reduces go first, by arrival"
	}
	return "its reduces go last until its last map task has finished"
}
