package door_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/door"
	"github.com/sojourn-sched/sojourn/internal/doortest"
)

const places = 16

func mustDoor(t testing.TB, inFlight int, o door.Options) *door.Door {
	t.Helper()
	d, err := door.NewFair(inFlight, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// long skips a test of loads where -short is given, as by the race detector: most of its work is that of the test itself.
func long(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: hours of virtual time, in which the test works more than the door")
	}
}

var systems = []struct {
	name string
	make func(places int) doortest.System
}{{"door", doortest.Door}, {"semaphore", doortest.Semaphore}, {"round robin", doortest.RoundRobin}}

// What the door gains on three loads, beside a semaphore and round robin: go test ./door -run TestLoads -v prints the table of
// docs/door.md. The bars are a good deal beyond the noise of a run.
func TestLoads(t *testing.T) {
	long(t)
	for _, tc := range []struct {
		load  doortest.Load
		check func(t *testing.T, d, fifo, turns doortest.Result)
	}{
		{doortest.Flood, func(t *testing.T, d, fifo, turns doortest.Result) {
			if d.Mean > fifo.Mean/50 || d.Mean > turns.Mean {
				t.Errorf("the light tenant waits %.1f s in the mean, want a fiftieth of %.1f s and less than %.1f s", d.Mean, fifo.Mean, turns.Mean)
			}
		}},
		{doortest.Hundreds, func(t *testing.T, d, fifo, turns doortest.Result) {
			if d.P50 > 1 || d.Jain < .97 || d.Mean > min(fifo.Mean, turns.Mean)/5 {
				t.Errorf("light ones %+v, want a median of 1 s, a Jain index of 0.97 and a fifth of the mean of %+v and %+v", d, fifo, turns)
			}
		}},
		{doortest.Single, func(t *testing.T, d, fifo, turns doortest.Result) {
			if d.P50 > 1 || d.Jain < .97 || d.Mean > fifo.Mean {
				t.Errorf("light ones %+v, want a median of 1 s, a Jain index of 0.97 and no more than the mean of %+v", d, fifo)
			}
		}},
	} {
		t.Run(tc.load.Name, func(t *testing.T) {
			var all []doortest.Result
			for _, s := range systems {
				r := doortest.Run(t, s.make, tc.load)
				r.Work /= places
				t.Logf("%-12s light tenants: mean %6.2f s, median %6.2f s, 99 %% %6.1f s; Jain of the heavy ones %.3f; work %.3f", s.name, r.Mean, r.P50, r.P99, r.Jain, r.Work)
				all = append(all, r)
				if math.Abs(r.Work-1) > .05 {
					t.Errorf("%s: work %.3f of what the places can do, want 1", s.name, r.Work)
				}
			}
			tc.check(t, all[0], all[1], all[2])
		})
	}
}

// What Expect says of waits is near what they are in a flood, where those who wait stay the same: go test ./door -run TestExpect -v prints by how much it is wrong in the mean, as a part of the
// mean wait.
func TestExpect(t *testing.T) {
	long(t)
	for _, load := range []doortest.Load{doortest.Flood, doortest.Hundreds, doortest.Single, doortest.Tokens} {
		r := doortest.Run(t, doortest.Door, load)
		for _, kind := range slices.Sorted(maps.Keys(r.Waits)) {
			w := r.Waits[kind]
			t.Logf("%-46s %-6s waits %6.1f s in the mean, expected %6.1f s, off by %6.1f s in the mean", load.Name, kind, w.Waited, w.Expected, w.Off)
			if kind == "flood" && w.Off > .4*w.Waited || (load.Name == doortest.Flood.Name || load.Name == doortest.Tokens.Name) && kind == "light" && w.Off > 5 {
				t.Errorf("off by %.1f s of %.1f s, want .4 of that of the flood itself, and 5 s of the light tenants there and before an engine", w.Off, w.Waited)
			}
		}
	}
}

// Light sessions need half of the time, and nobody pays much for it: go test ./door -run TestSessions -v prints the table of docs/door.md. Eight seeds, since three happen
// to have little work.
func TestSessions(t *testing.T) {
	long(t)
	var all []doortest.SessionResult
	for _, s := range systems {
		r := doortest.Sessions(t, s.make, 8)
		t.Logf("%-12s light sessions: mean %5.1f s, 99 %% %5.0f s; all: mean %5.1f s, 99 %% %5.0f s", s.name, r.Light, r.Light99, r.All, r.All99)
		all = append(all, r)
	}
	if d, fifo := all[0], all[1]; d.Light > .6*fifo.Light || d.All > fifo.All || d.All99 > 1.1*fifo.All99 {
		t.Errorf("door %+v, semaphore %+v: want .6 of its mean of light sessions, its mean, and 1.1 of its 99 %% of all", d, fifo)
	}
}

// Before an engine that batches, tokens are shared, and InFlight below its batch costs throughput: go test ./door -run TestTokens -v prints
// the tables of docs/door.md.
func TestTokens(t *testing.T) {
	long(t)
	of := func(name string, system func(int) doortest.System, inFlight int) doortest.Result {
		load := doortest.Tokens
		load.Places = inFlight
		r := doortest.Run(t, system, load)
		t.Logf("%-12s %2d in flight: light tenants: mean %6.2f s, median %6.2f s, 99 %% %6.1f s; Jain of the tokens of heavy ones %.3f; %.0f tokens/s", name, inFlight, r.Mean, r.P50, r.P99, r.Jain, r.Work)
		return r
	}
	var all []doortest.Result
	for _, s := range systems {
		all = append(all, of(s.name, s.make, doortest.Tokens.Places))
	}
	if d, fifo := all[0], all[1]; d.Mean > fifo.Mean/5 || d.Jain < .95 || d.Work < .97*fifo.Work {
		t.Errorf("door %+v, semaphore %+v: want a fifth of its mean, a Jain index of .95, and the same tokens", d, fifo)
	}
	small, full := of("door", doortest.Door, 16), of("door", doortest.Door, 64)
	of("door", doortest.Door, 96)
	if small.Work > .8*full.Work {
		t.Errorf("%.0f tokens/s with 16 in flight, and %.0f with 64: want less than .8", small.Work, full.Work)
	}
}
