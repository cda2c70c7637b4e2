package driver_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
)

// An owner whose slots depend on what runs reports them in Started: two classes share the room of a node,
// which is never exceeded, and nothing that fits waits. A timer that is due after Started has observed
// something is not lost.
func TestStarted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := sojourn.Policy(constructors.FIFO.Must(fifo.Options{}))
		if rapid.Bool().Draw(t, "bare") {
			p = bare{p}
		}
		room, now := rapid.IntRange(0, 9).Draw(t, "room"), sojourn.Time(0)
		size := []int{rapid.IntRange(1, 3).Draw(t, "size"), rapid.IntRange(1, 3).Draw(t, "size")}
		used, free := 0, [2]bool{} // one free slot of a class, while one more fits
		var d *driver.Driver
		next := sojourn.SlotID(2) // slots 0 and 1 are those that are free, and get a new ID when they start something
		ids := []sojourn.SlotID{0, 1}
		project := func() {
			for class := range size {
				kind, fits := sojourn.SlotAdded, used+size[class] <= room
				if fits == free[class] {
					continue
				}
				if !fits {
					kind = sojourn.SlotRemoved
				}
				free[class] = fits
				if err := d.Observe(sojourn.Event{Kind: kind, Slot: sojourn.Slot{ID: ids[class], Class: sojourn.Class(class)}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		started := func(a sojourn.Assignment) {
			class := 0
			if a.Slot == ids[1] {
				class = 1
			}
			if !free[class] || a.Slot != ids[class] {
				t.Fatalf("slot %d is assigned, which is not free", a.Slot)
			}
			if used += size[class]; used > room {
				t.Fatalf("%d of %d are used", used, room)
			}
			free[class], ids[class] = false, next
			next++
			now = now.Add(time.Second)
			project()
		}
		d = must(driver.New(p, driver.Options{Now: func() sojourn.Time { return now }, Started: started}))
		project()
		left := [2]int{}
		for class := range left {
			left[class] = rapid.IntRange(1, 5).Draw(t, "tasks")
			j := &sojourn.Job{ID: sojourn.JobID(class + 1), Phases: []sojourn.Phase{{Tasks: left[class], Class: sojourn.Class(class)}}}
			if err := d.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j}); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range d.Settle().Starts {
			left[a.Task.Job-1]--
		}
		for class, n := range left {
			if n > 0 && used+size[class] <= room {
				t.Errorf("%d tasks of size %d wait; %d of %d are used", n, size[class], used, room)
			}
		}
		now = now.Add(time.Hour)
		if d.Settle(); d.Time() != now {
			t.Error("a Settle after nothing was observed does not read the clock")
		}
	})
}
