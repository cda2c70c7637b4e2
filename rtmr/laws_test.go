package rtmr

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	checks "github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// A watcher checks invariants while a world goes on. It also keeps what it can judge only
// when the world has ended.
type watcher struct {
	least  map[sojourn.JobID][2]int64 // the least e^m and e that a job was ever told
	before map[sojourn.JobID]mark     // by Chain, at the last look
	shots  []shot
	seen   map[sojourn.JobID]bool
}

// A shot is a vector of a job at an instant, and the jobs up to it in the chain.
type shot struct {
	at     int64
	stage  int
	v      slotvec.Vector
	prefix []sojourn.JobID
}

func newWatcher() *watcher {
	return &watcher{least: map[sojourn.JobID][2]int64{}, before: map[sojourn.JobID]mark{}, seen: map[sojourn.JobID]bool{}}
}

// overtaken forgets what jobs were told if a new job went ahead of them: they may end
// later now.
func (c *watcher) overtaken(p *Policy) {
	first := len(p.order.jobs)
	for i, j := range p.order.jobs {
		if !c.seen[j.Spec().ID] {
			c.seen[j.Spec().ID] = true
			first = min(first, i)
		}
	}
	for _, j := range p.order.jobs[first:] {
		id := j.Spec().ID
		delete(c.least, id)
		delete(c.before, id)
		c.shots = slices.DeleteFunc(c.shots, func(s shot) bool { return slices.Contains(s.prefix, id) })
	}
}

// look checks what holds at every instant, after all that happened then.
func (c *watcher) look(w *world) {
	p, now := w.p, w.now*int64(unit)
	fail := w.fail
	c.overtaken(p)
	var prefix []sojourn.JobID
	for i, j := range p.order.jobs {
		id, m := j.Spec().ID, j.Data.mark
		prefix = append(prefix, id)
		em, e := p.estimates(j)
		told, ok := c.least[id]
		if !ok {
			told = [2]int64{em, e}
		}
		c.least[id] = [2]int64{min(told[0], em), min(told[1], e)}
		if m.promise == void {
			fail("I1: the promise of job %d is void: %v", id, m.why)
		}
		if p.opts.Booking == Rebook {
			if e > j.Data.deadline {
				fail("I1: job %d ends by %d, after its deadline %d", id, e, j.Data.deadline)
			}
			continue
		}
		for s := range m.t {
			c.shots = append(c.shots, shot{now, s, slices.Clone(m.t[s]), slices.Clone(prefix)})
		}
		if last, ok := c.before[id]; ok && p.opts.Feedback {
			if i < p.order.started() && (m.e > last.e || m.em > last.em) {
				fail("I6: e of job %d rose from %d to %d", id, last.e, m.e)
			}
		}
		if m.e > j.Data.deadline {
			fail("I6: e of job %d is %d, after its deadline %d", id, m.e, j.Data.deadline)
		}
		c.before[id] = m
		if j.Data.mark.started == 0 && w.beat == 1 {
			if v := p.behind(i)[maps]; len(v) > 0 && v[0].T < now && j.Data.phase[maps] >= 0 {
				fail("I4: job %d waits, and a map slot of the job before is available since %d", id, v[0].T)
			}
		}
	}
	if w.beat == 1 && p.free[maps] > 0 {
		for _, j := range p.order.jobs {
			if p.left(j, maps) > 0 && w.room(w.job(j.Spec().ID)) > 0 {
				fail("I4: a map slot is free, and job %d has maps to dispatch", j.Spec().ID)
			}
		}
	}
}

// finish checks what can be checked only when all jobs have ended.
func (c *watcher) finish(w *world, mapEnds map[sojourn.JobID][]int64, ends map[sojourn.JobID][]int64) {
	for id, told := range c.least {
		j := w.job(id)
		if j.finish*int64(unit) > told[1] {
			w.fail("I1: job %d ended at %d, after it was told %d", id, j.finish, told[1]/int64(unit))
		}
		if all := mapEnds[id]; len(all) > 0 && slices.Max(all) > told[0] {
			w.fail("I1: the maps of job %d ended at %d, after it was told %d", id, slices.Max(all), told[0])
		}
	}
	for _, s := range c.shots {
		var real []int64
		for _, id := range s.prefix {
			if s.stage == maps {
				real = append(real, mapEnds[id]...)
			} else {
				real = append(real, ends[id]...)
			}
		}
		slices.Sort(real)
		slices.Reverse(real)
		i := 0
		for k := len(s.v) - 1; k >= 0; k-- { // the latest slots first
			for range s.v[k].N {
				if i < len(real) && real[i] > max(s.v[k].T, s.at) {
					w.fail("I2: at %d: T[%d] of %v is %v, but slots are taken until %v", s.at, s.stage, s.prefix, s.v, real)
				}
				i++
			}
		}
	}
}

// watched runs a world under all invariants.
func watched(v *variant, seed uint64) (failed string) {
	w := v.build(seed)
	watch(w)
	return w.failed
}

// watch runs a world under all invariants.
func watch(w *world) {
	c := newWatcher()
	w.check = c.look
	mapEnds, ends := map[sojourn.JobID][]int64{}, map[sojourn.JobID][]int64{}
	w.ended = func(id sojourn.JobID, stage int) {
		if stage == maps {
			mapEnds[id] = append(mapEnds[id], w.now*int64(unit))
		} else {
			ends[id] = append(ends[id], w.now*int64(unit))
		}
	}
	w.before = func(s *wslot) (after func(a sojourn.Assignment)) { return reduceStart(w, s) }
	w.refusals = true
	w.run()
	c.finish(w, mapEnds, ends)
}

// reduceStart checks I5 at the start of a reduce: more slots were free than the unready
// jobs ahead have reduces that may run at a time, and no ready job ahead had a reduce to start. Only the order
// comes from the policy, and all else from the world's own account.
func reduceStart(w *world, s *wslot) func(sojourn.Assignment) {
	if s.class != sojourn.ReduceClass {
		return nil
	}
	ranking := w.p.AppendRanking(nil)
	free := 0
	for i := range w.slots {
		if w.slots[i].class == sojourn.ReduceClass && !w.slots[i].busy {
			free++
		}
	}
	return func(a sojourn.Assignment) {
		reserved := 0
		for _, id := range ranking[:slices.Index(ranking, a.Task.Job)] {
			j := w.job(id)
			if j.mapsLeft > 0 {
				reserved += len(j.times[reduces])
				if j.atOnce > 0 {
					reserved -= max(0, len(j.times[reduces])-j.atOnce)
				}
			} else if j.reducesToStart > 0 && len(j.times[maps]) > 0 && w.room(j) > 0 {
				w.fail("I5: job %d starts a reduce although job %d, ahead of it, has one", a.Task.Job, id)
			}
		}
		if free < 1+reserved {
			w.fail("I5: job %d starts a reduce with %d slots free and %d reserved", a.Task.Job, free, reserved)
		}
	}
}

// Reference: doc.go, invariants I1 to I6.
func TestInvariants(t *testing.T) {
	for _, v := range variants() {
		if v.beat > 1 {
			continue // I4 and exact estimates assume that slots are offered at once
		}
		t.Run(v.name, func(t *testing.T) {
			checks.Share(t, share)
			rapid.Check(t, func(t *rapid.T) {
				seed := rapid.Uint64Range(0, 1<<40).Draw(t, "seed")
				if failed := watched(&v, seed); failed != "" {
					t.Fatalf("seed %d: %s", seed, failed)
				}
			})
		})
	}
}

// Each invariant detects a mistake that concerns it.
func TestInvariantsCanFail(t *testing.T) {
	raise := func(w *world) {
		for j := range w.p.ledger.All() {
			if w.p.linked(j) {
				j.Data.mark.e = j.Data.deadline + 1
				j.Data.hard = j.Data.mark
			}
		}
	}
	for _, tc := range []struct {
		law, name string
		v         variant
		spoil     func(*world)
	}{
		{"I1", "estimates exceeded", variant{over: 3}, nil},
		{"I3", "a trace of the refusal", variant{}, func(w *world) { w.spoil = func() { w.p.broken(0) } }},
		{"I4", "a map slot that stays free", variant{}, func(w *world) { w.lazy = true }},
		{"I5", "the paper's >", variant{opts: Options{PaperReservation: true}}, nil},
		{"I6", "estimates that rise", variant{opts: Options{Booking: Chain, OnePosition: true, Feedback: true}}, func(w *world) { w.spoil = func() { raise(w) } }},
	} {
		t.Run(tc.law+", "+tc.name, func(t *testing.T) {
			tc.v.breaks(t, tc.law, tc.spoil)
		})
	}
}

// breaks fails unless an invariant is broken in some world.
func (v *variant) breaks(t *testing.T, law string, spoil func(*world)) {
	t.Helper()
	for seed := range uint64(500) {
		w := v.build(seed)
		if spoil != nil {
			spoil(w)
		}
		if watch(w); w.broken[law] {
			return
		}
	}
	t.Errorf("%s did not notice it", law)
}

// Shorter times make no job late. All jobs arrive at the start, so both runs accept the
// same ones. Then each task takes as long as in the first run, or less.
//
// Reference: doc.go, I9.
func TestShorterTimesMakeNobodyLate(t *testing.T) {
	for _, v := range variants() {
		v.exact, v.retest = true, false
		t.Run(v.name, func(t *testing.T) {
			checks.Share(t, share)
			rapid.Check(t, func(t *rapid.T) {
				seed := rapid.Uint64Range(0, 1<<40).Draw(t, "seed")
				if first, second := shortened(&v, seed); first.accepted != second.accepted || first.missed > 0 || second.missed > 0 {
					t.Fatalf("I9: %d and %d accepted, %d and %d missed", first.accepted, second.accepted, first.missed, second.missed)
				}
			})
		})
	}
	// The law can fail: with the paper's reservation, shorter times make jobs late.
	paper := variant{opts: Options{PaperReservation: true}, exact: true}
	for seed := range uint64(5000) {
		if first, second := shortened(&paper, seed); first.missed == 0 && second.missed > 0 {
			return
		}
	}
	t.Error("I9 did not notice the paper's reservation")
}

// shortened runs a world in which all jobs arrive at the start, and one with shorter times.
func shortened(v *variant, seed uint64) (first, second *world) {
	first, second = v.build(seed), v.build(seed)
	for _, w := range []*world{first, second} {
		for i := range w.pending {
			j := &w.pending[i]
			j.deadline = max(1, j.deadline-j.at)
			j.at = 0
			for c := range j.times {
				for k := range j.times[c] {
					if w == second {
						j.times[c][k] = 1 + w.r.Int64N(j.times[c][k])
					}
				}
			}
			if !w.arrive(*j) {
				w.rejected++
			}
		}
		w.pending = nil
		w.offer()
		w.run()
	}
	return first, second
}

// The offer is the least deadline that is accepted; the test tries them all. If every
// place is tried, a later deadline is never worse.
//
// Reference: doc.go, I8.
func TestOffers(t *testing.T) {
	for _, opts := range []Options{
		{}, {OnePosition: true}, {Order: FIFO}, {Booking: Chain}, {Booking: Chain, OnePosition: true, Feedback: true},
	} {
		t.Run(fmt.Sprintf("%v one=%v %v", opts.Booking, opts.OnePosition, opts.Order), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				v := variant{opts: opts, zeros: rapid.Bool().Draw(t, "zeros")}
				v.bound = opts.Booking == Rebook && rapid.Bool().Draw(t, "bound")
				w := v.build(rapid.Uint64Range(0, 1<<40).Draw(t, "seed"))
				cand := w.pending[len(w.pending)-1]
				cand.id = 1000
				stop := rapid.IntRange(1, 12).Draw(t, "instant")
				w.check = func(w *world) {
					if stop--; stop != 0 {
						return
					}
					const most = 400
					var accepted [most]bool
					first := int64(0)
					for d := int64(1); d < most; d++ {
						cand.deadline = d
						if accepted[d] = w.p.Admit(cand.spec()) == nil; accepted[d] && first == 0 {
							first = d
						}
						if d > 1 && !opts.OnePosition && accepted[d-1] && !accepted[d] {
							w.failed = fmt.Sprintf("a deadline of %d is accepted, and %d is not", d-1, d)
						}
					}
					for d := int64(1); d < most; d++ {
						cand.deadline = d
						var r *sojourn.RejectedError
						if errors.As(w.p.Admit(cand.spec()), &r) && first > 0 && (r.Offer != sojourn.Time(first)*sojourn.Time(unit) || !r.Exact) {
							w.failed = fmt.Sprintf("deadline %d: offer %v (exact %v), but %d is the first to be accepted", d, r.Offer, r.Exact, first)
						}
					}
				}
				if w.run(); w.failed != "" {
					t.Fatal(w.failed)
				}
			})
		})
	}
}

// If a new job makes a job behind it later, then by no more than the largest difference
// of the vectors before and behind the new job.
//
// Reference: doc.go, I7.
func TestNudge(t *testing.T) {
	vectors := func(t *rapid.T, slots int, label string) slotvec.Vector {
		var v slotvec.Vector
		for range slots {
			v = append(v, slotvec.Run{T: rapid.Int64Range(0, 30).Draw(t, label), N: 1})
		}
		return slotvec.Sort(v)
	}
	entries := rapid.Custom(func(t *rapid.T) entry {
		return entry{
			tasks:   [2]int64{rapid.Int64Range(0, 6).Draw(t, "M"), rapid.Int64Range(0, 6).Draw(t, "R")},
			eps:     [2]int64{rapid.Int64Range(1, 9).Draw(t, "epsM"), rapid.Int64Range(1, 9).Draw(t, "epsR")},
			running: [2]int64{rapid.Int64Range(0, 20).Draw(t, "map"), rapid.Int64Range(0, 30).Draw(t, "reduce")},
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		base := [2]slotvec.Vector{
			vectors(t, rapid.IntRange(1, 4).Draw(t, "l"), "maps"), vectors(t, rapid.IntRange(1, 4).Draw(t, "q"), "reduces"),
		}
		now := rapid.Int64Range(0, 20).Draw(t, "now")
		list := rapid.SliceOfN(entries, 1, 6).Draw(t, "list")
		cand := entries.Draw(t, "cand")
		b := (*[2]slotvec.Vector)(&base)
		a := admission{now: now}
		v := vecs(*b)
		a.prefix.begin(&v, now)
		a.prefix.try(&cand)
		nudge := a.nudge()
		with, without := &a.rest, new(walker)
		with.begin(&a.prefix.next, now)
		without.begin(&v, now)
		for i := range list {
			if before, after := without.pass(&list[i]), with.pass(&list[i]); after > before+nudge {
				t.Fatalf("job %d ends at %d instead of %d, with vectors that differ by %d", i, after, before, nudge)
			}
		}
	})
}

// The bound of I7 cannot be less: one slot, a job of 5, and a new job of 7 before it.
//
// Reference: doc.go, I7.
func TestNudgeIsTight(t *testing.T) {
	one := vectors{{{T: 0, N: 1}}, {{T: 0, N: 1}}}
	cand, job := entry{tasks: [2]int64{1, 0}, eps: [2]int64{7, 0}}, entry{tasks: [2]int64{1, 0}, eps: [2]int64{5, 0}}
	var a admission
	a.prefix.begin(&one, 0)
	before := a.prefix.pass(&job)
	a.prefix.begin(&one, 0)
	a.prefix.try(&cand)
	nudge := a.nudge()
	a.prefix.keep()
	if after := a.prefix.pass(&job); nudge != 7 || after != before+nudge {
		t.Errorf("nudge %d, and the job ends at %d instead of %d, want 7 later", nudge, after, before)
	}
}

func vecs(v [2]slotvec.Vector) vectors { return v }

// A refusal changes nothing, byte for byte.
//
// Reference: doc.go, I3.
func (w *world) refused(before []byte, id sojourn.JobID) {
	after, err := w.p.AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	if !bytes.Equal(before, after) {
		w.fail("I3: the refusal of job %d changed the policy", id)
	}
}
