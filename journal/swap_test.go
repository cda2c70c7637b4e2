package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/research/shadow"
)

// savedSwappable is swappable with a policy that counts how often it is asked for a snapshot.
func savedSwappable(asked *atomic.Int64) (sojourn.Policy, error) {
	p, err := newSaved(asked)
	if err != nil {
		return nil, err
	}
	return shadow.New(p, newFIFO(nil), shadow.Options{Policy: func(name string) (sojourn.Policy, error) {
		switch name {
		case "":
			return newSaved(asked)
		case "backward":
			return savedBackward{newBackward(), asked}, nil
		}
		return nil, errors.New("what is that?")
	}})
}

type savedBackward struct {
	backward
	asked *atomic.Int64
}

func (s savedBackward) AppendBinary(dst []byte) ([]byte, error) {
	s.asked.Add(1)
	return s.backward.AppendBinary(dst)
}

// With Another, and a shadow inside, no call takes a snapshot but the one after a swap; states are made in the background under the policy that is in force, and the next process goes on
// with it, as it was. An Another that somebody swaps, or without a shadow, is an error, and nothing is lost.
func TestAnotherShadow(t *testing.T) {
	for _, what := range []string{"", "it is swapped"} {
		m := newMemory()
		var own, others atomic.Int64
		p, _ := savedSwappable(&own)
		sh, _ := sojourn.As[*shadow.Shadow](p)
		made := 0
		another := func() (sojourn.Policy, error) {
			p, err := savedSwappable(&others)
			if made++; what != "" && made > 1 {
				o, _ := sojourn.As[*shadow.Shadow](p)
				return meddled{o}, err
			}
			return p, err
		}
		j := mustOpen(t, m, p, Options{SnapshotBytes: 500, Another: another, inline: true})
		own.Store(0)
		others.Store(0)
		tell := func(ev sojourn.Event) {
			if err := errors.Join(j.Observe(ev), j.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		id := sojourn.JobID(0)
		arrives := func() {
			id++
			tell(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}})
		}
		for range 200 { // no decision shows which policy there is
			arrives()
			f, _ := openFiles(m.crash(0, false, false), "dir")
			p, _ := savedSwappable(new(atomic.Int64))
			if k, err := Open(f, p, Options{}); err != nil || k.Restored().Rebuilt != nil {
				t.Fatalf("%q, after %d jobs: %v, %v", what, id, err, k.Restored().Rebuilt)
			}
		}
		if calls := own.Load(); calls > 0 != (what != "") {
			t.Errorf("%q: %d calls have taken snapshots", what, calls)
		}
		tell(sojourn.Event{Kind: sojourn.SlotAdded})
		for _, name := range []string{"backward", "", "backward"} {
			for range 50 {
				arrives()
				if a, ok := j.Assign(0); ok && id%2 == 0 {
					tell(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt})
				} else if ok {
					tell(sojourn.Event{Kind: sojourn.TaskFailed, Task: a.Task, Attempt: a.Attempt})
				}
			}
			if err := errors.Join(sh.Swap(name), j.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		if calls := own.Load(); what == "" && calls != 3 || what != "" && calls <= 3 {
			t.Errorf("%q: %d calls have taken snapshots: want 3, one after each swap, unless Another is swapped", what, calls)
		}
		if what == "" && others.Load() < 10 {
			t.Errorf("%d snapshots in the background", others.Load())
		}
		want := factsOf(j.acc)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		p, _ = savedSwappable(&own)
		j = mustOpen(t, m, p, Options{})
		next, _ := sojourn.As[*shadow.Shadow](p)
		if name, _ := next.Active(); name != "backward" || factsOf(j.acc) != want || j.Restored().Rebuilt != nil {
			t.Errorf("%q: policy %q, %+v", what, name, j.Restored())
		}
	}
	var own atomic.Int64
	p, _ := savedSwappable(&own)
	f, _ := openFiles(newMemory(), "dir")
	if _, err := Open(f, p, Options{Another: func() (sojourn.Policy, error) { return newSaved(&own) }}); err == nil || !strings.Contains(err.Error(), "with 0 shadows inside, and the policy that Open gets has 1") {
		t.Errorf("Another without a shadow: %v", err)
	}
}

// A meddled shadow is swapped by somebody else while it is asked.
type meddled struct{ *shadow.Shadow }

func (m meddled) Observe(ev sojourn.Event) error {
	_ = m.Swap("backward")
	return m.Shadow.Observe(ev)
}

// swappable returns a shadow of FIFO that can be exchanged for one that serves the latest job first.
func swappable(t testing.TB) *shadow.Shadow {
	s, err := shadow.New(newFIFO(t), newFIFO(t), shadow.Options{Policy: func(name string) (sojourn.Policy, error) {
		switch name {
		case "":
			return newFIFO(t), nil
		case "backward":
			return newBackward(), nil
		}
		return nil, errors.New("what is that?")
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The power fails at each call of the file system while policies are exchanged and jobs come and run: the next process has one of the two policies, the
// one that was in force when Flush had returned or a later one, with all that was durable and no attempt that was not made.
func TestSwapPowerLoss(t *testing.T) {
	names := []string{"", "backward", "", "backward"}
	crashes := 0
	for _, keep := range []bool{false, true} {
		for fail := 1; ; fail++ {
			m := newMemory()
			f, _ := openFiles(m, "dir")
			m.fail = fail
			s := swappable(t)
			durable, tried, safe := 0, 0, factsOf(account.New(nil))
			states := []string{safe}
			j, err := Open(f, s, Options{Keep: keep})
			step := func(e error) {
				if err == nil {
					err = e
				}
			}
			tell := func(ev sojourn.Event) {
				if err == nil {
					ev.At = j.acc.Now() + 1
					step(j.Observe(ev))
					states = append(states, factsOf(j.acc))
				}
			}
			tell(sojourn.Event{Kind: sojourn.SlotAdded})
			for i := 1; i < len(names) && err == nil; i++ {
				tell(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i), Phases: []sojourn.Phase{{Tasks: i}}}})
				if tried = i; err == nil {
					step(s.Swap(names[i]))
				}
				if i%2 == 0 && err == nil {
					if a, ok := j.Assign(0); ok {
						states = append(states, factsOf(j.acc))
						tell(sojourn.Event{Kind: sojourn.TaskFailed, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{}})
					}
				}
				if err == nil {
					if step(j.Flush()); err == nil {
						durable, safe = i, factsOf(j.acc)
					}
				}
			}
			if err == nil {
				step(j.Close())
			}
			if err != nil && !errors.Is(err, errPower) {
				t.Fatal(err)
			}
			for part := 0; part <= m.unsynced(); part++ {
				for _, variant := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
					crashes++
					what := fmt.Sprintf("keep %v, call %d fails, %d bytes left, %v", keep, fail, part, variant)
					next := swappable(t)
					g, _ := openFiles(m.crash(part, variant[0], variant[1]), "dir")
					k, err := Open(g, next, Options{Keep: keep})
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					name, _ := next.Active()
					if !slices.Contains(names[durable:tried+1], name) {
						t.Fatalf("%s: policy %q, want one of %q", what, name, names[durable:tried+1])
					}
					at := slices.Index(states, factsOf(k.acc))
					if at < slices.Index(states, safe) {
						t.Fatalf("%s: the journal has\n%s", what, factsOf(k.acc))
					}
					if r := k.Restored(); r.Rebuilt != nil && durable == tried {
						t.Fatalf("%s: %v", what, r.Rebuilt)
					}
				}
			}
			if err == nil {
				break
			}
		}
	}
	if crashes < 300 {
		t.Errorf("%d crashes", crashes)
	}
}

func factsOf(a *account.Account) string { return facts(slices.Collect(a.Facts())) }

// A standby takes over with the policy that is in force, however often it was exchanged before and while it follows. One that cannot make it says so, and waits for
// one that can.
func TestSwapFollow(t *testing.T) {
	for _, swaps := range [][]string{{"backward"}, {"backward", ""}, {"backward", "", "backward"}} {
		for _, after := range []int{0, 1, 2} { // swaps that come before the standby does
			dir := t.TempDir()
			f, err := OpenFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			s := swappable(t)
			leader, err := Open(f, s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			next := swappable(t)
			var standby *Journal
			follows := func() {
				g, err := FollowFiles(dir)
				if err == nil {
					standby, err = Open(g, next, Options{})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			tell := func(ev sojourn.Event) {
				ev.At = leader.acc.Now() + 1
				if err := errors.Join(leader.Observe(ev), leader.Flush()); err != nil {
					t.Fatal(err)
				}
				if standby != nil {
					if err := standby.Follow(); !errors.Is(err, ErrLocked) || strings.Contains(err.Error(), "as long as") {
						t.Fatal(err)
					}
				}
			}
			tell(sojourn.Event{Kind: sojourn.SlotAdded})
			for i, name := range swaps {
				if i == after {
					follows()
				}
				tell(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: 3}}}})
				if err := errors.Join(s.Swap(name), leader.Flush()); err != nil {
					t.Fatal(err)
				}
				if a, ok := leader.Assign(0); ok {
					tell(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{}})
				}
			}
			if standby == nil {
				follows()
			}
			want := factsOf(leader.acc)
			if err := leader.Close(); err != nil {
				t.Fatal(err)
			}
			if err := standby.Follow(); err != nil {
				t.Fatal(err)
			}
			if name, _ := next.Active(); name != swaps[len(swaps)-1] || factsOf(standby.acc) != want || standby.Restored().Rebuilt != nil {
				t.Errorf("%q, the standby comes after %d: policy %q, %v", swaps, after, name, standby.Restored())
			}
			if err := standby.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}

	dir := t.TempDir()
	f, _ := OpenFiles(dir)
	s := swappable(t)
	leader, err := Open(f, s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Swap("backward"), leader.Flush()); err != nil {
		t.Fatal(err)
	}
	g, _ := FollowFiles(dir)
	knows := false
	other, err := shadow.New(newFIFO(t), newFIFO(t), shadow.Options{Policy: func(name string) (sojourn.Policy, error) {
		if name == "" {
			return newFIFO(t), nil
		}
		if !knows {
			return nil, fmt.Errorf("no policy %q yet", name)
		}
		return newBackward(), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	standby, err := Open(g, other, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Follow(); err == nil || !strings.Contains(err.Error(), `no policy "backward" yet`) {
		t.Fatalf("the standby does not know the policy: %v", err)
	}
	knows = true
	for range 10 {
		if err = standby.Follow(); err == nil {
			break
		}
	}
	if name, _ := other.Active(); err != nil || name != "backward" {
		t.Errorf("policy %q leads, %v", name, err)
	}
}
