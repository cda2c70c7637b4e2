package trial

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Network describes the network that remote reads share.
type Network struct {
	Bandwidth ByteCount
	Split     ByteCount
	Overlap   bool
	HotSpot   int
}

func (f *Network) check() error {
	switch {
	case f.Bandwidth == 0 && (f.Split != 0 || f.Overlap || f.HotSpot != 0):
		return usage.Errorf("--split, --overlap and --hot-spot need --bandwidth")
	case f.HotSpot < 0:
		return usage.Errorf("--hot-spot %d is negative", f.HotSpot)
	}
	return nil
}

// config returns it as the simulator takes it.
func (f *Network) config() sim.Network {
	return sim.Network{Bandwidth: int64(f.Bandwidth), Split: int64(f.Split), Overlap: f.Overlap, HotSpot: f.HotSpot}
}

// String says what reading from afar costs.
func (f *Network) String() string {
	text := fmt.Sprintf("read from afar at %v/s of each node and direction, then worked on", &f.Bandwidth)
	if f.Overlap {
		text = strings.TrimSuffix(text, "then worked on") + "while worked on"
	}
	return text
}

// A ByteCount is a number of bytes.
type ByteCount int64

// byteUnits are the units of bytes, the largest first of those that divide alike.
var byteUnits = [...]struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// String returns the number in the form that Set reads: in a binary unit if that is
// whole, in a decimal one else.
func (b *ByteCount) String() string {
	for _, u := range byteUnits {
		x := float64(*b) / float64(u.bytes)
		if math.Abs(x) >= 1 && x*100 == math.Trunc(x*100) {
			return strconv.FormatFloat(x, 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Set reads a number with a unit.
func (b *ByteCount) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = rest, u.bytes
			break
		}
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	x *= float64(unit)
	if err != nil || !(x >= 1 && x <= 1<<62) || math.Abs(x-math.Round(x)) > 1e-3 {
		return errors.New("want a whole number of bytes, such as 12.5MB or 64MiB")
	}
	*b = ByteCount(math.Round(x))
	return nil
}
