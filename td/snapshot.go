package td

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

func (p *Policy) header() snapshot.Header {
	return snapshot.Header{Policy: "td", Version: 2, Options: []snapshot.Option{
		snapshot.Opt("theta", p.set.Theta), snapshot.Opt("lifetime", p.set.lifetime),
		snapshot.Opt("self-tune", p.set.SelfTune), snapshot.Opt("as-printed", p.set.AsPrinted),
	}}
}

// AppendBinary implements [sojourn.Snapshotter]. The state has, beside the account,
// the status of each job, the time of its promotion and its demand at that time, the
// times of its tasks, the last job of each free slot as far as it still counts, and
// the hot queue. Lists, sums and R_n follow from these.
func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) {
		p.ledger.Save(w)
		for j := range p.ledger.All() {
			d := &j.Data
			w.Uint(uint64(d.status))
			w.Uint(uint64(d.demand))
			w.Time(d.since)
			w.Uint(d.sum)
			w.Uint(d.runs)
		}
		n := 0
		p.last.each(func(sojourn.SlotID, *job) { n++ })
		w.Len(n)
		p.last.each(func(id sojourn.SlotID, j *job) {
			w.Uint(uint64(id))
			w.Uint(uint64(j.Spec().ID))
		})
		w.Len(p.hot.len)
		for i := range p.hot.len {
			w.Uint(uint64(p.hot.at(i).node))
			w.Time(p.hot.at(i).expires)
		}
	})
}

// each calls f for the slots whose last job may still be preferred there.
func (l lastJobs) each(f func(sojourn.SlotID, *job)) {
	for page := range l {
		if l[page] == nil {
			continue
		}
		for i, last := range l[page] {
			if j := last.live(); j != nil && j.Data.status < senile {
				f(sojourn.SlotID(page*256+i), j)
			}
		}
	}
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *Policy) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) {
		p.ledger.Restore(r)
		p.index.Rebuild()
		for c := range sojourn.MaxClasses {
			if p.ledger.Capacity(sojourn.Class(c)) > 0 {
				p.lane(sojourn.Class(c))
			}
		}
		for j := range p.ledger.All() {
			p.restoreJob(r, j)
		}
		for s := range p.ledger.Attempts() {
			p.lane(s.Class).busy++
		}
		for range r.Len() {
			id := sojourn.SlotID(r.Below(sojourn.MaxSlots))
			j := p.ledger.Job(sojourn.JobID(r.Uint()))
			if r.Check(j != nil && j.Data.status < senile, "the last job of a slot is over") {
				p.last.set(id, j)
			}
		}
		for range r.Len() {
			t := tuple{sojourn.NodeID(r.Below(1 << 32)), r.Time()}
			ordered := p.hot.len == 0 || p.hot.at(p.hot.len-1).expires <= t.expires
			if r.Check(t.node != 0 && ordered && (t.expires > p.ledger.Now() || t.expires == never), "the hot queue is out of order") {
				p.hot.push(t)
			}
		}
	})
}

// restoreJob reads the data about a job, and files it.
func (p *Policy) restoreJob(r *snapshot.Reader, j *job) {
	j.Data = member{lane: p.lane(j.Spec().Phases[0].Class)}
	d := &j.Data
	to := status(r.Below(uint64(finished) + 1))
	demand := r.Index(sojourn.MaxSlots + 1)
	since := r.Time()
	d.sum, d.runs = r.Uint(), r.Uint()
	p.estimate(j)
	ph := j.Phase(0)
	over := ph.Done()+ph.Running() == j.Spec().Phases[0].Tasks
	grown := to == teenaged || to == adult
	ok := r.Check(j.Cancelled() == (to == finished) && (j.Cancelled() || !over || to == senile), "a status does not fit the tasks")
	ok = ok && r.Check(grown == (demand > 0), "a demand does not fit the status")
	if !ok || !r.Check(to != infantile || d.lane.infantile == nil, "two jobs are infantile") {
		return
	}
	p.setStatus(j, to)
	d.demand, d.since = demand, since
	p.file(j)
	p.fileReduces(j)
}
