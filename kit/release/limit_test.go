package release_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/kit/release"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// Two jobs of a tenant at a time, and one that takes a licence, whosever it is.
func limits() []release.Limit {
	return []release.Limit{
		{Max: 2, Of: func(j *sojourn.Job) string { return j.Pool }},
		{Of: licence},
	}
}

// licence is the key of jobs that take a licence: those that pay for more have one of their own.
func licence(j *sojourn.Job) string {
	if j.Weight > 1 {
		return ""
	}
	return j.Name
}

// The laws hold with limits, too. A job that waits for room may wait for ever, if one that has it can never run.
func TestLimitsConformance(t *testing.T) {
	histories.Set(t, histories.Count(t)/2)
	for _, most := range []int{1, 2, 1000} {
		sojourntest.Run(t, func() sojourn.Policy {
			return release.New(constructors.FIFO.Must(fifo.Options{}), release.Limit{Max: most, Of: func(j *sojourn.Job) string { return "all" }})
		}, sojourntest.Options{MayStarve: true})
	}
}

// What an owner says: a tenant has at most two jobs at a time, and the licence is there once. All must have room, and who waits for the
// licence keeps no place of its tenant.
func TestLimits(t *testing.T) {
	in := account.New(constructors.FIFO.Must(fifo.Options{}))
	s := newScript(t, in)
	s.p = release.New(in, limits()...)
	known := func(want string) {
		t.Helper()
		var got []sojourn.JobID
		for j := range in.Jobs() {
			got = append(got, j.Spec.ID)
		}
		slices.Sort(got)
		if fmt.Sprint(got) != want {
			t.Fatalf("released: %v, want %v", got, want)
		}
	}
	cancel := func(id sojourn.JobID) {
		s.observe(sojourn.Event{Kind: sojourn.JobCancelled, At: 1, Job: &sojourn.Job{ID: id}})
	}
	s.arrive(0, &sojourn.Job{ID: 1, Pool: "acme", Name: "matlab"})
	s.arrive(0, &sojourn.Job{ID: 2, Pool: "acme", Name: "matlab"}) // waits for the licence, and has no place of acme
	s.arrive(0, &sojourn.Job{ID: 3, Pool: "acme"})
	s.arrive(0, &sojourn.Job{ID: 4, Pool: "acme"}) // waits for a place of acme
	s.arrive(0, &sojourn.Job{ID: 5, Pool: "zeta", Name: "matlab"})
	s.arrive(0, &sojourn.Job{ID: 6, Pool: "zeta"})
	known("[1 3 6]")
	e, _ := sojourn.As[sojourn.Explainer](s.p)
	for id, want := range map[sojourn.JobID]string{2: `why=waits until fewer than 1 jobs of "matlab" are released`, 4: `why=waits until fewer than 2 jobs of "acme" are released`} {
		if attrs, _ := e.Explain(id); attrs[0].String() != want {
			t.Errorf("job %d: %v, want %v", id, attrs[0], want)
		}
	}
	s.observe(sojourn.Event{Kind: sojourn.Tick, At: 1})
	cancel(3)
	known("[1 4 6]") // 2 came first, and waits for the licence still
	cancel(1)
	known("[2 4 6]")
	cancel(2)
	known("[4 5 6]")
	s.observe(sojourn.Event{Kind: sojourn.JobRevised, At: 1, Job: &sojourn.Job{ID: 5, Pool: "zeta", Name: "matlab", Weight: 2, Phases: []sojourn.Phase{{Tasks: 1}}}})
	s.arrive(1, &sojourn.Job{ID: 7, Name: "matlab"})
	known("[4 5 6 7]")

	// Of all that have room by one event, who came first goes first, wherever it waited, and before those whose instant comes with the event.
	s.p = release.New(account.New(constructors.FIFO.Must(fifo.Options{})), limits()...)
	for i := range sojourn.JobID(5) {
		spec := &sojourn.Job{ID: 10 + i, Pool: "acme", Name: "matlab"}
		switch i {
		case 0:
			spec.Release = 10
		case 3:
			spec.Name = ""
		}
		s.arrive(1, spec)
	}
	s.observe(sojourn.Event{Kind: sojourn.JobCancelled, At: 10, Job: &sojourn.Job{ID: 11}})
	e, _ = sojourn.As[sojourn.Explainer](s.p)
	for id, waits := range map[sojourn.JobID]bool{10: true, 12: false, 13: false, 14: true} {
		if attrs, _ := e.Explain(id); strings.HasPrefix(attrs[0].String(), "why=waits until") != waits {
			t.Errorf("job %d: %v, want one that waits for room: %v", id, attrs[0], waits)
		}
	}
}

// A job whose instant has come goes before one that arrives at that instant.
func TestLimitsAtAnInstant(t *testing.T) {
	s := newScript(t, constructors.FIFO.Must(fifo.Options{}))
	s.p = release.New(constructors.FIFO.Must(fifo.Options{}), limits()...)
	s.arrive(0, &sojourn.Job{ID: 1, Name: "matlab", Release: 10})
	s.arrive(10, &sojourn.Job{ID: 2, Name: "matlab"})
	e, _ := sojourn.As[sojourn.Explainer](s.p)
	for id, waits := range map[sojourn.JobID]bool{1: false, 2: true} {
		if attrs, _ := e.Explain(id); strings.HasPrefix(attrs[0].String(), "why=waits until") != waits {
			t.Errorf("job %d: %v, want one that waits for room: %v", id, attrs[0], waits)
		}
	}
}

// A waiter is what the oracle knows of a live job.
type waiter struct {
	spec     *sojourn.Job
	since    sojourn.Time // when it began to wait for room alone; -1 before
	next     bool         // the limits that it waited for were taken away: it may start with the next event
	released bool
}

// An oracle keeps the rule by looking at all jobs: of those that wait for room alone, the ones that have done so before the event, and
// then those that do so since, in the order in which they arrived. Where other limits leave room, that is found at the next event, between the two.
type oracle struct {
	jobs   []*waiter // in the order of arrival
	now    sojourn.Time
	limits []release.Limit

	restored sojourn.Time // when the limits were found
}

func (o *oracle) room(w *waiter) bool {
	for _, l := range o.limits {
		if l.Of(w.spec) == "" {
			continue
		}
		n := 0
		for _, v := range o.jobs {
			if v.released && l.Of(v.spec) == l.Of(w.spec) {
				n++
			}
		}
		if n >= max(l.Max, 1) {
			return false
		}
	}
	return true
}

func (o *oracle) settle() {
	var before, next, since []*waiter
	for i, w := range o.jobs {
		first := !slices.ContainsFunc(o.jobs[:i], func(v *waiter) bool { return w.spec.Sequence != "" && v.spec.Sequence == w.spec.Sequence })
		switch {
		case w.released:
		case w.next && o.restored < o.now:
			next = append(next, w)
		case w.since >= 0 && !w.next:
			before = append(before, w)
		case first && w.spec.Release <= o.now:
			since = append(since, w)
		}
	}
	for _, w := range slices.Concat(before, next, since) {
		w.since, w.next = o.now, false
		w.released = o.room(w)
	}
}

// otherLimits are more or fewer than before, of other keys, or none for some.
func otherLimits(t *rapid.T) (list []release.Limit) {
	for _, of := range []func(*sojourn.Job) string{
		func(j *sojourn.Job) string { return j.Pool }, licence,
		func(j *sojourn.Job) string { return strings.Trim(j.Name, "x") }, func(j *sojourn.Job) string { return j.Pool + j.Name },
	} {
		if most := rapid.IntRange(-2, 3).Draw(t, "most"); most >= 0 {
			list = append(list, release.Limit{Max: most, Of: of})
		}
	}
	return list
}

// Whatever comes, ends, changes and is restored, also with other limits, those jobs are released that the rule names.
func TestLimitsAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := account.New(constructors.FIFO.Must(fifo.Options{}))
		o := &oracle{limits: limits()}
		p := release.New(in, o.limits...)
		observe := func(ev sojourn.Event) {
			if ev.At = o.now; p.Observe(ev) != nil {
				t.Fatalf("%v is refused", ev)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			later := sojourn.Time(rapid.IntRange(0, 3).Draw(t, "later") / 3) // at most 1, so that all that wait for an instant come to theirs at once
			pick := func() int { return rapid.IntRange(0, len(o.jobs)-1).Draw(t, "job") }
			name := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "name") }
			switch kind := rapid.IntRange(0, 8).Draw(t, "kind"); {
			case kind <= 2:
				w := &waiter{since: -1, spec: &sojourn.Job{ID: sojourn.JobID(rapid.Uint64Range(1, 1<<40).Draw(t, "id")), Pool: name("", "a", "a", "b"), Name: name("", "x", "y", "z"),
					Sequence: name("", "", "s"), Release: o.now + sojourn.Time(rapid.IntRange(-3, 3).Draw(t, "release")), Phases: []sojourn.Phase{{Tasks: 1}}}}
				w.spec.Release = max(w.spec.Release, 0)
				if slices.ContainsFunc(o.jobs, func(v *waiter) bool { return v.spec.ID == w.spec.ID }) {
					continue
				}
				o.now += later
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: w.spec})
				o.jobs = append(o.jobs, w)
			case kind <= 4 && len(o.jobs) > 0:
				i := pick()
				o.now += later
				observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: o.jobs[i].spec})
				o.jobs = slices.Delete(o.jobs, i, i+1)
			case kind == 5 && len(o.jobs) > 0:
				w := o.jobs[pick()]
				spec := *w.spec
				o.now += later
				spec.Weight = float64(rapid.IntRange(1, 2).Draw(t, "weight"))
				observe(sojourn.Event{Kind: sojourn.JobRevised, Job: &spec})
				w.spec, w.since, w.next = &spec, -1, false
			case kind == 6:
				data, err := p.(sojourn.Snapshotter).AppendBinary(nil)
				if err != nil {
					t.Fatal(err)
				}
				in = account.New(constructors.FIFO.Must(fifo.Options{}))
				if rapid.Bool().Draw(t, "other limits") {
					o.limits = otherLimits(t)
				}
				p = release.New(in, o.limits...)
				if err := p.(sojourn.Snapshotter).UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
				o.restored = o.now
				for _, w := range o.jobs {
					w.next = !w.released && w.since >= 0 && o.room(w)
				}
				continue
			default: // a driver wakes a policy at each instant that it names
				o.now++
				observe(sojourn.Event{Kind: sojourn.Tick})
			}
			o.settle()
			for _, w := range o.jobs {
				if _, known := in.Job(w.spec.ID); known != w.released {
					t.Fatalf("at %v job %d (%s, %s, %s, release %v) is released: %v, want %v", o.now, w.spec.ID, w.spec.Pool, w.spec.Name, w.spec.Sequence, w.spec.Release, known, w.released)
				}
			}
		}
	})
}
