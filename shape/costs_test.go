package shape_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/shape"
)

// A cost is the nearest multiple of 2^-32 of the total, above 0 and at most 2^32-1 if anything is
// needed.
func TestCostsAreParts(t *testing.T) {
	ends := []int64{1, 2, 3, 1 << 31, 1 << 32, 1<<32 + 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.OneOf(rapid.SampledFrom(ends), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "total")
		need := rapid.OneOf(rapid.SampledFrom(ends), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "need") % total
		if rapid.IntRange(0, 9).Draw(t, "whole") == 0 {
			need = total
		}
		costs, err := shape.Costs([]shape.Resources{{1, need}}, shape.Resources{1, total})
		if err != nil {
			t.Fatal(err)
		}
		half := new(big.Int).Lsh(big.NewInt(need), 33) // 2^33 need/total + 1, halved
		half.Add(half.Quo(half, big.NewInt(total)), big.NewInt(1)).Rsh(half, 1)
		want := half.Int64()
		if need > 0 {
			want = min(max(want, 1), math.MaxUint32)
		}
		if got := costs[0]; int64(got[1]) != want || got[0] != math.MaxUint32 {
			t.Fatalf("%d of %d cost %v, want %d", need, total, got, want)
		}
	})
}

// Each request fits into its shape, and there are no more shapes than wanted. Few requests keep
// theirs. A shape has nothing that no request of it needs, and less than twice what each needs, as
// long as half as many powers of 2 are enough.
func TestQuantize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.OneOf(rapid.Int64Range(0, 40), rapid.SampledFrom([]int64{0, 1, 1 << 40, math.MaxInt64, math.MaxInt64 - 1}), rapid.Int64Range(0, math.MaxInt64))
		var requests []shape.Resources
		resources := rapid.IntRange(1, 3).Draw(t, "resources")
		different, powers := map[[3]int64]bool{}, map[[3]int]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "requests") {
			r, key, power := make(shape.Resources, resources), [3]int64{}, [3]int{}
			for i := range r {
				r[i] = amounts.Draw(t, "amount")
			}
			r[0] = max(r[0], 1)
			for i, n := range r {
				key[i], power[i] = n, new(big.Int).Sub(big.NewInt(n), big.NewInt(1)).BitLen()
				if n == 0 {
					power[i] = -1
				}
			}
			different[key], powers[power] = true, true
			requests = append(requests, r)
		}
		most := rapid.SampledFrom([]int{1, 2, 5, 20, 256}).Draw(t, "most")
		shapes, classes, err := shape.Quantize(requests, most)
		if err != nil || len(classes) != len(requests) || len(shapes) > most {
			t.Fatalf("Quantize(%v, %d) = %v, %v, %v", requests, most, shapes, classes, err)
		}
		for i, r := range requests {
			s := shapes[classes[i]]
			for k, need := range r {
				switch {
				case need > s[k]:
					t.Fatalf("request %v does not fit into its shape %v", r, s)
				case len(different) <= most && need != s[k]:
					t.Fatalf("request %v has the shape %v, with %d different ones of %d", r, s, len(different), most)
				case len(powers) <= most && need == 0 && s[k] > 0:
					t.Fatalf("request %v has the shape %v, which has more resources", r, s)
				case len(powers) <= most && need > 0 && (s[k]-1)/2 >= need:
					t.Fatalf("request %v has the shape %v, twice as much, with %d powers of 2 of %d", r, s, len(powers), most)
				}
			}
		}
	})
}

func TestQuantizeRefuses(t *testing.T) {
	for _, tc := range []struct {
		requests []shape.Resources
		most     int
	}{
		{nil, 0}, {nil, 257}, {[]shape.Resources{{0}}, 1}, {[]shape.Resources{{-1}}, 1}, {[]shape.Resources{{1}, {1, 2}}, 2}, {[]shape.Resources{{}}, 1},
	} {
		if shapes, _, err := shape.Quantize(tc.requests, tc.most); err == nil {
			t.Errorf("Quantize(%v, %d) = %v, want an error", tc.requests, tc.most, shapes)
		}
	}
	// 257 shapes become 256 or fewer, and a Cluster takes them.
	var many []shape.Resources
	for i := range int64(257) {
		many = append(many, shape.Resources{i + 1, 1})
	}
	shapes, classes, err := shape.Quantize(many, 256)
	if err != nil || classes[256] != sojourn.Class(len(shapes)-1) {
		t.Fatal(shapes, classes, err)
	}
	if _, err := shape.New(newFIFO(t), shape.Options{Shapes: shapes}); err != nil {
		t.Error(err)
	}
}
