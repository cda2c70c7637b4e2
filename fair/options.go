package fair

import "fmt"

// Options configure a [Policy]. The zero value is the default.
type Options struct {
	// Order says what a share is measured by. The default is Running.
	Order Order

	// Pools gives weights to pools by name. A pool that is not listed has weight 1.
	// Weights are in [2^-16, 2^32), and are rounded to multiples of 2^-16.
	Pools map[string]float64
}

// An Order says which of several jobs, or pools, is furthest below its share.
type Order uint8

const (
	// Running: the one with the fewest running tasks in relation to its weight
	// (Hadoop's Fair Scheduler).
	Running Order = iota

	// Deficit: the one with the fewest tasks started so far in relation to its
	// weight (specs of H-PFSP's rival: "largest deficit"). A job counts from its
	// arrival; a pool from when it last became busy, so that an idle pool saves up
	// nothing.
	Deficit
)

var orderNames = [...]string{Running: "running", Deficit: "deficit"}

// String returns "running" or "deficit".
func (o Order) String() string {
	if int(o) >= len(orderNames) {
		return fmt.Sprintf("Order(%d)", uint8(o))
	}
	return orderNames[o]
}

// MarshalText implements encoding.TextMarshaler.
func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (o *Order) UnmarshalText(text []byte) error {
	for i, name := range orderNames {
		if name == string(text) {
			*o = Order(i)
			return nil
		}
	}
	return fmt.Errorf("unknown order %q: want running or deficit", text)
}
