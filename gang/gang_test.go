package gang_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"pgregory.net/rapid"
)

const second = time.Second

func newCluster(t interface{ Fatal(...any) }, o gang.Options) *gang.Cluster {
	c, err := gang.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func task(id int) sojourn.TaskID { return sojourn.TaskID{Job: sojourn.JobID(id)} }

// A model is the account of a cluster, kept by its definition: lists that are searched from the
// front, and free places at an instant counted by looking at everything that runs.
type model struct {
	places   int
	patience time.Duration
	now      sojourn.Time
	waiting  []waiting // in the order of waiting
	running  map[sojourn.SlotID]run
	slots    map[sojourn.SlotID]int // free slots that the policy was told of: the width of each

	// With turns it is that of the widest gang that fits, and others may pass it so many times.
	turns  bool
	passes int
	turn   int         // the width of the gang whose turn it was at the last look at the slots, 0 if nobody's
	passed map[int]int // places that others took, by that width
}

// Turn makes the model the policy that says whose turn it is.
func (m *model) Turn(fits func(sojourn.Class) bool) (sojourn.Class, int, bool) {
	width := 0
	for _, w := range m.waiting {
		if w.Width > width && fits(sojourn.Class(w.Width-1)) {
			width = w.Width
		}
	}
	return sojourn.Class(width - 1), m.passes, width > 0
}

// head returns the index of the gang that places may be reserved for.
func (m *model) head() int {
	fits := func(w waiting) bool { return w.Width <= m.places }
	if !m.turns {
		return slices.IndexFunc(m.waiting, fits)
	}
	widest := -1
	for i, w := range m.waiting {
		if fits(w) && (widest < 0 || w.Width > m.waiting[widest].Width) {
			widest = i
		}
	}
	return widest
}

type waiting struct {
	gang.Gang
	at sojourn.Time
}

type run struct {
	gang.Gang
	start sojourn.Time
}

// freeAt returns how many places are free at an instant if nothing more is started, all that runs
// ends by its limit, and what has no limit, or is beyond it, does not end.
func (m *model) freeAt(at sojourn.Time) int {
	free := m.places
	for _, r := range m.running {
		end := r.start.Add(r.Limit)
		if r.Limit == 0 || end <= m.now || end > at {
			free -= r.Width
		}
	}
	return free
}

// mayStart reports whether a class of so many places should have a free slot: one of its gangs
// waits, it fits, and none of its gangs, run for its whole limit, could delay the reserved one.
func (m *model) mayStart(width int) bool {
	head := m.head()
	of := slices.ContainsFunc(m.waiting, func(w waiting) bool { return w.Width == width })
	if !of || m.freeAt(m.now) < width {
		return false
	}
	if head < 0 || !m.turns && (m.patience == gang.Never || m.now.Sub(m.waiting[head].at) < m.patience) || m.waiting[head].Width == width {
		return true
	}
	// The reserved gang starts at the first instant at which it fits.
	start, known := m.now, m.freeAt(m.now) >= m.waiting[head].Width
	if !known {
		for _, r := range m.running {
			if end := r.start.Add(r.Limit); m.freeAt(end) >= m.waiting[head].Width && end > m.now && (!known || end < start) {
				start, known = end, true
			}
		}
	}
	if !known {
		return m.turns && m.passed[m.waiting[head].Width] < m.passes*m.waiting[head].Width
	}
	for _, w := range m.waiting {
		if w.Width == width && (w.Limit == 0 || m.now.Add(w.Limit) > start) && m.freeAt(start)-width < m.waiting[head].Width {
			return false
		}
	}
	return true
}

// The gang slots of a cluster are those of the model after any calls, and the changes that it
// tells of are exact. Reserved says when the gang that has waited longest would start.
func TestSlotsAreThoseOfTheModel(t *testing.T) {
	reserved, backfilled := 0, 0
	calls := func(t *rapid.T) {
		m := &model{
			places:   rapid.IntRange(1, 12).Draw(t, "places"),
			patience: rapid.SampledFrom([]time.Duration{0, 0, second, 5 * second, gang.Never}).Draw(t, "patience"),
			turns:    rapid.Bool().Draw(t, "turns"),
			passes:   rapid.IntRange(0, 2).Draw(t, "passes"),
			running:  map[sojourn.SlotID]run{}, slots: map[sojourn.SlotID]int{}, passed: map[int]int{},
		}
		o := gang.Options{Places: m.places, Patience: m.patience}
		if m.turns {
			o.Turns = m
		}
		c, most, next := newCluster(t, o), m.places, 0
		if c.Widths().Len() != most {
			t.Fatalf("%d classes", c.Widths().Len())
		}
		busy := func() (ids []sojourn.SlotID) {
			for id := range m.running {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			return ids
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) {
				next++
				g := gang.Gang{Task: task(next), Width: rapid.IntRange(1, most).Draw(t, "width"), Limit: time.Duration(rapid.IntRange(0, 6).Draw(t, "limit")) * second}
				if err := c.Wait(g, m.now); err != nil {
					t.Fatal(err)
				}
				if err := c.Wait(g, m.now); err == nil {
					t.Fatal("waits twice")
				}
				m.waiting = append(m.waiting, waiting{g, m.now})
			},
			"leave": func(t *rapid.T) {
				id := task(rapid.IntRange(0, next+1).Draw(t, "task"))
				is := func(w waiting) bool { return w.Task == id }
				if got, want := c.Leave(id), slices.ContainsFunc(m.waiting, is); got != want {
					t.Fatalf("Leave(%v) = %v", id, got)
				}
				m.waiting = slices.DeleteFunc(m.waiting, is)
			},
			"start": func(t *rapid.T) {
				for id := sojourn.SlotID(0); id < 100; id++ {
					width, ok := m.slots[id]
					if !ok || !rapid.Bool().Draw(t, "take") {
						continue
					}
					of := []int{}
					for i, w := range m.waiting {
						if w.Width == width {
							of = append(of, i)
						}
					}
					i := rapid.SampledFrom(of).Draw(t, "which") // the policy need not take the first
					c.Start(sojourn.Assignment{Task: m.waiting[i].Task, Slot: id}, m.now)
					if m.patience == 0 && i > 0 {
						backfilled++
					}
					if m.turn == width {
						m.passed[width] = 0
					} else {
						m.passed[m.turn] += width
					}
					m.running[id] = run{m.waiting[i].Gang, m.now}
					m.waiting = slices.Delete(m.waiting, i, i+1)
					delete(m.slots, id)
					return
				}
			},
			"end": func(t *rapid.T) {
				if ids := busy(); len(ids) > 0 {
					id := rapid.SampledFrom(ids).Draw(t, "slot")
					if g := c.End(id); g != m.running[id].Gang {
						t.Fatalf("End = %+v, want %+v", g, m.running[id].Gang)
					}
					m.slots[id] = m.running[id].Width
					delete(m.running, id)
				}
			},
			"pass": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "seconds")) * second)
			},
			"resize": func(t *rapid.T) {
				m.places = rapid.IntRange(0, most).Draw(t, "places")
				if err := c.Resize(m.places); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				for _, ev := range c.AppendChanges(nil, m.now) {
					_, is := m.slots[ev.Slot.ID]
					_, runs := m.running[ev.Slot.ID]
					if ev.At != m.now || runs || is != (ev.Kind == sojourn.SlotRemoved) {
						t.Fatalf("%v: the slot is known: %v, runs: %v", ev, is, runs)
					}
					if delete(m.slots, ev.Slot.ID); ev.Kind == sojourn.SlotAdded {
						m.slots[ev.Slot.ID] = c.Widths().Width(ev.Slot.Class)
					}
				}
				count := map[int]int{}
				for _, width := range m.slots {
					count[width]++
				}
				for width := 1; width <= most; width++ {
					want := 0
					if m.mayStart(width) {
						want = 1
					}
					if count[width] != want {
						t.Fatalf("%d slots of width %d, want %d: %+v", count[width], width, want, m)
					}
				}
				if m.turn = 0; m.turns && m.head() >= 0 {
					m.turn = m.waiting[m.head()].Width
				}
				if c.Free() != m.freeAt(m.now) {
					t.Fatalf("%d places are free, want %d", c.Free(), m.freeAt(m.now))
				}
				if more := c.AppendChanges(nil, m.now); len(more) > 0 {
					t.Fatalf("more changes at once: %v", more)
				}
				if _, _, ok := c.Reserved(m.now); ok {
					reserved++
				}
			},
		})
	}
	rapid.Check(t, calls)
	reserved, backfilled = 0, 0
	histories.Fixed(100, calls)
	t.Logf("%d reservations, %d gangs started before", reserved, backfilled)
	if reserved < 100 || backfilled < 10 {
		t.Errorf("only %d reservations, %d gangs started before it", reserved, backfilled)
	}
}

// The worst policy: of the slots that exist it takes the narrowest, and a stream of narrow gangs
// never ends. Within a class it starts the first gang first, as the theorem asks for. Each gang
// starts within the bound; without reservations, the wide one never does. With turns in the order of arrival it starts within the bound of these,
// whether limits are known or not.
func TestNoGangStarves(t *testing.T) {
	longest := func(t interface{ Fatal(...any) }, o gang.Options, widths, runs []int, steps int, turns *byArrival) (beyond time.Duration, left int) {
		if turns != nil {
			o.Turns = turns
		}
		c := newCluster(t, o)
		limit := time.Duration(slices.Max(runs)) * second
		type state struct {
			id, before int
			at         sojourn.Time
			turn       sojourn.Time // when it became the first of all that wait
		}
		var queue []state
		ends := map[sojourn.SlotID]int{}
		for now := 0; now < steps; now++ {
			at := sojourn.Time(now) * sojourn.Time(second)
			for id := sojourn.SlotID(0); id < 100; id++ {
				if end, ok := ends[id]; ok && end == now {
					delete(ends, id)
					c.End(id)
				}
			}
			if now < steps/2 {
				k := now % len(widths)
				g := gang.Gang{Task: task(now + 1), Width: widths[k], Limit: time.Duration(runs[k]) * second}
				if turns != nil && !turns.limits {
					g.Limit = 0
				}
				if err := c.Wait(g, at); err != nil {
					t.Fatal(err)
				}
				queue = append(queue, state{now, len(queue), at, at})
			}
			for {
				if turns != nil && len(queue) > 0 {
					turns.width = widths[queue[0].id%len(widths)]
				}
				first := map[int]int{} // by width, in the queue
				c.AppendChanges(nil, at)
				for i, s := range queue {
					w := widths[s.id%len(widths)]
					if _, seen := first[w]; !seen {
						first[w] = i
					}
				}
				started := false
				for w := 1; w <= o.Places && !started; w++ {
					i, ok := first[w]
					class, _ := c.Class(w)
					if !ok {
						continue
					}
					id, free := c.FreeSlot(class)
					if !free {
						continue
					}
					s := queue[i]
					c.Start(sojourn.Assignment{Task: task(s.id + 1), Slot: id}, at)
					ends[id] = now + runs[s.id%len(runs)]
					switch {
					case turns != nil && i == 0:
						more := turns.passes * w // places that others may take
						if turns.limits {
							more = 0
						}
						beyond = max(beyond, at.Sub(s.turn)-time.Duration((more+o.Places-w)/(o.Places-w+1)+1)*limit)
					case turns == nil && o.Patience != gang.Never:
						beyond = max(beyond, at.Sub(s.at)-o.Patience-time.Duration(s.before+1)*limit)
					}
					if queue = slices.Delete(queue, i, i+1); i == 0 && len(queue) > 0 {
						queue[0].turn = at
					}
					started = true
				}
				if !started {
					break
				}
			}
			if o.Patience == gang.Never && now == steps/2-1 {
				return 0, len(queue)
			}
		}
		return beyond, len(queue)
	}
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(2, 10).Draw(t, "places")
		n := rapid.IntRange(1, 6).Draw(t, "kinds")
		widths, runs := make([]int, n), make([]int, n)
		for i := range n {
			widths[i] = rapid.IntRange(1, places).Draw(t, "width")
			runs[i] = rapid.IntRange(1, 8).Draw(t, "run")
		}
		patience := rapid.SampledFrom([]time.Duration{0, second, 10 * second}).Draw(t, "patience")
		var turns *byArrival
		if rapid.Bool().Draw(t, "turns") {
			turns = &byArrival{passes: rapid.IntRange(0, 8).Draw(t, "passes"), limits: rapid.Bool().Draw(t, "limits")}
		}
		if beyond, _ := longest(t, gang.Options{Places: places, Patience: patience}, widths, runs, 60, turns); beyond > 0 {
			t.Fatalf("a gang waited %v beyond the bound", beyond)
		}
	})
	// Gangs of width 1 and one of width 2 that would need both places.
	widths, runs := []int{1, 1, 1, 2, 1, 1, 1, 1}, []int{2, 2, 2, 2, 2, 2, 2, 2}
	if _, left := longest(t, gang.Options{Places: 2, Patience: gang.Never}, widths, runs, 400, nil); left < 20 {
		t.Errorf("without reservations %d gangs wait at the end, want those of width 2", left)
	}
}

// byArrival says that it is the turn of the gang that came first, whose width it is told. Gangs have limits or none.
type byArrival struct {
	width, passes int
	limits        bool
}

func (b *byArrival) Turn(fits func(sojourn.Class) bool) (sojourn.Class, int, bool) {
	k := sojourn.Class(b.width - 1)
	return k, b.passes, b.width > 0 && fits(k)
}

// Calls that no right driver makes stop it at once.
func TestMisuse(t *testing.T) {
	for _, o := range []gang.Options{{}, {Places: -1}, {Places: 1 << 25}, {Places: 1, Patience: -1}} {
		if _, err := gang.New(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	c := newCluster(t, gang.Options{Places: 4})
	if c.Resize(5) == nil || c.Resize(-1) == nil {
		t.Error("resized beyond its ends")
	}
	for _, g := range []gang.Gang{{Task: task(1), Width: 0}, {Task: task(1), Width: 5}, {Task: task(1), Width: 1, Limit: -1}} {
		if err := c.Wait(g, 0); err == nil {
			t.Errorf("%+v waits", g)
		}
	}
	if err := c.Wait(gang.Gang{Task: task(1), Width: 2}, 0); err != nil {
		t.Fatal(err)
	}
	changes := c.AppendChanges(nil, 0)
	if len(changes) != 1 || changes[0].Slot.Class != 1 {
		t.Fatalf("changes %v, want one slot of class 1", changes)
	}
	slot := changes[0].Slot.ID
	for _, tc := range []struct {
		want string
		call func()
	}{
		{"does not exist", func() { c.Start(sojourn.Assignment{Task: task(1), Slot: slot + 1}, 0) }},
		{"does not wait", func() { c.Start(sojourn.Assignment{Task: task(2), Slot: slot}, 0) }},
		{"runs nothing", func() { c.End(slot) }},
		{"is not free", func() {
			c.Start(sojourn.Assignment{Task: task(1), Slot: slot}, 0)
			c.Start(sojourn.Assignment{Task: task(1), Slot: slot}, 0)
		}},
	} {
		t.Run(tc.want, func(t *testing.T) {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, tc.want) {
					t.Errorf("panics with %q", text)
				}
			}()
			tc.call()
		})
	}
}

// A gang of 3 runs for 5 s on 4 places, and one of 4 waits. One of 1 may start if it ends with it
// at the latest. On 5 places it may always: a place is left over. A policy that says that it is nobody's turn changes nothing.
func TestBackfill(t *testing.T) {
	for _, tc := range []struct {
		places int
		turns  gang.Turns
		limit  time.Duration
		want   bool
	}{{4, nil, 5 * second, true}, {4, nil, 5*second + 1, false}, {4, &byArrival{}, 5*second + 1, false}, {4, nil, 0, false}, {5, nil, 0, true}, {5, nil, 9 * second, true}} {
		c := newCluster(t, gang.Options{Places: tc.places, Turns: tc.turns})
		wait := func(g gang.Gang) {
			if err := c.Wait(g, 0); err != nil {
				t.Fatal(err)
			}
			c.AppendChanges(nil, 0)
		}
		wait(gang.Gang{Task: task(1), Width: 3, Limit: 5 * second})
		slot, _ := c.FreeSlot(2)
		c.Start(sojourn.Assignment{Task: task(1), Slot: slot}, 0)
		wait(gang.Gang{Task: task(2), Width: 4})
		wait(gang.Gang{Task: task(3), Width: 1, Limit: tc.limit})
		if _, ok := c.FreeSlot(0); ok != tc.want {
			t.Errorf("%d places, limit %v: may start: %v", tc.places, tc.limit, ok)
		}
		if g, at, ok := c.Reserved(0); !ok || g.Task != task(2) || at != sojourn.Time(5*second) {
			t.Errorf("%d places: %+v has places at %v", tc.places, g, at)
		}
	}
}

// On 4 places a gang of 2 runs, and it is the turn of one of 4. Gangs of 1 come, one by one. If it is known when the first ends, those start that end by
// then. If not, others may take twice 4 places, and so they may at the next turn.
func TestPassed(t *testing.T) {
	for _, tc := range []struct {
		limit, narrow time.Duration // of the gang that runs, and of those of 1
		want          int
	}{{9 * second, 9 * second, 100}, {9 * second, 0, 0}, {0, 0, 8}, {0, 9 * second, 8}} {
		turns := &byArrival{passes: 2}
		c := newCluster(t, gang.Options{Places: 4, Turns: turns})
		next := 0
		start := func(width int, limit time.Duration) (sojourn.SlotID, bool) {
			next++
			if err := c.Wait(gang.Gang{Task: task(next), Width: width, Limit: limit}, 0); err != nil {
				t.Fatal(err)
			}
			c.AppendChanges(nil, 0)
			slot, ok := c.FreeSlot(sojourn.Class(width - 1))
			if ok {
				c.Start(sojourn.Assignment{Task: task(next), Slot: slot}, 0)
			} else if width == 1 {
				c.Leave(task(next))
			}
			return slot, ok
		}
		for round := range 2 {
			turns.width = 0
			runs, _ := start(2, tc.limit)
			turns.width = 4
			start(4, 0)
			wide, passed := task(next), 0
			for passed < 100 {
				slot, ok := start(1, tc.narrow)
				if !ok {
					break
				}
				passed++
				c.End(slot)
			}
			if passed != tc.want {
				t.Errorf("limits %v and %v, round %d: %d gangs passed, want %d", tc.limit, tc.narrow, round, passed, tc.want)
			}
			c.End(runs)
			c.AppendChanges(nil, 0)
			slot, ok := c.FreeSlot(3)
			if !ok {
				t.Fatal("the gang of 4 may not start on 4 free places")
			}
			c.Start(sojourn.Assignment{Task: wide, Slot: slot}, 0)
			c.End(slot)
		}
	}
}

// What ends at the shadow time is free then, all of it: two gangs of 3 end together on 7 places, and
// beside one of 4 that waits, 3 places are left over.
func TestEndsAtOneInstant(t *testing.T) {
	c := newCluster(t, gang.Options{Places: 7})
	for id, width := range []int{3, 3, 4, 1} {
		g := gang.Gang{Task: task(id), Width: width}
		if id < 2 {
			g.Limit = 5 * second
		}
		if err := c.Wait(g, 0); err != nil {
			t.Fatal(err)
		}
		c.AppendChanges(nil, 0)
		if slot, ok := c.FreeSlot(sojourn.Class(width - 1)); id < 2 {
			c.Start(sojourn.Assignment{Task: task(id), Slot: slot}, 0)
		} else if ok != (id == 3) {
			t.Errorf("gang %d may start: %v", id, ok)
		}
	}
}

// Order fills the free places with gangs from the front of the ranking, the widest first.
func TestOrder(t *testing.T) {
	c := newCluster(t, gang.Options{Places: 8, Patience: gang.Never})
	for id, width := range []int{1: 1, 2: 2, 3: 4, 4: 4, 5: 1, 6: 8} {
		if id > 0 {
			if err := c.Wait(gang.Gang{Task: task(id), Width: width}, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.AppendChanges(nil, 0)
	for _, tc := range []struct {
		ranking []sojourn.JobID
		want    []sojourn.Class
	}{
		{[]sojourn.JobID{1, 2, 3, 4, 5, 6}, []sojourn.Class{3, 3}}, // 1+2+4+4 are enough
		{[]sojourn.JobID{1, 5, 2, 3, 4, 6}, []sojourn.Class{3, 1, 0, 0}},
		{[]sojourn.JobID{1, 6, 2, 3, 4, 5}, []sojourn.Class{7}},
		{[]sojourn.JobID{9, 5, 1, 2, 3}, []sojourn.Class{3, 1, 0, 0}}, // job 9 waits for nothing
		{nil, []sojourn.Class{}},
	} {
		if got := c.Order(slices.Values(tc.ranking)); !slices.Equal(got, tc.want) {
			t.Errorf("ranking %v: order %v, want %v", tc.ranking, got, tc.want)
		}
	}
}
