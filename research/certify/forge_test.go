package certify_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// Smith ratios bound the completion of jobs. A job whose tasks end at 1 s and 2 s with weights 1 and 0 costs 1 if each
// task counts, and 2 if its end does: the ratios would prove 2 for both.
func TestSmithRatiosDoNotBoundTheCompletionOfTasks(t *testing.T) {
	in := plan.Instance{Machines: []int{1}, Objective: plan.TaskCompletion, Jobs: []plan.Job{{Phases: []plan.Phase{
		{Tasks: 2, Time: time.Second, Weights: []float64{0, 1}}}}}}
	ratios := []float64{0.5, 0.5}
	if bound, err := certify.SmithRatios(in, ratios); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("SmithRatios = %v, %v", bound, err)
	}
	s, err := plan.Plan(in, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Start = []sojourn.Time{0, sojourn.Time(time.Second)} // the wrong one first
	s.Objective, s.Guarantee, s.BestLowerBound, s.Smith = 2, 0, 1.999999, ratios
	if err := certify.Verify(in, s); err == nil {
		t.Error("a schedule twice as dear as the optimum is the best")
	}
	in.Objective = plan.JobCompletion
	if bound, err := certify.SmithRatios(in, ratios); err != nil || math.Abs(bound-2) > 1e-12 {
		t.Errorf("for the completion of jobs: %v, %v, want 2", bound, err)
	}
}

// forge changes one number, or one list, somewhere in v.
func (s *source) forge(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for {
			if f := v.Field(s.below(v.NumField())); f.CanSet() {
				s.forge(f)
				return
			}
		}
	case reflect.Slice:
		n := v.Len()
		if n == 0 {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			return
		}
		list := reflect.MakeSlice(v.Type(), n, n+1) // its own
		reflect.Copy(list, v)
		v.Set(list)
		i, j := s.below(n), s.below(n)
		switch s.below(6) {
		case 0:
			v.SetZero()
		case 1:
			v.Set(reflect.Append(v, v.Index(i)))
		case 2:
			v.Set(reflect.AppendSlice(v.Slice(0, i), v.Slice(i+1, n)))
		case 3:
			reflect.Swapper(v.Interface())(i, j)
		default:
			s.forge(v.Index(i))
		}
	case reflect.Float64:
		x := v.Float()
		v.SetFloat(pick(s, []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, 0x1p-1022, math.MaxFloat64, -x,
			math.Nextafter(x, math.Inf(1)), math.Nextafter(x, math.Inf(1)), math.Nextafter(x, math.Inf(-1)), x * (1 + 0x1p-36), x * (1 - 0x1p-36), 2 * x, x / 2, s.number()}))
	case reflect.Int64, reflect.Int32, reflect.Int:
		x := v.Int()
		v.SetInt(pick(s, []int64{x + 1, x - 1, -x, 2 * x, x / 2, 0, 1 << 62, math.MaxInt64, math.MinInt64, int64(pick(s, lengths))}))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(s.below(4)))
	case reflect.String:
		v.SetString(pick(s, []string{"", "bestof", "tmars", "marx"}))
	default:
		panic(v.Type()) // a kind that nobody has forged yet
	}
}

// agree makes the numbers of a schedule that follow from others do so, and its best bound what it wants to prove.
func (s *source) agree(in *plan.Instance, to *plan.Schedule, best *enumeration) {
	if len(to.Start) == len(best.tasks) && len(to.Completion) == len(in.Jobs) {
		clear(to.Completion)
		to.Objective = 0
		for i, u := range best.tasks {
			end := to.Start[i].Add(in.Jobs[u.job].Phases[u.phase].TimeOf(u.index))
			to.Completion[u.job] = max(to.Completion[u.job], end)
			to.Objective += u.weight * time.Duration(end).Seconds()
		}
		for j, end := range to.Completion {
			if in.Objective == plan.JobCompletion {
				to.Objective += weightOf(in.Jobs[j].Weight) * time.Duration(end).Seconds()
			}
		}
	}
	optimum, _ := best.best.Float64()
	to.BestLowerBound = pick(s, []float64{to.BestLowerBound, to.Objective, math.Nextafter(to.Objective, 0), optimum / 1e9, math.Nextafter(optimum/1e9, math.Inf(1))})
	if s.below(4) == 0 {
		to.LowerBound = to.BestLowerBound
	}
	if s.below(2) == 0 {
		to.Guarantee = 0
	}
	if to.Gap = 0; to.UpperBoundLP != to.LowerBound {
		to.Gap = (to.UpperBoundLP - to.LowerBound) / to.LowerBound
	}
}

// Whatever is changed in a plan and in its proofs, and whatever of the rest is made to agree, what Verify accepts is
// true: the schedule is one, no bound is above the optimum, and the point is worth at least what prices prove.
func TestAForgedPlanProvesNothingFalse(t *testing.T) {
	random := rand.New(rand.NewPCG(20261126, 1))
	accepted, refused := 0, 0
	for n := range 4 * forgedPlans {
		s := &source{bytes: make([]byte, 1<<12)}
		for i := range s.bytes {
			s.bytes[i] = byte(random.Uint32())
		}
		in := s.instance(plan.Objective(n % 2))
		if in.Check() != nil {
			continue
		}
		good, err := plan.Plan(in, plan.Options{ReleaseCuts: s.below(2) == 0, Evaluations: -1})
		if err != nil {
			continue
		}
		best := optimum(&in)
		for range 25 {
			forged := *good
			forged.Completion = append([]sojourn.Time(nil), good.Completion...)
			switch s.below(4) {
			case 0:
				forged.Smith = s.ratios(&in)
			case 1:
				forged.BestCertificate, forged.Smith = s.prices(&in, instants(&in)), nil
			}
			for range s.below(3) {
				s.forge(reflect.ValueOf(&forged).Elem())
			}
			if s.below(4) > 0 {
				s.agree(&in, &forged, best)
			}
			if certify.Verify(in, &forged) != nil {
				refused++
				continue
			}
			accepted++
			if why := wrong(&in, &forged); why != "" {
				t.Fatalf("%+v: %s: %+v", in, why, forged)
			}
			if best.refutes(forged.LowerBound) || best.refutes(forged.BestLowerBound) {
				t.Fatalf("%+v: %+v says that no schedule costs less than %v or %v; the optimum is %v/1e9", in, forged, forged.LowerBound, forged.BestLowerBound, &best.best)
			}
			if forged.UpperBoundLP < good.LowerBound*(1-0x1p-35) {
				t.Fatalf("%+v: %+v has a point of the value %v; prices prove %v", in, forged, forged.UpperBoundLP, good.LowerBound)
			}
			if g := forged.Guarantee; g != 0 && forged.Objective > g*forged.LowerBound*(1+1e-14) {
				t.Fatalf("%+v: %+v: the objective is not within the guarantee", in, forged)
			}
		}
	}
	if accepted < 100 || refused < 100 {
		t.Errorf("%d were accepted and %d refused: nothing was tried", accepted, refused)
	}
	t.Logf("%d accepted, %d refused", accepted, refused)
}
