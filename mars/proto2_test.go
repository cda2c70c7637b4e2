package mars

import (
	"fmt"
	"testing"
	"time"
)

func TestProto(t *testing.T) {
	for _, tc := range []struct{ jobs, m int }{{10, 50}, {20, 50}, {50, 50}, {100, 50}, {200, 50}, {300, 50}} {
		in := gen(t, "mars-random", 2, tc.m, map[string]string{"jobs": fmt.Sprint(tc.jobs)})
		t0 := time.Now()
		b, err := LowerBound(in, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t1 := time.Now()
		t.Logf("%d m %d LB %.8g gap %.2g time %v", tc.jobs, tc.m, b.LowerBound, b.Gap, t1.Sub(t0))
	}
}
