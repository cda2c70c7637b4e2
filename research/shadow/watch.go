package shadow

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
)

var (
	// ErrBehind: the candidate was further behind than Options.Buffer.
	ErrBehind = errors.New("shadow: the candidate is too far behind")
	// ErrRestored: the active policy was restored after the candidate had been told something.
	ErrRestored = errors.New("shadow: the active policy was restored, and the candidate was not")
	// ErrPanic: the candidate panicked, or called runtime.Goexit.
	ErrPanic = errors.New("shadow: the candidate panicked")
)

// A Report says how the candidate decided so far.
type Report struct {
	// Decisions are the starts of the active policy that the candidate was asked about. In SameTask of them
	// it chose the same task, in SameJob a task of the same job, and in Declined nothing.
	Decisions, SameTask, SameJob, Declined uint64

	// Refused are the jobs that the candidate refused, or a revision of which it refused. It was not asked
	// about their starts after that.
	Refused uint64

	// First is the first start of which the candidate would have made one of another job, or none; nil if
	// there was none.
	First *Divergence

	// Behind are the events and starts that wait for the candidate.
	Behind int

	// Err is why the candidate is told nothing more; nil while it watches.
	Err error
}

// A Divergence is a start on which the policies differ.
type Divergence struct {
	Decision  uint64 // which one, from 1
	At        sojourn.Time
	Active    sojourn.Assignment
	Candidate sojourn.Assignment // its slot is that of Active, its attempt counts for nothing
	Declined  bool               // Candidate is empty
}

// String says it in one line.
func (d *Divergence) String() string {
	what := fmt.Sprintf("task %v", d.Candidate.Task)
	if d.Declined {
		what = "nothing"
	}
	return fmt.Sprintf("start %d at %v: slot %d runs task %v, the candidate would have run %s", d.Decision, d.At, d.Active.Slot, d.Active.Task, what)
}

// An entry is an event or, if its kind is 0, a start.
type entry struct {
	ev    sojourn.Event
	start sojourn.Assignment
}

// A watcher tells a candidate what happens, on a goroutine that is there while entries wait.
type watcher struct {
	opt Options

	mu     sync.Mutex
	queue  []entry
	report Report
	told   bool          // something was ever put into the queue
	busy   bool          // entries wait, or the candidate is being told one, and was not given up
	idle   chan struct{} // closed when busy ends; nil until somebody waits for that
	loop   func()        // run
	done   []*record     // the latest completed jobs, at most Options.Window
	oldest int           // in done, when it is full

	// What follows belongs to the goroutine.
	spare     []entry
	candidate *account.Account
	truth     *account.Account // what is true of the cluster
	supports  sojourn.Features
	waker     sojourn.Waker // nil if the candidate is none
	foreign   map[sojourn.JobID]bool
	places    map[sojourn.SlotID]*place
	records   map[sojourn.JobID]*record
}

// A place is a slot, and what the candidate makes of it.
type place struct {
	slot    sojourn.Slot
	number  uint32 // by which the candidate knows the attempt that runs here
	busy    bool
	away    bool // busy with a job that the candidate refused, so that it counts the slot as removed
	leaving bool // busy, and leaves with its attempt
}

func newWatcher(candidate sojourn.Policy, o Options) *watcher {
	w := &watcher{opt: o, candidate: account.New(candidate), truth: account.New(nil), supports: sojourn.Supports(candidate),
		foreign: map[sojourn.JobID]bool{}, places: map[sojourn.SlotID]*place{}, records: map[sojourn.JobID]*record{}}
	w.loop = w.run
	w.waker, _ = sojourn.As[sojourn.Waker](candidate)
	return w
}

// tell lets the candidate know, later. It does not wait.
func (w *watcher) tell(e entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(e)
}

func (w *watcher) put(e entry) {
	w.told = true
	switch {
	case w.report.Err != nil:
		return
	case w.report.Behind >= w.opt.Buffer:
		w.giveUp(ErrBehind)
		return
	}
	w.queue = append(w.queue, e)
	w.report.Behind++
	if !w.busy {
		w.busy = true
		go w.loop()
	}
}

// restart tells all facts to a candidate that has been told nothing.
func (w *watcher) restart(facts iter.Seq[sojourn.Event]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told {
		w.giveUp(ErrRestored)
		return
	}
	for ev := range facts {
		w.put(entry{ev: ev})
	}
}

// giveUp tells the candidate nothing more. The lock is held.
func (w *watcher) giveUp(why error) {
	if w.report.Err == nil {
		w.report.Err, w.queue, w.report.Behind = why, nil, 0
	}
	w.rest()
}

// rest says that nothing waits.
func (w *watcher) rest() {
	w.busy = false
	if w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// run lets the candidate know all that waits.
func (w *watcher) run() {
	err := ErrPanic
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v\n\n%s", ErrPanic, r, debug.Stack())
		}
		if err != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.giveUp(err)
		}
	}()
	for {
		w.mu.Lock()
		batch := w.queue
		if len(batch) == 0 || w.report.Err != nil {
			if w.report.Err == nil {
				w.rest()
			}
			w.mu.Unlock()
			err = nil
			return
		}
		w.queue = w.spare[:0]
		w.mu.Unlock()
		for i := range batch {
			if e := w.step(&batch[i]); e != nil {
				err = e
				return
			}
			batch[i] = entry{}
		}
		w.spare = batch
	}
}

// step lets the candidate know one thing.
func (w *watcher) step(e *entry) (err error) {
	if e.ev.Kind != 0 {
		err = w.event(e.ev)
	} else {
		err = w.start(e.start)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.report.Err != nil {
		return w.report.Err // it was given up meanwhile
	}
	w.report.Behind--
	return err
}

// Report returns how the candidate decided so far.
func (s *Shadow) Report() Report {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return s.watch.report
}

// Wait waits until the candidate has seen all that happened, or is given up. It returns the cause of
// ctx if that ends first.
func (s *Shadow) Wait(ctx context.Context) error {
	s.watch.mu.Lock()
	busy := s.watch.busy
	if busy && s.watch.idle == nil {
		s.watch.idle = make(chan struct{})
	}
	idle := s.watch.idle
	s.watch.mu.Unlock()
	if !busy {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
