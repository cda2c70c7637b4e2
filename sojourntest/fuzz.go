package sojourntest

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
	"pgregory.net/rapid"
)

// FuzzEvents is a fuzz target: it checks the laws of [Run] on histories that the fuzz
// engine chooses. Each byte is a choice, so go test -fuzz can find histories that are
// too rare for chance. The arguments are those of Run:
//
//	func FuzzEvents(f *testing.F) { sojourntest.FuzzEvents(f, newPolicy, sojourntest.Options{}) }
func FuzzEvents(f *testing.F, newPolicy func() sojourn.Policy, o Options) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 16; n <= maxTape/4; n *= 2 {
		f.Add(noise(rng, n))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		if b := try(newPolicy, &o, newTape(choices[:min(len(choices), maxTape)])); b != nil {
			t.Fatal(b.report(newPolicy, &o))
		}
	})
}

// maxTape bounds the number of choices, and so the length, of a history.
const maxTape = 2048

// noise returns n random bytes.
func noise(rng *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return data
}

// FuzzUnmarshal is a fuzz target for the snapshots of a policy that is a
// [sojourn.Snapshotter]. The engine changes snapshots, and FuzzUnmarshal corrects the
// checksum as a forger would. For snapshots in another format than this module's,
// [Options.Seal] corrects it. A policy that refuses such bytes must not change. A
// policy that accepts them must save the same state again, whatever its state was
// before, and must never panic: FuzzUnmarshal asks all questions and reports events
// that the engine chooses. Decisions are not judged, since nothing says which are right
// after a forgery.
func FuzzUnmarshal(f *testing.F, newPolicy func() sojourn.Policy, o Options) {
	rng := rand.New(rand.NewPCG(1, 2))
	var used []byte // the state of one of the policies before it is restored
	for seed := range uint64(8) {
		tr := newTrial(newPolicy, &o, newChance(seed, 40))
		if tr.s.snapshotter == nil {
			f.Fatalf("a %T is no Snapshotter", tr.s.Policy)
		}
		if b := breachOf(tr.drive); b != nil {
			f.Fatal(b)
		}
		if v := tr.s.view(o.classes(), true); v.err == nil {
			used = v.state
			f.Add(v.state, noise(rng, 64))
		}
	}
	f.Fuzz(func(t *testing.T, data, choices []byte) {
		fg := forgery{t: t, o: &o, newPolicy: newPolicy}
		fg.offer(fg.seal(data), used, choices[:min(len(choices), maxTape)])
	})
}

// A forgery is offered to policies.
type forgery struct {
	t         rapid.TB
	o         *Options
	newPolicy func() sojourn.Policy
}

// seal returns a copy of data with a good checksum.
func (fg *forgery) seal(data []byte) []byte {
	data = slices.Clone(data)
	if fg.o.Seal != nil {
		fg.o.Seal(data)
	} else {
		snapshot.Seal(data)
	}
	return data
}

// offer offers data to a new policy and to a used one. If they accept the data, both
// continue.
func (fg *forgery) offer(data, past, choices []byte) {
	fresh, used := newSubject(fg.newPolicy), newSubject(fg.newPolicy)
	if err := fg.restore(used, past); err != nil {
		fg.t.Fatalf("UnmarshalBinary of a snapshot: %v\nlaw of %s", err, lawSnapshots)
	}
	err := fg.restore(fresh, data)
	if again := fg.restore(used, data); (err == nil) != (again == nil) {
		fg.t.Fatalf("UnmarshalBinary(%q) = %v, but of a policy that has a past: %v\nlaw of %s", data, err, again, lawSnapshots)
	}
	if err != nil {
		return
	}
	want := fg.view(fresh, "after UnmarshalBinary")
	if got := fg.view(used, "after UnmarshalBinary"); got.differs(want) != "" {
		fg.t.Fatalf("a policy with a past was restored from %q: %s\nlaw of %s", data, got.differs(want), lawSnapshots)
	}
	if want.err == nil {
		if err := fg.restore(used, want.state); err != nil {
			fg.t.Fatalf("UnmarshalBinary of what a policy saves that was restored from %q: %v\nlaw of %s", data, err, lawSnapshots)
		}
		if got := fg.view(used, "restored again"); got.differs(want) != "" {
			fg.t.Fatalf("restored from what a policy saves that was restored from %q: %s\nlaw of %s", data, got.differs(want), lawSnapshots)
		}
	}
	p := prober{forgery: fg, s: fresh, tr: newTrial(fg.newPolicy, fg.o, newTape(choices))}
	p.findNow()
	for p.tr.src.more() {
		p.step()
		fg.view(fresh, "after an event")
	}
}

// restore calls UnmarshalBinary. If that fails, s must not have changed.
func (fg *forgery) restore(s *subject, data []byte) (err error) {
	was := fg.view(s, "before UnmarshalBinary")
	fg.calls("UnmarshalBinary", func() { err = s.snapshotter.UnmarshalBinary(slices.Clone(data)) })
	if err != nil {
		if now := fg.view(s, "after a refusal"); now.differs(was) != "" {
			fg.t.Fatalf("UnmarshalBinary(%q) = %v; then %s\nlaw of %s", data, err, now.differs(was), lawSnapshots)
		}
	}
	return err
}

// view asks s all questions.
func (fg *forgery) view(s *subject, when string) (v *view) {
	fg.calls("an optional interface, "+when+",", func() { v = s.view(fg.o.classes(), true) })
	return v
}

// calls calls f, which must not panic.
func (fg *forgery) calls(what string, f func()) {
	if said := panicked(f); said != "" {
		fg.t.Fatalf("%s panics: %s\nlaw of %s", what, said, lawPanics)
	}
}

// A prober drives a policy without knowing its state: it tries which events fit.
type prober struct {
	*forgery
	s    *subject
	tr   *trial // makes jobs, knows the time
	runs []sojourn.Assignment
}

// observe reports ev at the time of the latest event or later.
func (p *prober) observe(ev sojourn.Event) (err error) {
	if ev.At == 0 {
		ev.At = p.tr.m.now
	}
	p.calls(ev.String(), func() { err = p.s.Observe(ev) })
	if err == nil {
		p.tr.m.now = ev.At
		return nil
	}
	var wrapped *sojourn.EventError
	if !errors.As(err, &wrapped) || !slices.Contains(sentinels[:], sentinel(err)) {
		p.t.Fatalf("%v = %v, which wraps no error of package sojourn\nlaw of %s", ev, err, lawAnswers)
	}
	return err
}

// findNow finds the time of the policy, by events that never fit.
func (p *prober) findNow() {
	early, now := sojourn.Time(-1), sojourn.Time(math.MaxInt64)
	for now-1 > early {
		mid := early + (now-early)/2
		if early < 0 {
			mid = now / 2
		}
		err := p.s.Observe(sojourn.Event{Kind: sojourn.SlotRemoved, At: mid, Slot: sojourn.Slot{ID: none}})
		if errors.Is(err, sojourn.ErrTimeReversed) {
			early = mid
		} else if now = mid; now == 0 {
			break
		}
	}
	p.tr.m.now = now
}

// step makes the policy busy in one of several ways.
func (p *prober) step() {
	tr := p.tr
	job := pick(&tr.draws, tr.names.jobs...)
	switch tr.src.below(8) {
	case 0:
		p.addSlot(sojourn.SlotID(tr.src.below(24)), pick(&tr.draws, p.o.classes()...))
	case 1:
		if j := tr.job(job); j != nil {
			p.observe(sojourn.Event{Kind: pick(&tr.draws, sojourn.JobArrived, sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised), Job: j})
		}
	case 2:
		p.observe(sojourn.Event{Kind: pick(&tr.draws, sojourn.JobCancelled, sojourn.SlotRemoved, sojourn.NodeDown, sojourn.NodeUp),
			Job: &sojourn.Job{ID: job}, Slot: sojourn.Slot{ID: pick(&tr.draws, tr.names.slots...), Node: pick(&tr.draws, tr.names.nodes...)}})
	case 3:
		at := max(tr.later(), tr.m.now)
		if p.s.waker != nil && tr.oneIn(2) {
			if wake, ok := p.s.waker.NextWake(); ok {
				at = max(at, wake)
			}
		}
		p.observe(sojourn.Event{Kind: sojourn.Tick, At: at})
	case 4, 5:
		p.offer()
	case 6:
		if len(p.runs) > 0 {
			i := tr.src.below(len(p.runs))
			a := p.runs[i]
			p.runs = slices.Delete(p.runs, i, i+1)
			p.observe(sojourn.Event{Kind: pick(&tr.draws, sojourn.TaskFinished, sojourn.TaskFailed), Service: pick(&tr.draws, 0, time.Second),
				Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		}
	case 7:
		p.sweep(job, pick(&tr.draws, sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskProgress, sojourn.TaskPinned,
			sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost, sojourn.TaskAdopted))
	}
}

// addSlot adds a slot that is certainly free, and offers it. It first adds and removes
// the slot with two unusual classes in turn. If the slot were there already, one of
// these events would be refused.
func (p *prober) addSlot(id sojourn.SlotID, class sojourn.Class) {
	for _, c := range []sojourn.Class{sojourn.MaxClasses - 2, sojourn.MaxClasses - 1} {
		if p.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Class: c}}) != nil {
			return
		}
		if p.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: id}}) != nil {
			return
		}
	}
	if p.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Class: class}}) == nil {
		p.assign(id)
	}
}

// offer offers the slot that Seek names.
func (p *prober) offer() {
	if p.s.seeker == nil {
		return
	}
	for _, class := range p.o.classes() {
		if id, ok := p.s.seeker.Seek(class); ok {
			p.assign(id)
		}
	}
}

func (p *prober) assign(id sojourn.SlotID) {
	p.calls("Assign of a free slot", func() {
		if a, ok := p.s.Assign(id); ok {
			p.runs = append(p.runs, a)
		}
	})
}

// sweep reports events of a kind about all tasks that a job may have.
func (p *prober) sweep(job sojourn.JobID, kind sojourn.EventKind) {
	slots := p.tr.names.slots
	switch kind {
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost:
		slots = slots[:1]
	}
	for phase := range uint16(3) {
		for index := range uint32(4) {
			for attempt := range uint32(3) {
				for _, slot := range slots {
					p.observe(sojourn.Event{Kind: kind, Task: sojourn.TaskID{Job: job, Phase: phase, Index: index},
						Attempt: attempt, Slot: sojourn.Slot{ID: slot}, Service: time.Second, Progress: 5000})
				}
			}
		}
	}
}
