package gate

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Options configure a [Gate].
type Options struct {
	// Workers is how many tasks the workers of the queue run at a time, all together. Zero means that the queue
	// tells, which is then a [Fleet]: slots come and go with its servers. See also [Gate.SetWorkers].
	Workers int

	// Ahead is how many tasks are let go beyond that.
	Ahead int

	// Compare is the time between two comparisons with the queue. Zero means 10 s. If it takes long to list all tasks and to compare them, the queue is asked
	// for that less often, for a fortieth of the time at most, and at the other times only for those that were let go (TestDearList).
	Compare time.Duration

	// Retry is how long the gate waits after an error of the queue before it tries again, at first. It
	// doubles up to a second, or to Retry if that is longer. Zero means 50 ms.
	Retry time.Duration

	// Log is told of errors of the queue, of jobs that the policy refused and that are
	// scheduled as jobs of which less is known, and of those that it refused even so. Nil means slog.Default().
	Log *slog.Logger
}

// Validate returns the first thing that is wrong with the options, or nil.
func (o Options) Validate() error {
	for _, f := range []struct {
		name string
		bad  bool
		got  any
		want string
	}{
		{"Workers", o.Workers < 0 || o.Workers > sojourn.MaxSlots, o.Workers, fmt.Sprintf("0 to %d", sojourn.MaxSlots)},
		{"Ahead", o.Ahead < 0 || o.Ahead > sojourn.MaxSlots-max(o.Workers, 0), o.Ahead, fmt.Sprintf("0 to %d with Workers", sojourn.MaxSlots)},
		{"Compare", o.Compare < 0, o.Compare, "at least 0"},
		{"Retry", o.Retry < 0, o.Retry, "at least 0"},
	} {
		if f.bad {
			return fmt.Errorf("gate: %s is %v: want %s", f.name, f.got, f.want)
		}
	}
	return nil
}

// A Gate lets tasks of a queue go in the order of a policy. Its methods may be called by several goroutines.
type Gate struct {
	backend Backend
	fleet   Fleet  // nil if the backend is none
	locker  Locker // nil if the backend is none
	name    string // to the locker
	opts    Options
	running sync.Mutex    // held by Run
	wake    chan struct{} // there are notes, or something was changed from outside
	listed  time.Time     // no listing before

	mu    sync.Mutex // of what follows
	books *books
	inbox []Note // that were told and not entered
	leads bool
	until time.Time        // the lock is ours until then
	fails map[string]error // what the queue did not do when it was asked last
}

const (
	renew = 500 * time.Millisecond // between two calls of Lock by the gate that decides
	queue = 250 * time.Millisecond // between two of one that waits
	look  = time.Second            // between two looks at the servers
	limit = 5 * time.Second        // of a call that concerns one task
	dear  = 39                     // times as long as a listing takes there is no other one
	most  = time.Second            // between two tries
)

// errLost says that another gate may decide.
var errLost = errors.New("gate: the lock is lost")

// New returns a gate. The policy is new: nothing was reported to it, and only the gate uses it.
func New(p sojourn.Policy, b Backend, o Options) (*Gate, error) {
	if b == nil {
		return nil, errors.New("gate: the backend is nil")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g := &Gate{backend: b, name: rand.Text(), opts: o, wake: make(chan struct{}, 1), fails: map[string]error{}}
	g.fleet, _ = b.(Fleet)
	g.locker, _ = b.(Locker)
	if g.fleet == nil && o.Workers == 0 {
		return nil, fmt.Errorf("gate: Workers is 0: want 1 to %d, since the queue does not know its servers", sojourn.MaxSlots)
	}
	g.opts.Compare = cmp.Or(o.Compare, 10*time.Second)
	g.opts.Retry = cmp.Or(o.Retry, 50*time.Millisecond)
	if o.Log == nil {
		g.opts.Log = slog.Default()
	}
	var err error
	if g.books, err = newBooks(p, g.opts); err != nil {
		return nil, err
	}
	return g, nil
}

// Run asks the queue for its tasks, and lets them go in the order of the policy, until ctx ends. It
// returns the error of ctx. If another gate decides, it waits until that one ends or is silent, and it waits again if
// another one has taken over. Errors of the queue are logged and tried again. A gate runs once: start
// another one with a new policy afterwards.
func (g *Gate) Run(ctx context.Context) error {
	if !g.running.TryLock() {
		return errors.New("gate: Run was called before")
	}
	for first := true; ; first = false {
		term, err := g.lead(ctx)
		if err == nil {
			err = g.decide(ctx, term, first)
		}
		g.mu.Lock()
		g.leads = false
		clear(g.fails)
		g.mu.Unlock()
		if ctx.Err() == nil {
			g.opts.Log.Warn("gate: it waits for its turn", "err", err)
			continue
		}
		if g.locker != nil {
			free, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
			if err := g.locker.Unlock(free, g.name); err != nil {
				g.opts.Log.Warn("gate: the queue did not unlock", "err", err)
			}
			cancel()
		}
		return ctx.Err()
	}
}

// lead waits for the lock.
func (g *Gate) lead(ctx context.Context) (term uint64, err error) {
	for told := ""; ; {
		term, err = g.lock(ctx)
		if err == nil {
			return term, nil
		}
		if err.Error() != told {
			told = err.Error()
			g.opts.Log.Info("gate: it waits for its turn", "err", err)
		}
		if !sleep(ctx, queue) {
			return 0, ctx.Err()
		}
	}
}

// lock takes or keeps the lock.
func (g *Gate) lock(ctx context.Context) (term uint64, err error) {
	until := time.Time{}
	if g.locker != nil {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		var lease time.Duration
		start := time.Now()
		term, lease, err = g.locker.Lock(ctx, g.name)
		until = start.Add(lease)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch delete(g.fails, "lock"); {
	case err == nil:
		g.leads, g.until = true, until
	case !errors.Is(err, ErrLocked):
		g.fails["lock"], g.books.fleet.failed = err, true
	}
	return term, err
}

// lost reports whether the lease has run out.
func (g *Gate) lost() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.locker != nil && !time.Now().Before(g.until)
}

// keep keeps the lock of a term until that fails.
func (g *Gate) keep(ctx context.Context, term uint64) error {
	for why := errLost; sleep(ctx, renew); {
		now, err := g.lock(ctx)
		switch {
		case err == nil && now != term:
			return why
		case errors.Is(err, ErrLocked), err != nil && g.lost():
			return err
		}
		why = cmp.Or(err, errLost)
	}
	return ctx.Err()
}

// tell notes whether the queue did what it was asked for.
func (g *Gate) tell(what string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fails[what] = err; err == nil {
		delete(g.fails, what)
	}
}

// sleep waits. It reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// decide lets tasks go until ctx ends or the lock is lost.
func (g *Gate) decide(ctx context.Context, term uint64, first bool) error {
	ctx, stop := context.WithCancelCause(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer stop(nil)
	if g.locker != nil {
		others.Go(func() { stop(g.keep(ctx, term)) })
	}
	err := g.persist(ctx, "list its tasks", func(ctx context.Context) error { return g.begin(ctx, first) })
	if err == nil && g.fleet != nil {
		err = g.persist(ctx, "tell its servers", g.look)
	}
	if err != nil {
		return err
	}
	others.Go(func() { g.listen(ctx) })
	compare, look := time.NewTicker(g.opts.Compare), time.NewTicker(look)
	defer compare.Stop()
	defer look.Stop()
	if g.fleet == nil {
		look.Stop()
	}
	for {
		g.mu.Lock()
		for i := range g.inbox {
			g.books.note(&g.inbox[i])
		}
		g.inbox = nil
		g.mu.Unlock()
		wait, err := g.release(ctx)
		if err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-timer.C:
		case <-g.wake:
		case <-compare.C:
			err = g.persist(ctx, "compare", g.compare)
		case <-look.C:
			if err := g.look(ctx); ctx.Err() == nil {
				if g.tell("tell its servers", err); err != nil {
					g.opts.Log.Warn("gate: the queue did not tell its servers", "err", err)
				}
			}
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// persist calls f until it succeeds or ctx ends.
func (g *Gate) persist(ctx context.Context, what string, f func(context.Context) error) error {
	for wait := g.opts.Retry; ; wait = min(2*wait, max(most, g.opts.Retry)) {
		err := f(ctx)
		if g.tell(what, err); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		g.opts.Log.Warn("gate: the queue did not "+what+"; trying again", "err", err, "in", wait)
		if !sleep(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

// begin makes the books from the tasks of the queue, or corrects them after another gate may have decided.
func (g *Gate) begin(ctx context.Context, first bool) error {
	tasks, err := g.backend.Tasks(ctx)
	if err != nil {
		return err
	}
	var ids []string
	g.mu.Lock()
	if g.books.add(tasks); !first {
		ids = g.books.doubtful(tasks, false)
	}
	g.mu.Unlock()
	if err := g.ask(ctx, ids); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var adopted []*task
	for i := range tasks {
		if t := g.books.tasks[tasks[i].ID]; t != nil && tasks[i].State == Released && t.state != released {
			adopted = append(adopted, t)
		}
	}
	if g.books.adopt(adopted); first {
		g.books.fleet.found = len(adopted)
	}
	g.books.resize()
	return nil
}

// look learns which servers live. Orphans that have gone on may be let go again.
func (g *Gate) look(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	servers, err := g.fleet.Servers(call)
	g.mu.Lock()
	if err != nil {
		g.books.fleet.failed = true
		g.mu.Unlock()
		return err
	}
	ended := g.books.learn(servers, time.Now())
	g.mu.Unlock()
	return g.ask(call, ended)
}

// listen takes in what happens in the queue, also while the gate waits for an answer.
func (g *Gate) listen(ctx context.Context) {
	for ctx.Err() == nil {
		var notes []Note
		err := g.persist(ctx, "tell what happens", func(ctx context.Context) (err error) {
			notes, err = g.backend.Notes(ctx)
			return err
		})
		if err != nil || len(notes) == 0 {
			continue
		}
		g.mu.Lock()
		g.inbox = append(g.inbox, notes...)
		g.mu.Unlock()
		g.rouse()
	}
}

// release lets tasks go until the policy chooses none. It returns how long the policy may sleep. What was chosen and
// not let go, since the lock is lost, is refused.
func (g *Gate) release(ctx context.Context) (wait time.Duration, err error) {
	for {
		g.mu.Lock()
		wait = g.books.settle()
		chosen := g.books.chosen
		g.books.chosen = nil
		g.mu.Unlock()
		if len(chosen) == 0 {
			return wait, nil
		}
		for i, t := range chosen {
			gone, err := g.let(ctx, t)
			g.mu.Lock()
			if gone {
				g.books.refuse(t)
				g.books.drop(t)
			}
			if err != nil {
				for _, t := range chosen[i:] {
					g.books.refuse(t)
				}
			}
			g.mu.Unlock()
			if err != nil {
				return 0, err
			}
		}
	}
}

// let lets a task go. It reports whether the queue has no such task.
func (g *Gate) let(ctx context.Context, t *task) (gone bool, err error) {
	var lost error
	err = g.persist(ctx, "let a task go", func(ctx context.Context) error {
		if g.lost() {
			lost = errLost
			return nil
		}
		call, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := g.backend.Release(call, t.id)
		switch {
		case errors.Is(err, ErrGone):
			gone = true
		case errors.Is(err, ErrLocked):
			lost = err
		default:
			return err
		}
		return nil
	})
	return gone, cmp.Or(err, lost)
}

// compare finds what no note has told: tasks that were added, and ends of tasks. What it is not sure
// of it leaves for the next time.
func (g *Gate) compare(ctx context.Context) error {
	start := time.Now()
	if start.Before(g.listed) {
		return g.check(ctx)
	}
	tasks, err := g.backend.Tasks(ctx)
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.books.add(tasks)
	ids := g.books.doubtful(tasks, true)
	g.mu.Unlock()
	g.listed = time.Now().Add(dear * time.Since(start))
	return g.ask(ctx, ids)
}

// check compares only the tasks that were let go.
func (g *Gate) check(ctx context.Context) error {
	g.mu.Lock()
	ids := g.books.running()
	g.mu.Unlock()
	for _, id := range ids {
		state, err := g.backend.State(ctx, id)
		if err != nil {
			return err
		}
		g.mu.Lock()
		g.books.doubt(id, state)
		g.mu.Unlock()
	}
	return nil
}

// ask asks the queue for the states of tasks.
func (g *Gate) ask(ctx context.Context, ids []string) error {
	for _, id := range ids {
		state, err := g.backend.State(ctx, id)
		if err != nil {
			return err
		}
		g.mu.Lock()
		g.books.correct(id, state)
		g.mu.Unlock()
	}
	return nil
}
