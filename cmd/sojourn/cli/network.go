package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sim"
	"github.com/spf13/pflag"
)

// networkFlags describe the network that remote reads share.
type networkFlags struct {
	bandwidth bytesFlag
	split     bytesFlag
	overlap   bool
	hotSpot   int
}

func (f *networkFlags) register(flags *pflag.FlagSet) {
	flags.Var(&f.bandwidth, "bandwidth", "let tasks that are not on the node of their input transfer it, with so many bytes a second of each node and direction: `RATE` such as 12.5MB; --remote does not hold then")
	flags.Var(&f.split, "split", "with --bandwidth, what a task reads of which the workload does not say it: `SIZE` (default 64MiB)")
	flags.BoolVar(&f.overlap, "overlap", false, "with --bandwidth, tasks work while their input arrives")
	flags.IntVar(&f.hotSpot, "hot-spot", 0, "with --bandwidth, a node is a hot spot if more than `N` tasks read from it at a time (default 4)")
}

func (f *networkFlags) check(remote *pflag.Flag) error {
	switch {
	case f.bandwidth == 0 && (f.split != 0 || f.overlap || f.hotSpot != 0):
		return usagef("--split, --overlap and --hot-spot need --bandwidth")
	case f.bandwidth > 0 && remote != nil && remote.Changed:
		return usagef("--bandwidth and --remote exclude each other")
	case f.hotSpot < 0:
		return usagef("--hot-spot %d is negative", f.hotSpot)
	}
	return nil
}

// network returns what the flags say.
func (f *networkFlags) network() sim.Network {
	return sim.Network{Bandwidth: int64(f.bandwidth), Split: int64(f.split), Overlap: f.overlap, HotSpot: f.hotSpot}
}

// String says what reading from afar costs.
func (f *networkFlags) String() string {
	text := fmt.Sprintf("read from afar at %v/s of each node and direction, then worked on", &f.bandwidth)
	if f.overlap {
		text = strings.TrimSuffix(text, "then worked on") + "while worked on"
	}
	return text
}

// A bytesFlag is a number of bytes, 0 unless given.
type bytesFlag int64

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
func (b *bytesFlag) String() string {
	for _, u := range byteUnits {
		x := float64(*b) / float64(u.bytes)
		if math.Abs(x) >= 1 && x*100 == math.Trunc(x*100) {
			return strconv.FormatFloat(x, 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Type returns the name of the value for the help text.
func (*bytesFlag) Type() string { return "SIZE" }

// Set reads a number with a unit.
func (b *bytesFlag) Set(text string) error {
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
	*b = bytesFlag(math.Round(x))
	return nil
}
