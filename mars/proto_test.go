package mars

import (
	"fmt"
	"testing"
	"time"
)

func TestCogeP(t *testing.T) {
	for _, jobs := range []int{10, 20, 50, 100} {
		in := gen(t, "mars-random", 1, 50, map[string]string{"jobs": fmt.Sprint(jobs)})
		t0 := time.Now()
		list, _, err := COGE(in, 0, 0)
		b, _ := LowerBound(in, Options{})
		t.Log(jobs, len(list), list[len(list)-1], b.LowerBound, err, time.Since(t0))
		s, err := Plan(in, Options{Planner: MarSCOGE})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(s.Ratio(), s.Guarantee, Verify(in, s))
		for i, r := range list {
			if i < 20 {
				fmt.Printf("%d: %.4f %d nv %.3f\n", i, r.Value/b.LowerBound, r.Violated, r.Feasible/b.LowerBound)
			}
		}
	}
}
