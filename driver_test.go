package sojourn_test

import (
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
)

func newFIFO(tb testing.TB) *fifo.Policy {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func mustObserve(tb testing.TB, p sojourn.Policy, ev sojourn.Event) {
	tb.Helper()
	if err := p.Observe(ev); err != nil {
		tb.Error(err)
	}
}

func slotEvent(kind sojourn.EventKind, id sojourn.SlotID) sojourn.Event {
	return sojourn.Event{Kind: kind, Slot: sojourn.Slot{ID: id}}
}

func arrival(id sojourn.JobID, tasks int) sojourn.Event {
	return sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks}}}}
}

// A slot that was free when Seek named it may be taken, retire or leave before Assign.
func TestLockedDeclinesWhatIsNotFreeAnyMore(t *testing.T) {
	for name, between := range map[string]func(p sojourn.Policy){
		"taken":    func(p sojourn.Policy) { p.Assign(3) },
		"left":     func(p sojourn.Policy) { mustObserve(t, p, slotEvent(sojourn.SlotRemoved, 3)) },
		"retiring": func(p sojourn.Policy) { p.Assign(3); mustObserve(t, p, slotEvent(sojourn.SlotRemoved, 3)) },
	} {
		l := sojourn.NewLocked(newFIFO(t))
		mustObserve(t, l, slotEvent(sojourn.SlotAdded, 3))
		mustObserve(t, l, arrival(1, 4))
		seeker, _ := sojourn.As[sojourn.Seeker](l)
		id, ok := seeker.Seek(0)
		if !ok || id != 3 {
			t.Fatalf("Seek = %d, %v, want 3, true", id, ok)
		}
		between(l)
		if a, ok := l.Assign(id); ok || a != (sojourn.Assignment{}) {
			t.Errorf("%s: Assign = %+v, %v, want a decline", name, a, ok)
		}
	}
}

// Many goroutines drive one policy. Workers ask for the next task, or for one for their own
// slot when they report an end. Other goroutines seek and assign in separate calls, and let
// slots come and go. Each task runs once.
func TestLockedServesManyDrivers(t *testing.T) {
	const (
		workers = 4
		tasks   = 300
	)
	l := sojourn.NewLocked(newFIFO(t))
	mustObserve(t, l, arrival(1, tasks))
	for id := range sojourn.SlotID(workers) {
		mustObserve(t, l, slotEvent(sojourn.SlotAdded, id))
	}
	start := time.Now()
	var (
		mu   sync.Mutex
		runs [tasks]int
		wg   sync.WaitGroup
	)
	ran := func(a sojourn.Assignment) {
		mu.Lock()
		runs[a.Task.Index]++
		mu.Unlock()
	}
	done := func() bool { // all tasks have ended, or something is wrong
		more := false
		l.Visit(func(p sojourn.Policy) {
			for range sojourn.Ranking(p) {
				more = true
			}
		})
		return !more || t.Failed()
	}
	for range workers {
		wg.Go(func() {
			for !done() {
				a, ok := l.AssignNext(0)
				for ok {
					ran(a)
					// The clock is read under the lock, or time would run backwards.
					l.Visit(func(p sojourn.Policy) {
						mustObserve(t, p, sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(time.Since(start)),
							Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
						a, ok = sojourn.Assignment{}, false
						if seeker, _ := sojourn.As[sojourn.Seeker](p); seeker != nil {
							if id, free := seeker.Seek(0); free {
								a, ok = p.Assign(id)
							}
						}
					})
				}
			}
		})
	}
	wg.Go(func() { // seeks and assigns apart
		seeker, _ := sojourn.As[sojourn.Seeker](l)
		for !done() {
			if id, ok := seeker.Seek(0); ok {
				if a, ok := l.Assign(id); ok {
					ran(a)
					l.Visit(func(p sojourn.Policy) {
						mustObserve(t, p, sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(time.Since(start)),
							Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
					})
				}
			}
		}
	})
	wg.Go(func() { // a slot comes and goes, busy or not
		for !done() {
			for _, kind := range []sojourn.EventKind{sojourn.SlotAdded, sojourn.SlotRemoved} {
				l.Visit(func(p sojourn.Policy) {
					ev := slotEvent(kind, workers)
					ev.At = sojourn.Time(time.Since(start))
					mustObserve(t, p, ev)
				})
			}
		}
	})
	wg.Wait()
	for i, n := range runs {
		if n != 1 {
			t.Errorf("task %d was run %d times, want once", i, n)
		}
	}
}
