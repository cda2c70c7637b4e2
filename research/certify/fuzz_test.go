package certify_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// Whatever an instance, prices, ratios, a point and a schedule are, nothing that is accepted says
// more than an exact enumeration: bounds are at most the optimum, the value of a point is at least
// each bound of the program, and a schedule is one.
func FuzzPrices(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 8 {
		b := make([]byte, 300)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &source{b}
		in := s.instance(plan.Objective(s.below(4) / 3))
		if in.Check() != nil {
			return
		}
		best := optimum(&in)
		prices := s.prices(&in, instants(&in))
		bound, err := certify.Prices(in, prices)
		if err != nil || best.refutes(bound) {
			t.Fatalf("%+v: prices %+v prove %v, %v; the optimum is %v/1e9", in, prices, bound, err, &best.best)
		}
		ratios := s.ratios(&in)
		if v, err := certify.SmithRatios(in, ratios); err == nil && best.refutes(v) {
			t.Fatalf("%+v: ratios %v prove %v; the optimum is %v/1e9", in, ratios, v, &best.best)
		}
		for i := range prices {
			prices[i].From = 0
		}
		if bound, err = certify.Prices(in, prices); err != nil {
			t.Fatal(err)
		}
		c := s.point(&in, best)
		value, err := certify.Point(in, c)
		if err == nil && bound > value*(1+0x1p-35) {
			t.Fatalf("%+v: the point %v has the value %v, and prices %+v prove %v", in, c, value, prices, bound)
		}
		schedule := s.schedule(&in, best)
		schedule.Bound = plan.Bound{BestLowerBound: bound, BestCertificate: prices, UpperBoundLP: value, Gap: math.Inf(1), Certificate: plan.Certificate{C: c}}
		if bound <= 0 {
			schedule.BestLowerBound = 0
		}
		if value == 0 {
			schedule.Gap = 0
		}
		if err := certify.Verify(in, schedule); err == nil {
			if why := wrong(&in, schedule); why != "" {
				t.Fatalf("%+v: %s: %+v", in, why, schedule)
			}
		}
	})
}

// point returns the ends of the best schedule, each changed a little or by much.
func (s *source) point(in *plan.Instance, best *enumeration) []float64 {
	ends := make([]sojourn.Time, len(in.Jobs))
	var tasks []float64
	part := []float64{1, 1, 1, 1 - 1e-16, 1 - 1e-12, 1 - 1e-9, 0.5, 2}
	for _, u := range best.found {
		ends[u.job] = max(ends[u.job], sojourn.Time(u.end))
		tasks = append(tasks, time.Duration(u.end).Seconds()*pick(s, part))
	}
	if in.Objective == plan.TaskCompletion {
		return tasks
	}
	var jobs []float64
	for _, end := range ends {
		jobs = append(jobs, time.Duration(end).Seconds()*pick(s, part))
	}
	return jobs
}

// schedule returns the best schedule with some starts changed.
func (s *source) schedule(in *plan.Instance, best *enumeration) *plan.Schedule {
	out := &plan.Schedule{Completion: make([]sojourn.Time, len(in.Jobs))}
	late := sojourn.Time(0)
	if s.below(4) == 0 {
		late = math.MaxInt64 - sojourn.Time(s.next(8)>>(1+s.below(63)))
	}
	for _, u := range best.found {
		start := max(sojourn.Time(u.start), late)
		if s.below(6) == 0 {
			start = start.Add(pick(s, []time.Duration{1, -1, time.Second, -time.Second, math.MaxInt64}))
		}
		if s.below(12) == 0 {
			u.machine = int32(s.below(8)) - 1
		}
		end := start.Add(in.Jobs[u.job].Phases[u.phase].TimeOf(u.index))
		out.Start, out.Machine = append(out.Start, start), append(out.Machine, u.machine)
		out.Completion[u.job] = max(out.Completion[u.job], end)
		out.Objective += u.weight * time.Duration(end).Seconds()
	}
	for j, end := range out.Completion {
		if in.Objective == plan.JobCompletion {
			out.Objective += weightOf(in.Jobs[j].Weight) * time.Duration(end).Seconds()
		}
	}
	return out
}

// wrong returns what is wrong with a schedule, or "". Its integers have no end.
func wrong(in *plan.Instance, s *plan.Schedule) string {
	start := func(i int) *big.Int { return big.NewInt(int64(s.Start[i])) }
	plus := func(a *big.Int, d time.Duration) *big.Int { return new(big.Int).Add(a, big.NewInt(int64(d))) }
	ends, base := make([]*big.Int, len(s.Start)), 0
	for j := range in.Jobs {
		job := &in.Jobs[j]
		before := base
		for k := range job.Phases {
			p := &job.Phases[k]
			for v := range p.Tasks {
				ends[base+v] = plus(start(base+v), p.TimeOf(v))
				if ends[base+v].Cmp(big.NewInt(int64(s.Completion[j]))) > 0 {
					return "a task ends after its job"
				}
				if s.Start[base+v] < job.Release {
					return "a task starts before its release"
				}
				for u := before; u < base && k > 0 && !p.NoBarrier; u++ {
					d := time.Duration(0)
					if q := &job.Phases[k-1]; q.Delays != nil {
						d = q.Delays[u-before]
					}
					if plus(ends[u], d).Cmp(start(base+v)) > 0 {
						return "a task starts before its input has arrived"
					}
				}
			}
			before, base = base, base+p.Tasks
		}
	}
	for i := range s.Start {
		for k := range i {
			if s.Machine[i] == s.Machine[k] && start(i).Cmp(ends[k]) < 0 && start(k).Cmp(ends[i]) < 0 {
				return "a machine runs two tasks"
			}
		}
	}
	return ""
}
