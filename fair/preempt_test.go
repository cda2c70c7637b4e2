package fair_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

func victims(p *fair.Policy) (slots []sojourn.SlotID) {
	for _, v := range p.AppendPreemptions(nil) {
		slots = append(slots, v.Slot)
	}
	return slots
}

// 4 slots, all of pool a; the tasks on slots 2 and 3 are the youngest. Pool b has a
// minimum of 2 and arrives at 10 s. The first look is a second later. At the look of 16 s
// the pool has been below its minimum for 5 s.
func TestPreemptionAfterTheTimeoutOfTheMinimum(t *testing.T) {
	for _, reportOnly := range []bool{false, true} {
		c := newCluster(t, 2, fair.Options{
			Pools:      map[string]fair.Pool{"b": {Min: fair.Slots{0: 2}}},
			Preemption: fair.Preemption{MinTimeout: 5 * time.Second, Interval: time.Second, ReportOnly: reportOnly},
		})
		c.arrive("a", 4)
		c.offer()
		c.tick(3 * time.Second)
		for i := range sojourn.SlotID(2) {
			c.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: i + 2}})
		}
		c.offer()
		c.tick(7 * time.Second)
		b := c.arrive("b", 3)
		for at := 11; at <= 15; at++ {
			if wake, ok := c.p.NextWake(); !ok || wake != sojourn.Time(at)*sojourn.Time(time.Second) {
				t.Errorf("NextWake() = %v, %v, want %d s", wake, ok, at)
			}
			c.tick(time.Second)
			if got := victims(c.p); len(got) > 0 {
				t.Errorf("at %v slots %d are wanted, want none", c.now, got)
			}
		}
		c.tick(time.Second)
		want := []sojourn.SlotID{2, 3}
		if reportOnly {
			if text := explained(c.p, b); !strings.Contains(text, "on slot 2 would be killed for job 2") {
				t.Errorf("Explain = %s, want what would be killed", text)
			}
			want = nil
		}
		if got := victims(c.p); !slices.Equal(got, want) {
			t.Errorf("report only %v: at %v slots %d are wanted, want %d", reportOnly, c.now, got, want)
		}
	}
}

// 10 slots, all of pool a. Pool b has no minimum. Its fair share is 5 and it has none of
// it, which is below one half. It gets 5 slots, no more than 3 at a time.
func TestPreemptionBelowHalfOfTheFairShare(t *testing.T) {
	c := newCluster(t, 10, fair.Options{Preemption: fair.Preemption{FairTimeout: 10 * time.Second, Interval: 5 * time.Second, Limit: 3}})
	c.arrive("a", 100)
	c.offer()
	c.arrive("b", 100)
	c.tick(time.Hour) // however long the driver did not look
	list := c.p.AppendPreemptions(nil)
	if len(list) != 3 {
		t.Fatalf("%d tasks are to be killed, want the limit 3", len(list))
	}
	for _, v := range list {
		c.kill(v)
	}
	c.offer()
	if got := c.held(); got["b"] != 3 {
		t.Errorf("slots %v, want 3 of b", got)
	}
	c.tick(time.Hour)
	if got := victims(c.p); len(got) != 0 {
		t.Errorf("slots %d are wanted for a pool that has more than half of its share, want none", got)
	}
}

// As soon as a slot is free, nothing is killed any more.
func TestNothingIsKilledWhileSlotsAreFree(t *testing.T) {
	c := newCluster(t, 2, fair.Options{Preemption: fair.Preemption{FairTimeout: time.Second, Interval: time.Second}})
	c.arrive("a", 100)
	c.offer()
	c.arrive("b", 1)
	c.tick(time.Minute)
	if got := victims(c.p); len(got) != 1 {
		t.Fatalf("slots %d are wanted, want one", got)
	}
	c.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 7}})
	if got := victims(c.p); len(got) != 0 {
		t.Errorf("slots %d are wanted although slot 7 is free, want none", got)
	}
	if got := c.offer(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("slot 7 goes to %v, want b", got)
	}
	if at, ok := c.p.NextWake(); !ok {
		t.Errorf("NextWake() = %v, %v, want a look while tasks of a wait", at, ok)
	}
}
