package forecast_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// kinds are the twelve kinds of world of whose forecasts the package comment speaks.
func kinds() (list []kindOfWorld) {
	for _, name := range []string{
		"fifo untold unnamed light 0.3", "fifo untold named light 1", "fifo told unnamed heavy 1", "fifo told named heavy 0.3",
		"fair untold unnamed heavy 1", "fair untold named heavy 0.3", "fair told unnamed light 0.3", "fair told named light 1",
		"default untold unnamed light 1", "default untold named light 0.3", "default told unnamed heavy 0.3", "default told named heavy 1",
	} {
		list = append(list, worldNamed(name))
	}
	return list
}

// worldNamed returns the kind of world that a name describes: the policy, whether sizes are told, whether jobs have names, the load,
// and the standard deviation of the logarithms of the times of tasks.
func worldNamed(name string) kindOfWorld {
	words := strings.Fields(name)
	sigma := map[string]float64{"0.3": 0.3, "1": 1}[words[4]]
	k := kindOfWorld{name: name, policy: words[0], named: words[2] == "named", heavy: words[3] == "heavy", residual: lognormal(sigma)}
	if words[1] == "told" {
		k.told = 1
	}
	return k
}

// A measurement is of several worlds of one kind.
type measurement struct {
	kind        string
	worlds      int
	share, sure float64 // of the finishes that lie within their intervals, by world, and the standard error
	starts      float64 // the same of starts
	width       float64 // of the intervals, over those of who knows the distribution of the times; the geometric mean
}

func (m *measurement) String() string {
	return fmt.Sprintf("%-36s %4d worlds: finishes %.3f +- %.3f, starts %.3f, width %.2f", m.kind, m.worlds, m.share, m.sure, m.starts, m.width)
}

// measure asks so many worlds from a seed on. Worlds in which nothing is known or no job is live do not count.
func measure(t testing.TB, k kindOfWorld, first uint64, worlds int, oracle bool) *measurement {
	m := &measurement{kind: k.name}
	sum, squares, width, wide, starts, of := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for seed := first; m.worlds < worlds; seed++ {
		s, err := try(k, seed, oracle)
		if err != nil {
			t.Fatal(err)
		}
		if s.of == 0 {
			continue
		}
		m.worlds++
		share := float64(s.in) / float64(s.of)
		sum += share
		squares += share * share
		starts, of = starts+float64(s.startIn), of+float64(s.startOf)
		if s.oracle > 0 && s.width > 0 {
			width += math.Log(s.width / s.oracle)
			wide++
		}
	}
	n := float64(m.worlds)
	m.share, m.starts, m.width = sum/n, starts/of, math.Exp(width/max(wide, 1))
	m.sure = math.Sqrt((squares/n - m.share*m.share) / (n - 1))
	return m
}

// The 90 % interval holds the finish of 86 to 94 % of the jobs in the mean of the worlds of each kind, as far as so few worlds can
// tell: up to two standard errors. With the build tag all, TestCalibrationOfAll asks 200 worlds of each of the twelve kinds.
func TestCalibration(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and tells nothing of other platforms or of races")
	}
	for i, k := range kinds() {
		if i%3 != 1 {
			continue
		}
		if m := measure(t, k, 8_000_000, 50, false); m.share < .86-2*m.sure || m.share > .94+2*m.sure {
			t.Errorf("%v; want 0.86 to 0.94", m)
		}
	}
}
