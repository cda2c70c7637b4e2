package lp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// drawForm draws a job form. Many jobs are alike, so that there are ties.
func drawForm(rng *rand.Rand, jobs, classes int) *JobForm {
	m := make([]float64, classes)
	for k := range m {
		m[k] = float64(1 + rng.IntN(20))
	}
	jf := NewJobForm(m)
	for range jobs {
		var items []Item
		h := 0.0
		for k := range classes {
			for range rng.IntN(3) {
				h = float64(rng.IntN(50))
				items = append(items, Item{H: h, P: float64(1 + rng.IntN(8)), Class: int32(k)})
			}
		}
		sortItems(items)
		jf.Add(float64(1+rng.IntN(4)), float64(50+rng.IntN(100)), 0, items)
	}
	return jf
}

func sortItems(items []Item) {
	for i := range items {
		for k := i; k > 0 && ByMiddle(items[k-1], items[k]) > 0; k-- {
			items[k-1], items[k] = items[k], items[k-1]
		}
	}
}

// print writes a solution with all bits.
func print(s *Solution) string { return fmt.Sprintf("%x", *s) }

// A search finds the same, bit by bit, however it is cut into steps. A step takes about as many
// looks as it was told, and each goes on.
func TestSearchInSteps(t *testing.T) {
	for _, jobs := range []int{0, 1, 7, 300, 2500} { // lists of a thousand items are sorted in another way
		for seed := range uint64(3) {
			rng := rand.New(rand.NewPCG(seed, uint64(jobs)))
			want := print(SolveByPrice(drawForm(rng, jobs, 2), 1e-4, 20, 50))
			most := 1 << 30
			for _, looks := range []int{0, 1, 1000, most} {
				if looks < 2 && jobs > 300 {
					continue
				}
				rng := rand.New(rand.NewPCG(seed, uint64(jobs)))
				form := drawForm(rng, jobs, 2)
				s := NewSearch(form, 1e-4, 20, 50)
				steps := 1
				for _, ended := s.Step(looks); !ended; steps++ {
					_, ended = s.Step(looks)
				}
				if got := print(&s.Solution); got != want {
					t.Fatalf("%d jobs, %d looks a step:\n%s\nwant\n%s", jobs, looks, got, want)
				}
				if looks == most && steps > 1 || looks == 1000 && jobs == 2500 && steps < 100 {
					t.Errorf("%d jobs, %d looks a step: %d steps", jobs, looks, steps)
				}
				if n, ended := s.Step(1); n > 0 || !ended {
					t.Error("a search that has ended goes on")
				}
			}
		}
	}
}

// A step of a search over many jobs never takes much more than it was told.
func TestStepsAreShort(t *testing.T) {
	form := drawForm(rand.New(rand.NewPCG(1, 1)), 5000, 2)
	s := NewSearch(form, 0, 20, 50)
	for step := 0; ; step++ {
		looks, ended := s.Step(1000)
		if looks > 1000+20 || looks < 1 {
			t.Fatalf("step %d takes %d looks", step, looks)
		}
		if ended {
			return
		}
	}
}

// Numbers of all signs and sizes are sorted as they compare, ties in their order.
func TestSorter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 999, 1000, 5000} {
		list := make([]Scanned, n)
		for i := range list {
			list[i] = Scanned{M: math.Ldexp(float64(rng.IntN(9)-4), rng.IntN(9)), Item: int32(i)}
			if list[i].M == 0 {
				list[i].M = 0 // the sorter tells -0 from 0
			}
		}
		c := new(sorter).sort(list)
		for ended := c == nil; !ended; {
			_, ended = c(1 + rng.IntN(700))
		}
		for i := range list[min(1, n):] {
			a, b := list[i], list[i+1]
			if a.M > b.M || a.M == b.M && a.Item >= b.Item {
				t.Fatalf("%d items: %v before %v", n, a, b)
			}
		}
	}
}
