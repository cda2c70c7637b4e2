package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Options configure a [Gate].
type Options struct {
	// Workers is how many tasks the workers of the queue run at a time, all together.
	Workers int

	// Ahead is how many tasks are let go beyond that.
	Ahead int

	// Compare is the time between two comparisons with the queue. Zero means 10 s.
	Compare time.Duration

	// Retry is how long the gate waits after an error of the queue before it tries again, at first. It
	// doubles up to Compare. Zero means 50 ms.
	Retry time.Duration

	// Log is told of errors of the queue, and of jobs that the policy refused and that are
	// scheduled as jobs of which nothing is known. Nil means slog.Default().
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
		{"Workers", o.Workers < 1 || o.Workers > sojourn.MaxSlots, o.Workers, fmt.Sprintf("1 to %d", sojourn.MaxSlots)},
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

// A Gate lets tasks of a queue go in the order of a policy.
type Gate struct {
	backend Backend
	opts    Options
	books   *books
	running sync.Mutex // held by Run
}

// New returns a gate. The policy is new: nothing was reported to it, and only the gate uses it.
func New(p sojourn.Policy, b Backend, o Options) (*Gate, error) {
	if b == nil {
		return nil, errors.New("gate: the backend is nil")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Compare == 0 {
		o.Compare = 10 * time.Second
	}
	if o.Retry == 0 {
		o.Retry = 50 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	books, err := newBooks(p, o)
	if err != nil {
		return nil, err
	}
	return &Gate{backend: b, opts: o, books: books}, nil
}

// Run asks the queue for its tasks, and lets them go in the order of the policy, until ctx ends. It
// returns the error of ctx. Errors of the queue are logged and tried again. A gate runs once: start
// another one with a new policy afterwards.
func (g *Gate) Run(ctx context.Context) error {
	if !g.running.TryLock() {
		return errors.New("gate: Run was called before")
	}
	if err := g.persist(ctx, "list its tasks", g.start); err != nil {
		return err
	}
	notes := make(chan []Note)
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	listening.Go(func() { g.listen(ctx, notes) })
	defer listening.Wait()
	defer cancel()
	compare := time.NewTicker(g.opts.Compare)
	defer compare.Stop()
	for {
		sleep := g.books.settle()
		for len(g.books.chosen) > 0 {
			if err := g.release(ctx); err != nil {
				return err
			}
			sleep = g.books.settle() // a task may have been gone
		}
		timer := time.NewTimer(sleep)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case batch := <-notes:
			for i := range batch {
				g.books.note(&batch[i])
			}
		case <-compare.C:
			if err := g.persist(ctx, "compare", g.compare); err != nil {
				return err
			}
		case <-timer.C:
		}
		timer.Stop()
	}
}

// persist calls f until it succeeds or ctx ends.
func (g *Gate) persist(ctx context.Context, what string, f func(context.Context) error) error {
	for wait := g.opts.Retry; ; wait = min(2*wait, g.opts.Compare) {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		g.opts.Log.Warn("gate: the queue did not "+what+"; trying again", "err", err, "in", wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// start makes the books from the tasks of the queue.
func (g *Gate) start(ctx context.Context) error {
	tasks, err := g.backend.Tasks(ctx)
	if err == nil {
		g.books.adopt(tasks)
	}
	return err
}

// listen sends what happens in the queue.
func (g *Gate) listen(ctx context.Context, to chan<- []Note) {
	for ctx.Err() == nil {
		var notes []Note
		err := g.persist(ctx, "tell what happens", func(ctx context.Context) (err error) {
			notes, err = g.backend.Notes(ctx)
			return err
		})
		if err != nil || len(notes) == 0 {
			continue
		}
		select {
		case to <- notes:
		case <-ctx.Done():
		}
	}
}

// release lets go the tasks that were chosen.
func (g *Gate) release(ctx context.Context) error {
	chosen := g.books.chosen
	g.books.chosen = nil
	for _, t := range chosen {
		var gone bool
		err := g.persist(ctx, "let a task go", func(ctx context.Context) error {
			err := g.backend.Release(ctx, t.id)
			gone = errors.Is(err, ErrGone)
			if gone {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if gone {
			g.books.note(&Note{Kind: Dropped, Task: t.id})
		}
	}
	return nil
}

// compare finds what no note has told: tasks that were added, and ends of tasks. What it is not sure
// of it leaves for the next time.
func (g *Gate) compare(ctx context.Context) error {
	tasks, err := g.backend.Tasks(ctx)
	if err != nil {
		return err
	}
	g.books.add(tasks)
	for _, id := range g.books.doubtful(tasks) {
		state, err := g.backend.State(ctx, id)
		if err != nil {
			return err
		}
		g.books.correct(id, state)
	}
	return nil
}
