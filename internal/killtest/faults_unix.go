//go:build unix

package killtest

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Cases runs a test with seeds 1 to n. SOJOURN_SEED and SOJOURN_CASES say the first one and how many, if they are there.
func Cases(t *testing.T, n uint64, test func(t *testing.T, seed uint64)) {
	number := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		v, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return v
	}
	first := number("SOJOURN_SEED", 1)
	for seed := range number("SOJOURN_CASES", n) {
		t.Run(fmt.Sprint(first+seed), func(t *testing.T) { test(t, first+seed) })
	}
}

// Faults is how many kinds of [Cluster.Fault] there are.
const Faults = 6

// Fault lets something happen to server i, or to i and j, or to all, and mends it. some lets at most a time pass.
func (c *Cluster) Fault(kind, i, j int, some func(most time.Duration)) {
	c.say("fault %d of %d and %d", kind, i, j)
	switch kind {
	case 0: // killed, same disk
		c.Kill(i)
		some(7 * time.Second)
		c.Start(i)
	case 1: // cut off
		c.Part(i, true)
		some(12 * time.Second)
		c.Part(i, false)
	case 2: // stopped
		c.Signal(i, syscall.SIGSTOP)
		some(10 * time.Second)
		c.Signal(i, syscall.SIGCONT)
	case 3: // all are killed
		for k := range c.cmds {
			c.Kill(k)
			some(300 * time.Millisecond)
		}
		some(4 * time.Second)
		for k := range c.cmds {
			c.Start(k)
			some(2 * time.Second)
		}
	case 4: // two are cut off
		c.Part(i, true)
		c.Part(j, true)
		some(7 * time.Second)
		c.Part(i, false)
		c.Part(j, false)
	case 5: // two are killed
		c.Kill(i)
		some(time.Second)
		c.Kill(j)
		some(5 * time.Second)
		c.Start(i)
		some(time.Second)
		c.Start(j)
	}
}
