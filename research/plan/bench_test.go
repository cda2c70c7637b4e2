package plan

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkPlan prints the ratio of best-of to the certified bound, and the gap, for the
// most randomised scenario of Section 5.1 (50 machines, a Bernoulli process of 1 s,
// delays of half the time of a map): -bench Plan/ -benchtime 1x.
func BenchmarkPlan(b *testing.B) {
	for _, tc := range []struct {
		jobs, machines int
	}{{10, 50}, {20, 50}, {50, 50}, {100, 50}, {1000, 50}, {22280, 50}, {22280, 1000}, {222800, 50}} {
		b.Run(fmt.Sprintf("jobs=%d/machines=%d", tc.jobs, tc.machines), func(b *testing.B) {
			in := gen(b, "mars-random", 1, tc.machines, map[string]string{"jobs": fmt.Sprint(tc.jobs)})
			b.ReportAllocs()
			var s *Schedule
			for b.Loop() {
				var err error
				if s, err = Plan(in, Options{Evaluations: -1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(s.Ratio(), "ratio")
			b.ReportMetric(s.Gap, "gap")
			b.ReportMetric(float64(in.TaskCount()), "tasks")
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/1e6, "MB-of-system")
		})
	}
}

// BenchmarkLowerBound measures the linear program alone, which is exact up to 300 jobs.
func BenchmarkLowerBound(b *testing.B) {
	for _, jobs := range []int{10, 20, 50, 100, 200, 300, 1000, 2228, 22280} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			in := gen(b, "mars-random", 1, 50, map[string]string{"jobs": fmt.Sprint(jobs)})
			b.ReportAllocs()
			var bound *Bound
			for b.Loop() {
				var err error
				if bound, err = LowerBound(in, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(bound.Gap, "gap")
		})
	}
}

// BenchmarkRatio prints the mean ratio to the certified bound over 20 seeds, without
// search and with 1,000 evaluations, in the scenario of BenchmarkPlan: -bench Ratio
// -benchtime 1x.
func BenchmarkRatio(b *testing.B) {
	const seeds = 20
	for _, jobs := range []int{10, 20, 50, 100} {
		for _, evaluations := range []int{-1, 1000} {
			b.Run(fmt.Sprintf("jobs=%d/evaluations=%d", jobs, max(evaluations, 0)), func(b *testing.B) {
				mean := 0.0
				for b.Loop() {
					mean = 0
					for seed := range uint64(seeds) {
						in := gen(b, "mars-random", seed+1, 50, map[string]string{"jobs": fmt.Sprint(jobs)})
						s, err := Plan(in, Options{Evaluations: evaluations})
						if err != nil {
							b.Fatal(err)
						}
						mean += s.Ratio() / seeds
					}
				}
				b.ReportMetric(mean, "ratio")
			})
		}
	}
}
