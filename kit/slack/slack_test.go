package slack

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

const one = 1 << 16 // the unit of weight

// A machine drives a system and a virtual queue side by side.
type machine struct {
	*System[int]
	q     *vqueue.Queue[int]
	items map[int]*Item[int]
	twins map[int]*vqueue.Item[int]
	total map[int]uint64 // the work that the twin was told, done or not
	n     int
	slots int
}

func newMachine(mode vqueue.Late, slots int) *machine {
	m := &machine{New[int](mode), vqueue.New[int](mode), map[int]*Item[int]{}, map[int]*vqueue.Item[int]{}, map[int]uint64{}, 0, 0}
	m.setCapacity(slots)
	return m
}

func (m *machine) setCapacity(slots int) {
	m.slots = slots
	m.SetCapacity(slots)
	m.q.SetCapacity(slots)
}

func (m *machine) arrive(work, weight uint64) int {
	m.n++
	state := State(m.n % 3)
	m.items[m.n] = m.Arrive(m.n, work, weight, state)
	m.twins[m.n] = m.q.Arrive(m.n, work, weight)
	m.q.SetReady(m.twins[m.n], state == Ready)
	m.total[m.n] = work
	return m.n
}

type completion struct {
	job int
	at  sojourn.Time
}

// advance checks that virtual completions are those of the queue.
func (m *machine) advance(t interface{ Fatalf(string, ...any) }, at sojourn.Time) {
	var got, want []completion
	m.Advance(at, func(it *Item[int], at sojourn.Time) { got = append(got, completion{it.Value, at}) })
	m.q.Advance(at, func(it *vqueue.Item[int], at sojourn.Time) {
		if _, live := m.items[it.Value]; live {
			want = append(want, completion{it.Value, at})
		}
	})
	if !slices.Equal(got, want) {
		t.Fatalf("virtual completions until %v: %v, want %v", at, got, want)
	}
}

func (m *machine) revise(i int, old, work, weight uint64) {
	it := m.items[i]
	if total := m.total[i]; total >= old {
		work = min(work, 1<<63-(total-old)) // what the queue takes, which is told the work done as well
	} else {
		work = max(work, old-total)
	}
	if m.total[i]+work == old {
		work++ // of no work at all the queue has nothing left, and the system what rounding up has left
	}
	m.Revise(it, old, work, weight)
	if it := m.twins[i]; it.Late() && work > old { // what it grows by is another item
		m.q.Finish(it)
		m.twins[i] = m.q.Arrive(i, work-old, weight)
		m.q.SetReady(m.twins[i], m.items[i].state == Ready)
		m.q.SetRunning(m.twins[i], int(m.items[i].running))
		m.total[i] = work - old
		return
	}
	m.total[i] += work - old
	m.q.Revise(m.twins[i], m.total[i], weight)
}

func (m *machine) finish(i int) {
	m.Finish(m.items[i])
	m.q.Finish(m.twins[i])
	delete(m.items, i)
}

func (m *machine) setState(i int, state State) {
	m.SetState(m.items[i], state)
	m.q.SetReady(m.twins[i], state == Ready)
}

func (m *machine) setRunning(i, tasks int) {
	m.SetRunning(m.items[i], tasks)
	m.q.SetRunning(m.twins[i], tasks)
}

// restart saves the system and continues with a restored one.
func (m *machine) restart(t interface{ Fatalf(string, ...any) }) {
	header := snapshot.Header{Policy: "slack"}
	save := func() []byte {
		data, err := snapshot.Append(nil, header, func(w *snapshot.Writer) {
			m.Save(w, func(it *Item[int]) { w.Uint(uint64(it.Value)) })
		})
		if err != nil {
			t.Fatalf("save: %v", err)
		}
		return data
	}
	data := save()
	now, slots := m.clock.Now(), m.slots
	err := snapshot.Restore(m, data, header, func() { m.System = New[int](m.late.mode) }, func(r *snapshot.Reader) {
		m.Restore(r, now, slots, func(it *Item[int]) {
			it.Value = int(r.Uint())
			m.items[it.Value] = it
		})
	})
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	if again := save(); !bytes.Equal(again, data) {
		t.Fatalf("a restored system saves %x, want %x", again, data)
	}
}

// check compares with the recomputed vector, and with the queue.
func (m *machine) check(t interface{ Fatalf(string, ...any) }) {
	x, items := m.vector()
	for rank := range Ranks {
		i := slices.IndexFunc(items, func(it *Item[int]) bool { return it.state == Ready && !it.Late() && it.rank == 1<<rank })
		if it, ok := m.FirstRanked(rank); ok != (i >= 0) || ok && it != items[i] {
			t.Fatalf("FirstRanked(%d) = %v, %v, want item %d", rank, it, ok, i)
		}
	}
	s := x.slacks()
	for i, it := range items {
		if got := m.slack(it).rat(); got.Cmp(s[i]) != 0 {
			t.Fatalf("slack of item %d of %d (%+v) is %v, want %v by (6)", i, len(items), it.key, got, s[i])
		}
		if it.finished {
			continue
		}
		if got, want := m.Virtual(it), m.q.Remaining(m.twins[it.Value]); got != want || it.Late() != m.twins[it.Value].Late() {
			t.Fatalf("v of job %d is %d, late %v; in a queue %d, %v", it.Value, got, it.Late(), want, m.twins[it.Value].Late())
		}
		if m.late.mode == vqueue.LateShare && it.Late() {
			if _, ok := m.Guard(it); ok {
				t.Fatalf("late job %d has a guard, although late jobs share", it.Value)
			}
			continue
		}
		if got, want := m.Completable(it), x.completable(s, i); got != want {
			t.Fatalf("Completable(job %d) = %v, want %v", it.Value, got, want)
		}
		guard, ok := m.Guard(it)
		want := x.guard(s, i)
		if lates := x.latesBefore(i); lates >= 0 {
			want = lates
		}
		if ok != (want >= 0) || ok && guard != items[want] {
			t.Fatalf("Guard(job %d) = %v, %v, want item %d", it.Value, guard, ok, want)
		}
		protected := want < 0 || !x[want].late && s[want].Sign() >= 0
		if got := m.Protected(it); got != protected {
			t.Fatalf("Protected(job %d) = %v, want %v", it.Value, got, protected)
		}
	}
	got, ok := m.First()
	want, wantOK := m.q.First()
	if ok != wantOK || ok && got.Value != want.Value {
		t.Fatalf("First() = %v, %v, in a queue %v, %v", got, ok, want, wantOK)
	}
	got, ok = m.LeastCompletable()
	best := x.least(s)
	if m.late.mode == vqueue.LateShare && m.late.service.Len() > 0 {
		best = slices.Index(items, m.items[want0(want, wantOK)])
		if best >= 0 && !x[best].late {
			best = -1 // all late jobs are blocked
		}
	}
	if ok != (best >= 0) || ok && got != items[best] {
		t.Fatalf("LeastCompletable() = %v, %v, want item %d of %v with slacks %v", got, ok, best, x, s)
	}
	if again, _ := m.LeastCompletable(); again != got {
		t.Fatalf("LeastCompletable() = %v, then %v", got, again)
	}
}

func want0(it *vqueue.Item[int], ok bool) int {
	if !ok {
		return 0
	}
	return it.Value
}

// latesBefore returns the last late job before i that is not drained, or -1.
func (x vector) latesBefore(i int) int {
	for j := i - 1; j >= 0; j-- {
		if x[j].late && x[j].state != Drained {
			return j
		}
	}
	return -1
}

var (
	ranges  = gpstest.AllRanges()
	works   = ranges.Works
	weights = rapid.OneOf(ranges.Weights, rapid.SampledFrom([]uint64{1, 1<<48 - 1, 1 << 48}))
	slots   = ranges.Slots
	steps   = ranges.Steps
)

// TestAgainstEquation6 does anything in any order, and compares after each step
// all slacks, choices and guards with those recomputed by equation (6) and by the
// definitions, and V with a virtual queue.
func TestAgainstEquation6(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(rapid.SampledFrom([]vqueue.Late{vqueue.LateFirst, vqueue.LateShare}).Draw(t, "late"), slots.Draw(t, "slots"))
		// Small numbers bring coincidences and tight slacks, large ones the range.
		works, weights, steps := works, weights, steps
		if rapid.Bool().Draw(t, "small") {
			works, weights, steps = rapid.Uint64Range(0, 12), rapid.Uint64Range(one, 3*one), rapid.Int64Range(0, 5)
			if rapid.Bool().Draw(t, "equal") {
				weights = rapid.Just[uint64](one)
			}
			m.setCapacity(rapid.IntRange(1, 4).Draw(t, "few slots"))
		}
		job := func(t *rapid.T) int {
			var live []int
			for i := range m.items {
				live = append(live, i)
			}
			if len(live) == 0 {
				t.Skip("no job")
			}
			slices.Sort(live)
			return rapid.SampledFrom(live).Draw(t, "job")
		}
		states := rapid.SampledFrom([]State{Drained, Blocked, Ready, Ready})
		arrive := func(t *rapid.T) {
			i := m.arrive(works.Draw(t, "work"), weights.Draw(t, "weight"))
			m.setState(i, states.Draw(t, "state"))
		}
		advance := func(t *rapid.T) { m.advance(t, m.clock.Now().Add(time.Duration(steps.Draw(t, "step")))) }
		t.Repeat(map[string]func(*rapid.T){
			"advance": advance,
			"arrive":  arrive,
			"arrive2": func(t *rapid.T) { advance(t); arrive(t) },
			"arrive3": arrive,
			"serve": func(t *rapid.T) { // the chosen one, as the theorem wants it
				it, ok := m.LeastCompletable()
				if !ok {
					t.Skip("none")
				}
				m.Serve(it, rapid.Uint64Range(0, it.work).Draw(t, "done"))
			},
			"overshoot": func(t *rapid.T) { m.Serve(m.items[job(t)], works.Draw(t, "done")) },
			"capacity":  func(t *rapid.T) { m.setCapacity(slots.Draw(t, "slots")) },
			"completion": func(t *rapid.T) {
				at, ok := m.NextCompletion()
				want, wantOK := m.q.NextCompletion()
				if at != want || ok != wantOK {
					t.Fatalf("NextCompletion() = %v, %v, in a queue %v, %v", at, ok, want, wantOK)
				}
				if !ok || at > 1<<62 {
					t.Skip("none")
				}
				m.advance(t, at)
			},
			"revise": func(t *rapid.T) {
				i := job(t)
				weight := m.items[i].weight
				if rapid.Bool().Draw(t, "reweigh") {
					weight = weights.Draw(t, "weight")
				}
				was := m.items[i].work
				if rapid.Bool().Draw(t, "set") {
					was = works.Draw(t, "was")
				}
				m.revise(i, was, works.Draw(t, "work"), weight)
			},
			"finish": func(t *rapid.T) { m.finish(job(t)) },
			"rank": func(t *rapid.T) {
				m.SetRank(m.items[job(t)], rapid.SampledFrom([]int{-1, 0, 1, Ranks - 1}).Draw(t, "rank"))
			},
			"state":   func(t *rapid.T) { m.setState(job(t), states.Draw(t, "state")) },
			"running": func(t *rapid.T) { m.setRunning(job(t), rapid.IntRange(0, 5).Draw(t, "n")) },
			"restart": func(t *rapid.T) { m.restart(t) },
			"":        func(t *rapid.T) { m.check(t) },
		})
	})
}

// SetWork down is Serve, and up again restores w and s; v stays.
func TestSetWorkRestores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New[int](vqueue.LateFirst)
		s.SetCapacity(3)
		var items []*Item[int]
		for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
			items = append(items, s.Arrive(i, uint64(rapid.IntRange(1, 100).Draw(t, "work")), one, Drained))
		}
		s.Advance(sojourn.Time(rapid.IntRange(0, 60).Draw(t, "time")), nil)
		it := rapid.SampledFrom(items).Draw(t, "job")
		was, v, work := s.Slack(it), s.Virtual(it), it.Work()
		done := uint64(rapid.IntRange(0, int(work)).Draw(t, "done"))
		s.Serve(it, done)
		served := s.Slack(it)
		s.SetWork(it, work)
		if s.Slack(it) != was || s.Virtual(it) != v || it.Work() != work {
			t.Fatalf("after Serve(%d) and SetWork(%d): s %v, v %d, want %v, %d", done, work, s.Slack(it), s.Virtual(it), was, v)
		}
		if s.SetWork(it, work-done); s.Slack(it) != served {
			t.Fatalf("after SetWork(%d) s = %v, want %v as after Serve", work-done, s.Slack(it), served)
		}
	})
}
