package journal_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/research/shadow"
)

func newFair() (sojourn.Policy, error) { return pooled.Fair(fair.Options{}) }

// A stack is wrappers around fair, the outermost first, by letter: Journal, Shadow, Forecast, Locked.
type stack struct {
	p sojourn.Policy
	j *journal.Journal
	s *shadow.Shadow
	w *forecast.Watch
}

func newStack(order string, disk *heap) (_ *stack, err error) {
	p, err := newFair()
	must(err)
	k := &stack{p: p}
	for i := len(order) - 1; i >= 0; i-- {
		switch order[i] {
		case 'J':
			if strings.Contains(order[:i], "J") { // the outermost has the disk
				k.j, err = journal.Open(newHeap(), k.p, journal.Options{})
			} else {
				k.j, err = journal.Open(disk, k.p, journal.Options{})
			}
			k.p = k.j
		case 'S':
			k.s, err = shadow.New(k.p, newFIFO(nil), shadow.Options{Policy: byName})
			k.p = k.s
		case 'F':
			k.w = forecast.New(k.p)
			k.p = k.w
		case 'L':
			k.p = sojourn.NewLocked(k.p)
		}
		if err != nil {
			return nil, err
		}
	}
	return k, nil
}

// works reports whether the package comment says that an order works.
func works(order string, pool bool) bool {
	around, _, journaled := strings.Cut(order, "J")
	return !journaled || strings.Count(order, "J") == 1 && (around == "" || strings.Trim(around, "L") == "" && !pool)
}

// orders returns all orders of all subsets, and pairs of the same wrapper.
func orders() []string {
	list := []string{"JJ", "SS", "FF", "LL", "JFJ", "JSLS"}
	var more func(order, rest string)
	more = func(order, rest string) {
		list = append(list, order)
		for i := range rest {
			more(order+rest[i:i+1], rest[:i]+rest[i+1:])
		}
	}
	more("", "JSFL")
	return list
}

func (h *heap) clone() *heap {
	c := newHeap()
	for n, data := range h.segments {
		c.segments[n] = slices.Clone(data)
	}
	return c
}

const (
	orderTasks = 6
	lifeTasks  = 2 // that the first process finishes; as many then run
)

// drive runs a job under package driver, from the beginning or where the process before has left it. It ends tasks until so
// many are done.
func (k *stack) drive(done map[sojourn.TaskID]int, until int) error {
	now := sojourn.Time(time.Second)
	if k.j != nil {
		now += k.j.Account().Now()
	}
	d, err := driver.New(k.p, driver.Options{Now: func() sojourn.Time { now += 1000; return now }})
	if err != nil {
		return err
	}
	fresh := true
	var first []sojourn.Event // attempts and slots of the process before are gone
	if k.j != nil {
		fresh = k.j.MaxJob() == 0
		for at := range k.j.Account().Attempts() {
			first = append(first, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost, Task: at.Task, Attempt: at.Number, Slot: at.Slot})
		}
		for s := range k.j.Account().Slots() {
			first = append(first, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: s})
		}
	}
	for i := range first {
		now++
		first[i].At = now
		if err := k.p.Observe(first[i]); err != nil {
			return err
		}
	}
	for id := range sojourn.SlotID(2) {
		if err := d.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}}); err != nil {
			return err
		}
	}
	if fresh {
		if err := d.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Name: "n", Phases: []sojourn.Phase{{Tasks: orderTasks}}}}); err != nil {
			return err
		}
	}
	var running []sojourn.Assignment
	for running = append(running, d.Settle().Starts...); len(running) > 0 && len(done) < until; running = append(running, d.Settle().Starts...) {
		if err := d.Observe(driver.Finished(running[0])); err != nil {
			return err
		}
		done[running[0].Task]++
		if len(done) < until {
			if err := k.foresees(); err != nil {
				return err
			}
		}
		running = running[1:]
	}
	return k.check()
}

// foresees asks the forecast, if there is one.
func (k *stack) foresees() error {
	if k.w == nil {
		return nil
	}
	f, err := k.w.Foresee(context.Background(), forecast.Question{Policy: newFair, Draws: 2})
	if err == nil && (len(f.Jobs) != 1 || f.Jobs[0].Finish == nil || f.Jobs[0].Finish.Low < f.At) {
		err = fmt.Errorf("the forecast is %+v", f)
	}
	return err
}

// check reports what the shadow and the journal say.
func (k *stack) check() error {
	var err error
	if k.s != nil {
		err = errors.Join(k.s.Wait(context.Background()), k.s.Report().Err)
	}
	if k.j != nil {
		err = errors.Join(err, k.j.Flush())
	}
	return err
}

// run runs the job in a pool. The first process ends when lifeTasks have returned and as many run; disk is then called.
func (k *stack) run(done map[sojourn.TaskID]int, until int, disk func()) error {
	ctx := context.Background()
	var mu sync.Mutex
	blocked := make(chan bool, orderTasks)
	h := func(ctx context.Context, t live.Task, _ []byte) error {
		mu.Lock()
		if len(done) < until {
			done[t.TaskID]++
			mu.Unlock()
			return nil
		}
		mu.Unlock()
		blocked <- true
		<-ctx.Done()
		return context.Cause(ctx)
	}
	pool, err := live.New(k.p, live.Options{Slots: 2, Handlers: map[string]live.Handler{"h": h}})
	if err != nil {
		return err
	}
	if k.j == nil || k.j.MaxJob() == 0 {
		if _, err := pool.Submit(ctx, live.Job{Name: "n", Handler: "h", Phases: []live.Phase{{Tasks: orderTasks}}}); err != nil {
			return err
		}
	}
	if until == orderTasks {
		return errors.Join(pool.Close(ctx), k.check())
	}
	<-blocked
	<-blocked
	mu.Lock()
	disk()
	mu.Unlock()
	ended, end := context.WithCancel(ctx)
	end()
	pool.Suspend(ended) // it says that attempts were cut off
	return nil
}

// Each order of the wrappers, with any of them left out or twice, under a driver and in a pool: it works, or New says what is
// wrong, and does so at the first start if it does after a restart. A process that goes on finds live jobs and running
// attempts, of the same order or of a journal alone.
func TestOrders(t *testing.T) {
	for _, pool := range []bool{false, true} {
		plain, err := firstLife(t, "J", pool)
		if err != nil || len(plain.segments) == 0 {
			t.Fatal(err)
		}
		for _, order := range orders() {
			what := fmt.Sprintf("order %q, pool %v", order, pool)
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("%s: panic: %v", what, r)
					}
				}()
				want := works(order, pool)
				disk, err := firstLife(t, order, pool)
				if (err == nil) != want || err != nil && !saysOrder(err) {
					t.Errorf("%s: the first process: %v, want that it works: %v", what, err, want)
					return
				}
				if !strings.Contains(order, "J") {
					return
				}
				for from, disk := range map[string]*heap{"a journal alone": plain, "the same order": disk} {
					if len(disk.segments) == 0 {
						continue
					}
					if err := nextLife(order, pool, disk.clone()); (err == nil) != want || err != nil && !saysOrder(err) {
						t.Errorf("%s: the next process after %s: %v, want that it works: %v", what, from, err, want)
					}
				}
			}()
		}
	}
}

func saysOrder(err error) bool {
	return errors.Is(err, account.ErrJournalInside) || errors.Is(err, live.ErrHidden)
}

// firstLife returns what a first process leaves.
func firstLife(t *testing.T, order string, pool bool) (*heap, error) {
	disk, done := newHeap(), map[sojourn.TaskID]int{}
	k, err := newStack(order, disk)
	if err != nil {
		return disk, err
	}
	if !pool {
		err := k.drive(done, lifeTasks)
		if err == nil && len(done) != lifeTasks {
			t.Errorf("order %q: tasks %v are done", order, done)
		}
		return disk, err
	}
	left := newHeap()
	err = k.run(done, lifeTasks, func() {
		must(k.check())
		left = disk.clone()
	})
	return left, err
}

// nextLife ends the job that a first process has left.
func nextLife(order string, pool bool, disk *heap) error {
	k, err := newStack(order, disk)
	if err != nil {
		return err
	}
	done := map[sojourn.TaskID]int{}
	if pool {
		err = k.run(done, orderTasks, nil)
	} else {
		err = k.drive(done, orderTasks-lifeTasks)
	}
	if err != nil {
		return err
	}
	if n := slices.Max(slices.Collect(maps.Values(done))); len(done) != orderTasks-lifeTasks || n != 1 || k.j.Account().Live() != 0 {
		return fmt.Errorf("%d tasks were done, one %d times, and %d jobs are left", len(done), n, k.j.Account().Live())
	}
	return nil
}

// byName makes the policies of tests, by name; the one without a name is FIFO.
func byName(name string) (sojourn.Policy, error) {
	switch name {
	case "":
		return newFIFO(nil), nil
	case "fair":
		return newFair()
	case "unsaved":
		p, err := newFair()
		return calls{p}, err
	}
	return nil, fmt.Errorf("no policy has the name %q", name)
}

// newShadow returns a shadow of FIFO.
func newShadow(named func(string) (sojourn.Policy, error)) *shadow.Shadow {
	s, err := shadow.New(newFIFO(nil), newFIFO(nil), shadow.Options{Policy: named})
	must(err)
	return s
}

// After a swap, the next process goes on with the policy that took over, with what it knows, if it can make it by its name. If not, the error says so.
func TestSwapIsSaved(t *testing.T) {
	for _, tc := range []struct {
		name    string
		to      string
		tick    bool // after the swap
		close   bool
		pending bool // a segment is about to begin when the policies are swapped
		goes    bool // the new policy goes on with what it knows
	}{
		{"killed", "fair", true, false, false, true},
		{"killed without another event", "fair", false, false, false, true},
		{"killed at a snapshot", "fair", true, false, true, true},
		{"closed", "fair", false, true, false, true},
		{"closed at a snapshot", "fair", false, true, true, true},
		{"not a Snapshotter", "unsaved", true, false, false, false},
	} {
		disk := newHeap()
		s := newShadow(byName)
		j := open(t, disk, sojourn.NewLocked(s))
		for _, ev := range []sojourn.Event{
			{Kind: sojourn.SlotAdded},
			{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}},
		} {
			must(j.Observe(ev))
		}
		must(j.Flush())
		if tc.pending {
			must(j.Snapshot())
		}
		must(s.Swap(tc.to))
		if tc.tick {
			must(j.Observe(sojourn.Event{Kind: sojourn.Tick, At: 1}))
		}
		if tc.close {
			must(j.Close())
		} else {
			must(j.Flush())
		}
		named := ""
		for segment := range journal.Inspect(disk) {
			named = segment.Policy
		}
		if named != tc.to {
			t.Errorf("%s: the last segment is of policy %q, want %q", tc.name, named, tc.to)
		}
		next := newShadow(byName)
		if j := open(t, disk.clone(), sojourn.NewLocked(next)); (j.Restored().Rebuilt == nil) != tc.goes || j.Account().Live() != 1 {
			t.Errorf("%s: %+v, want that the policy goes on: %v", tc.name, j.Restored(), tc.goes)
		}
		if name, _ := next.Active(); name != tc.to {
			t.Errorf("%s: policy %q goes on, want %q", tc.name, name, tc.to)
		}
		for what, named := range map[string]func(string) (sojourn.Policy, error){
			"nobody": nil,
			"nil":    func(string) (sojourn.Policy, error) { return nil, nil },
			"others": func(name string) (sojourn.Policy, error) { return nil, fmt.Errorf("never heard of %s", name) },
		} {
			_, err := journal.Open(disk.clone(), newShadow(named), journal.Options{})
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", tc.to)) || !strings.Contains(err.Error(), "Options.Rebuild") {
				t.Errorf("%s, and then %s makes policies: %v, want that it says what to do", tc.name, what, err)
			}
			forgets := newShadow(named)
			j, err := journal.Open(disk.clone(), forgets, journal.Options{Rebuild: true})
			if err != nil || j.Account().Live() != 1 {
				t.Errorf("%s, and then Rebuild: %v", tc.name, err)
			}
			if name, _ := forgets.Active(); name != "" {
				t.Errorf("%s, and then Rebuild: policy %q goes on", tc.name, name)
			}
		}
		plain, _ := newFair() // a release has no shadow any more
		if j := open(t, disk.clone(), plain); j.Restored().Rebuilt == nil || j.Account().Live() != 1 {
			t.Errorf("%s: a policy without a shadow: %+v", tc.name, j.Restored())
		}
	}
}

// A swap back to the policy of the code is kept, and a journal that had none has the same bytes as one without names.
func TestSwapBack(t *testing.T) {
	disk := newHeap()
	s := newShadow(byName)
	j := open(t, disk, s)
	must(j.Observe(sojourn.Event{Kind: sojourn.SlotAdded}))
	for range 2 {
		for _, name := range []string{"fair", "", "fair", "fair", ""} {
			must(s.Swap(name))
			must(j.Flush())
			next := newShadow(byName)
			if j := open(t, disk.clone(), next); j.Restored().Rebuilt != nil {
				t.Errorf("%q: %v", name, j.Restored().Rebuilt)
			}
			if got, _ := next.Active(); got != name {
				t.Errorf("policy %q goes on, want %q", got, name)
			}
		}
	}
	must(j.Close())
	plain, _ := newFair()
	if j := open(t, disk.clone(), plain); j.Account().Live() != 0 {
		t.Error("a policy without a shadow does not go on")
	}
}

// Swaps come from goroutines of their own, and Flush too, while the driver goes on.
func TestSwapMeanwhile(t *testing.T) {
	disk := &lockedHeap{heap: newHeap()}
	s := newShadow(byName)
	j, err := journal.Open(disk, s, journal.Options{SnapshotBytes: 2000})
	must(err)
	done := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				must(s.Swap([]string{"", "fair"}[i%2]))
				must(j.Flush())
				time.Sleep(time.Millisecond) // the driver goes on
			}
		})
	}
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		now++
		ev.At = now
		must(j.Observe(ev))
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded})
	for id := sojourn.JobID(1); id <= 2000; id++ {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}})
		if a, ok := j.Assign(0); ok && id%2 == 0 {
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}})
		} else if ok {
			observe(sojourn.Event{Kind: sojourn.TaskFailed, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}})
		}
		if j.MaxJob() != id {
			t.Fatal("MaxJob")
		}
	}
	close(done)
	all.Wait()
	must(j.Flush())
	live := j.Account().Live()
	want, _ := s.Active()
	next := newShadow(byName)
	other := open(t, disk.heap.clone(), next)
	if got, _ := next.Active(); got != want || other.Account().Live() != live || other.Restored().Rebuilt != nil {
		t.Errorf("policy %q with %d jobs, %v, want %q with %d", got, other.Account().Live(), other.Restored().Rebuilt, want, live)
	}
}

// A lockedHeap is a heap for several goroutines.
type lockedHeap struct {
	mu sync.Mutex
	*heap
}

func (h *lockedHeap) Create(n uint64, b []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heap.Create(n, b)
}

// calls is a policy without optional interfaces, but for those that a shadow of FIFO wants.
type calls struct{ p sojourn.Policy }

func (c calls) Observe(ev sojourn.Event) error                      { return c.p.Observe(ev) }
func (c calls) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) { return c.p.Assign(id) }
func (c calls) Supports() sojourn.Features                          { return sojourn.Supports(c.p) }
func (c calls) Seek(class sojourn.Class) (sojourn.SlotID, bool) {
	s, _ := sojourn.As[sojourn.Seeker](c.p)
	return s.Seek(class)
}

// A forecast within a shadow ends with a swap, and says so; one around it goes on.
func TestSwapEndsForecast(t *testing.T) {
	for _, order := range []string{"JSF", "JFS", "SLF", "FLS"} {
		k, err := newStack(order, newHeap())
		must(err)
		for _, ev := range []sojourn.Event{
			{Kind: sojourn.SlotAdded},
			{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2, Estimate: time.Second}}}},
		} {
			must(k.p.Observe(ev))
		}
		must(k.foresees())
		must(k.s.Swap("fair"))
		inside := strings.Index(order, "S") < strings.Index(order, "F")
		if err := k.foresees(); errors.Is(err, forecast.ErrSwapped) != inside || !inside && err != nil {
			t.Errorf("order %q, after a swap: %v", order, err)
		}
		if name, n := k.s.Active(); name != "fair" || n != 1 {
			t.Errorf("order %q: Active() = %q, %d", order, name, n)
		}
	}
}

// What is not new is refused where it is put into a wrapper, and nothing panics later.
func TestNotNew(t *testing.T) {
	used := map[string]func() sojourn.Policy{
		"a job": func() sojourn.Policy {
			p := newFIFO(t)
			must(p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}}))
			return p
		},
		"a slot, in an account": func() sojourn.Policy {
			p := account.New(newFIFO(t))
			must(p.Observe(sojourn.Event{Kind: sojourn.SlotAdded}))
			return p
		},
		"a time, in a locked forecast": func() sojourn.Policy {
			p := forecast.New(newFIFO(t))
			must(p.Observe(sojourn.Event{Kind: sojourn.Tick, At: 1}))
			return sojourn.NewLocked(p)
		},
		"a job, in a shadow": func() sojourn.Policy {
			p, err := shadow.New(newFIFO(t), newFIFO(t), shadow.Options{})
			must(err)
			must(p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}}))
			return p
		},
	}
	for name, p := range used {
		fresh := newShadow(func(string) (sojourn.Policy, error) { return p(), nil })
		for wrapper, wrap := range map[string]func() error{
			"journal.Open":         func() error { _, err := journal.Open(newHeap(), p(), journal.Options{}); return err },
			"shadow.New":           func() error { _, err := shadow.New(p(), newFIFO(t), shadow.Options{}); return err },
			"shadow.New's shadow":  func() error { _, err := shadow.New(newFIFO(t), p(), shadow.Options{}); return err },
			"Swap":                 func() error { return fresh.Swap("used") },
			"account.New":          func() error { return account.New(p()).Err() },
			"an event after New":   func() error { return account.New(p()).Observe(sojourn.Event{Kind: sojourn.Tick, At: 9}) },
			"forecast.New in live": func() error { _, err := live.New(forecast.New(p()), live.Options{}); return err },
			"Foresee": func() error {
				_, err := forecast.New(p()).Foresee(context.Background(), forecast.Question{Policy: newFair})
				return err
			},
		} {
			if err := wrap(); !errors.Is(err, account.ErrNotNew) {
				t.Errorf("%s of a policy with %s: %v, want ErrNotNew", wrapper, name, err)
			}
		}
	}
	if _, err := journal.Open(newHeap(), nil, journal.Options{}); err == nil {
		t.Error("a journal of no policy is opened")
	}
	if _, err := journal.Open(nil, newFIFO(t), journal.Options{}); err == nil {
		t.Error("a journal without a store is opened")
	}
	j, err := journal.Open(newHeap(), forecast.New(nil), journal.Options{})
	must(err)
	for name, p := range map[string]sojourn.Policy{
		"account": account.New(nil), "forecast": forecast.New(nil), "both": forecast.New(account.New(nil)), "journal": j,
	} {
		if _, err := live.New(p, live.Options{}); err == nil || !strings.Contains(err.Error(), "nobody decides") {
			t.Errorf("a pool of %s around no policy: %v", name, err)
		}
	}
}
