package vqueue_test

import (
	"math/big"

	"github.com/sojourn-sched/sojourn"
)

// A gps is exact generalised processor sharing in rational numbers: no virtual
// time, the remaining work of every job is written down and changed.
type gps struct {
	now   *big.Rat
	slots int64
	jobs  []*gpsJob // in the order of their arrival
}

type gpsJob struct {
	left   *big.Rat // slot-nanoseconds
	weight *big.Rat
	end    *big.Rat // the instant of completion in nanoseconds; nil before
}

func newGPS() *gps { return &gps{now: new(big.Rat)} }

func (s *gps) arrive(work, weight uint64) *gpsJob {
	j := &gpsJob{left: ratU(work), weight: new(big.Rat).SetFrac(ratU(weight).Num(), big.NewInt(1<<16))}
	s.jobs = append(s.jobs, j)
	s.settle()
	return j
}

// revise changes the work of j by the difference of new and old, to 2^63 at most.
func (s *gps) revise(j *gpsJob, old, work, weight uint64) {
	j.weight = new(big.Rat).SetFrac(ratU(weight).Num(), big.NewInt(1<<16))
	if j.end == nil {
		j.left.Add(j.left, ratU(work)).Sub(j.left, ratU(old))
		if most := ratU(1 << 63); j.left.Cmp(most) > 0 {
			j.left = most
		}
	}
	s.settle()
}

// reset gives j so much work left, also if it was complete.
func (s *gps) reset(j *gpsJob, left uint64) {
	j.left, j.end = ratU(left), nil
	s.settle()
}

// settle completes the jobs that have nothing left.
func (s *gps) settle() {
	for _, j := range s.jobs {
		if j.end == nil && j.left.Sign() <= 0 {
			j.left.SetInt64(0)
			j.end = new(big.Rat).Set(s.now)
		}
	}
}

// advance moves to instant t, one completion after the other.
func (s *gps) advance(t sojourn.Time) {
	end := ratI(int64(t))
	for s.now.Cmp(end) < 0 {
		total := new(big.Rat)
		for _, j := range s.jobs {
			if j.end == nil {
				total.Add(total, j.weight)
			}
		}
		if total.Sign() == 0 || s.slots == 0 {
			s.now = end
			return
		}
		// Each unit of weight receives gain, up to the first completion or to t.
		rate := new(big.Rat).Quo(ratI(s.slots), total)
		gain := new(big.Rat).Sub(end, s.now)
		gain.Mul(gain, rate)
		for _, j := range s.jobs {
			if j.end == nil {
				if need := new(big.Rat).Quo(j.left, j.weight); need.Cmp(gain) < 0 {
					gain = need
				}
			}
		}
		s.now = new(big.Rat).Add(s.now, new(big.Rat).Quo(gain, rate))
		for _, j := range s.jobs {
			if j.end == nil {
				j.left.Sub(j.left, new(big.Rat).Mul(gain, j.weight))
			}
		}
		s.settle()
	}
}

func ratI(x int64) *big.Rat  { return new(big.Rat).SetInt64(x) }
func ratU(x uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(x)) }

// ceil returns x rounded up.
func ceil(x *big.Rat) *big.Rat {
	q, r := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return new(big.Rat).SetInt(q)
}
