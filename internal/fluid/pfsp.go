package fluid

import (
	"math/big"
	"slices"
)

// protect returns the completions under PFSP. Beside the processor it keeps the
// virtual PS, which ages by itself. It stores no slack: it adds slacks up at each
// decision.
func protect(slots int, jobs []Job, done func()) []*big.Rat {
	p := protection{
		jobs: jobs,
		ends: make([]*big.Rat, len(jobs)),
		left: make([]*big.Rat, len(jobs)),
		tag:  make([]*big.Rat, len(jobs)),

		now: new(big.Rat), g: new(big.Rat), weight: new(big.Rat),
		speed: integer(uint64(slots)),
	}
	for _, id := range arrivals(jobs) {
		at := integer(uint64(jobs[id].At))
		for p.run(at) {
			done()
		}
		p.arrive(id)
	}
	for p.run(nil) {
		done()
	}
	return p.ends
}

// A protection is a processor under PFSP and its virtual PS.
type protection struct {
	jobs []Job
	ends []*big.Rat // when the job completes; nil before
	left []*big.Rat // w, as work on one slot
	tag  []*big.Rat // F, the virtual time at which the job completes under PS

	now    *big.Rat
	speed  *big.Rat
	g      *big.Rat // virtual time
	weight *big.Rat // of the jobs in v
	v      []int    // the jobs that are not complete under PS, in the order of tag and arrival
}

func (p *protection) arrive(id int) {
	j := &p.jobs[id]
	p.left[id] = integer(uint64(j.Work))
	tag := new(big.Rat).Quo(p.left[id], integer(j.Weight))
	p.tag[id] = tag.Add(tag, p.g)
	i := len(p.v)
	for i > 0 && tag.Cmp(p.tag[p.v[i-1]]) < 0 {
		i--
	}
	p.v = slices.Insert(p.v, i, id)
	p.weight.Add(p.weight, integer(j.Weight))
}

// run serves one job until it is complete, or until limit if not nil. It reports
// whether there is time left.
func (p *protection) run(limit *big.Rat) bool {
	id := p.choose()
	if id < 0 {
		if limit != nil {
			p.age(limit)
		}
		return false
	}
	end := new(big.Rat).Quo(p.left[id], p.speed)
	end.Add(end, p.now)
	if limit != nil && end.Cmp(limit) > 0 {
		done := new(big.Rat).Sub(limit, p.now)
		p.left[id].Sub(p.left[id], done.Mul(done, p.speed))
		p.age(limit)
		return false
	}
	p.left[id], p.ends[id] = new(big.Rat), end
	p.age(end)
	return true
}

// choose returns the completable job with the least work left, among equals the
// first under PS; -1 if none is left. A job is completable if the slack of none of
// the unfinished ones before it under PS,
//
//	s_i = s_{i-1} + (phi_i + ... + phi_m) (F_i - F_{i-1}) - w_i,   s_0 = 0, F_0 = g,
//
// is below its work left.
func (p *protection) choose() int {
	best := -1
	var least *big.Rat // slack so far; nil: no limit
	slack, tag, behind := new(big.Rat), p.g, new(big.Rat).Set(p.weight)
	for _, id := range p.v {
		gain := new(big.Rat).Sub(p.tag[id], tag)
		slack = gain.Add(gain.Mul(gain, behind), slack)
		slack.Sub(slack, p.left[id])
		tag = p.tag[id]
		behind.Sub(behind, integer(p.jobs[id].Weight))
		if p.ends[id] != nil {
			continue
		}
		if (least == nil || p.left[id].Cmp(least) <= 0) && (best < 0 || p.left[id].Cmp(p.left[best]) < 0) {
			best = id
		}
		if least == nil || slack.Cmp(least) < 0 {
			least = slack
		}
	}
	return best
}

// age moves the virtual PS to instant t.
func (p *protection) age(t *big.Rat) {
	for len(p.v) > 0 {
		head := p.v[0]
		end := new(big.Rat).Sub(p.tag[head], p.g)
		end.Mul(end, p.weight).Quo(end, p.speed).Add(end, p.now)
		if end.Cmp(t) > 0 {
			gain := new(big.Rat).Sub(t, p.now)
			p.g = gain.Mul(gain, p.speed).Quo(gain, p.weight).Add(gain, p.g)
			break
		}
		if p.ends[head] == nil {
			panic("fluid: a job is late under PFSP") // the theorem excludes this
		}
		p.now, p.g = end, p.tag[head]
		p.v = p.v[1:]
		p.weight.Sub(p.weight, integer(p.jobs[head].Weight))
	}
	if len(p.v) == 0 {
		p.g = new(big.Rat)
	}
	p.now = t
}
