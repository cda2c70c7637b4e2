package leastwork

import (
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

func (p *Policy) header() snapshot.Header { return snapshot.Header{Policy: "leastwork", Version: 11} }

// AppendBinary implements [sojourn.Snapshotter].
func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
		p.queue.Save(w, func(j *ledger.Job[jobData]) {
			w.Int(j.Data.came)
			w.Bool(j.Data.refused)
			w.Uint(uint64(j.Data.own.votes))
			w.Int(int64(j.Data.own.off))
			for i := range j.Data.phases {
				j.Data.phases[i].save(w)
			}
			for _, side := range j.Data.sides {
				w.Int(int64(side.by))
				side.lost.Save(w)
				side.owed.Save(w)
			}
		})
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *Policy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.queue.Restore(r, func(j *ledger.Job[jobData]) {
			j.Data = newData(j)
			j.Data.came, j.Data.refused = r.Int(), r.Bool()
			j.Data.own.restore(r, j.NumPhases())
			r.Check(j.Data.came <= int64(p.queue.Ledger.Now()), "a job came after the present")
			for i := range j.Data.phases {
				ph, account := &j.Data.phases[i], j.Phase(i)
				ph.describe(&j.Spec().Phases[i], account)
				ph.restore(r, p.queue.Ledger.Now())
				side := &j.Data.sides[account.Side()]
				sum := side.filedIn(ph)
				*sum = sum.Add(ph.filed)
			}
			for i := range j.Data.sides {
				side := &j.Data.sides[i]
				side.correct(restoreOctaves(r))
				side.lost, side.owed = wide.Restore128(r), charge.Restore(r)
			}
		})
	})
}

func (ph *phase) save(w *snapshot.Writer) {
	w.Uint(ph.samples)
	w.Bool(ph.typical)
	ph.took.Save(w)
	ph.sampled.Save(w)
	w.Int(ph.since)
	ph.filed.Save(w)
	w.Bool(ph.fresh)
	w.Bool(ph.used)
	w.Uint(uint64(ph.doubt))
}

func (ph *phase) restore(r *snapshot.Reader, now sojourn.Time) {
	ph.samples, ph.typical = r.Below(1<<62), r.Bool()
	r.Check(ph.samples > 0 || !ph.typical, "no task has finished, and it is typical")
	ph.took, ph.sampled = wide.Restore128(r), wide.Restore128(r)
	r.Check(ph.took.Hi < 1<<32 && ph.sampled.Hi < 1<<32, "times of tasks are out of range")
	ph.since = r.Int()
	r.Check(ph.since <= int64(now), "a phase began after the present")
	ph.filed = wide.Restore128(r)
	if !r.Check(!maxWork.Less(ph.filed), "the work of a phase is out of range") {
		ph.filed = wide.Uint128{}
	}
	ph.fresh = r.Bool()
	ph.used, ph.doubt = r.Bool(), doubt(r.Below(uint64(useless)+1))
	r.Check(ph.told || !ph.used, "what is not told is used")
	r.Check(ph.used && ph.samples == 0 || !ph.fresh, "what is filed comes from estimates that are not used")
}

func (o *own) restore(r *snapshot.Reader, phases int) {
	o.votes, o.off = r.Index(phases+1), octaves(r.Int())
	most := octaves(o.votes) * longest
	r.Check(-most <= o.off && o.off <= most, "what estimates of a job were off is out of range")
}

// Save writes the statistics.
func (l *classStats) Save(w *snapshot.Writer) {
	w.Len(len(*l))
	for _, b := range *l {
		if w.Bool(b != nil); b != nil {
			b.save(w)
		}
	}
}

// Restore reads what Save has written.
func (l *classStats) Restore(r *snapshot.Reader) {
	n := r.Len()
	r.Check(n <= sojourn.MaxClasses, "there are too many classes")
	for c := range n {
		if r.Bool() && r.Err() == nil {
			l.of(sojourn.Class(c)).restore(r)
		} else {
			*l = append(*l, nil)
		}
	}
}

func (b *stats) save(w *snapshot.Writer) {
	w.Uint(b.votes)
	w.Int(int64(b.sum))
	w.Int(int64(b.usual))
	w.Uint(b.settled)
	w.Uint(b.toldVotes)
	w.Int(int64(b.bias))
	for _, off := range b.off {
		w.Uint(uint64(off))
	}
	w.Bool(b.useTold)
	w.Bool(b.useRank)
	w.Bool(b.useRatio)
	w.Bool(b.useNames)
	w.Uint(uint64(b.doubt))
	for i := range digits(math.MaxInt64) {
		w.Uint(b.seen[i+1] - b.seen[i])
	}
	b.round.save(w)
	b.names.save(w)
}

func (b *stats) restore(r *snapshot.Reader) {
	b.votes = r.Below(maxVotes)
	b.sum = octaves(r.Int())
	r.Check(b.sum >= 0 && b.sum <= octaves(b.votes)*longest, "a sum of logarithms is out of range")
	b.usual = restoreOctaves(r)
	b.usualTime = b.usual.time()
	b.settled = r.Below(b.votes + 1)
	b.toldVotes = r.Below(b.votes + 1)
	b.bias = restoreOctaves(r)
	for i := range b.off {
		b.off[i] = octaves(r.Below(2*uint64(longest) + 1))
	}
	b.useTold, b.useRank, b.useRatio, b.useNames = r.Bool(), r.Bool(), r.Bool(), r.Bool()
	b.doubt = doubt(r.Below(uint64(useless) + 1))
	for i := range digits(math.MaxInt64) {
		b.seen[i+1] = b.seen[i] + r.Below(maxVotes)
	}
	r.Check(b.seen[len(b.seen)-1] == b.votes, "not all lengths were counted")
	b.round.restore(r)
	b.names.restore(r)
}

func (g *round) save(w *snapshot.Writer) {
	w.Uint(uint64(g.what))
	if g.what != nothing {
		w.Uint(uint64(g.next))
		w.Uint(uint64(g.stop))
		w.Bool(g.over)
	}
}

func (g *round) restore(r *snapshot.Reader) {
	if g.what = change(r.Below(uint64(all) + 1)); g.what != nothing {
		g.next, g.stop, g.over = uint32(r.Below(1<<32)), uint32(r.Below(1<<32)), r.Bool()
		r.Check(!g.over || g.next <= g.stop, "a round has passed its end")
	}
}

// longest is a bound of logarithms of times, and of differences of two. What is off is
// at most twice that.
const longest = 64 * octave

func restoreOctaves(r *snapshot.Reader) octaves {
	o := octaves(r.Int())
	r.Check(-longest <= o && o <= longest, "a logarithm is out of range")
	return o
}

// save writes the names in the order of their votes, the earliest first.
func (n *names) save(w *snapshot.Writer) {
	w.Len(n.latest.Len())
	for e := n.latest.Back(); e != nil; e = e.Prev() {
		r := e.Value.(*named)
		w.String(r.name)
		w.Int(int64(r.weight))
		w.Int(int64(r.mean))
		w.Int(int64(r.toldWeight))
		w.Int(int64(r.ratio))
	}
}

func (n *names) restore(r *snapshot.Reader) {
	count := r.Len()
	r.Check(count <= maxNames, "there are too many names")
	for range count {
		e := &named{name: r.String(), weight: octaves(r.Int()), mean: restoreOctaves(r), toldWeight: octaves(r.Int()), ratio: restoreOctaves(r)}
		const most = 5*octave + 1 // 1/(1 - 4/5)
		if !r.Check(e.name != "" && n.byName[e.name] == nil && e.weight >= octave && e.weight <= most && e.toldWeight >= 0 && e.toldWeight <= e.weight,
			"a name is there twice, or its weight is out of range") {
			return
		}
		n.byName[e.name] = n.latest.PushFront(e)
	}
}
