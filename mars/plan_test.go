package mars

import "testing"

// Every planner makes feasible schedules with proofs that Verify accepts.
func TestPlanners(t *testing.T) {
	in := gen(t, "mars-random", 1, 50, map[string]string{"jobs": "30"})
	var all []Planner
	for p := BestOf; p < TMarS; p++ {
		all = append(all, p)
	}
	list, err := PlanAll(in, Options{}, all...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if err := Verify(in, s); err != nil {
			t.Errorf("%v: %v", s.Planner, err)
		}
		if s.Guarantee != 0 && s.Ratio() > s.Guarantee {
			t.Errorf("%v: ratio %v, guaranteed are %v", s.Planner, s.Ratio(), s.Guarantee)
		}
	}
}
