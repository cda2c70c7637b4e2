package live

import (
	"context"
	"runtime"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
)

// Options are the options of a [Pool].
type Options struct {
	// Slots is how many slots of class 0 there are at first: how many tasks run at a time.
	// Zero means one for each processor that Go uses (GOMAXPROCS). [Pool.AddSlots] adds slots
	// on nodes and of other classes.
	Slots int

	// Retry says what happens to a task that fails, in jobs that do not say so themselves.
	Retry Retry

	// Timeout is the time that one attempt at a task may take, in phases that do not say so
	// themselves. Zero means no limit.
	Timeout time.Duration

	// Grace is the time between the end of the context of an attempt and the moment when the
	// attempt is given up: see the package comment. Zero means 10 s.
	Grace time.Duration

	// Preempt is the least time between two questions to the policy which attempts to stop; see
	// [driver.Options]. Zero means 50 ms. A negative value means that no attempt is stopped.
	Preempt time.Duration

	// Drop names features that jobs lose where the policy does not know them, instead of being refused: see
	// [driver.Options]. The Observer is told of the jobs without them too (TestDrop).
	Drop sojourn.Features

	// MaxWaiting is how many jobs wait at most: live ones of which no attempt has been started. If so many wait, Submit and Enter
	// refuse the next one with [ErrFull]. Zero means any number (TestMaxWaiting).
	MaxWaiting int

	// Handlers are the functions that jobs name: see [Job].Handler.
	Handlers map[string]Handler

	// Probation is how long a task that ran when the process before ended runs alone: nothing else is started meanwhile. See "Tasks
	// that end the process" in the package comment. Zero means a minute, a negative value until the end of the attempt.
	Probation time.Duration

	// OnEnd, unless nil, is called for each job that has ended, when that is durable, until it has returned nil once: what it does
	// may happen twice. Under a durable policy this holds over restarts. After an error or a panic it is due again after 1 s to 1 min.
	// Those that are due again and new ones take turns, so that neither holds up the other, under overload too (TestOnEndOfOthers,
	// TestOnEndOverload); while calls fail, one that is due again begins each second. At most four calls run at a time. The context of a call ends after a minute; a call that does not return
	// then holds up none but its own job. Close waits for the calls that are due, until its context ends (TestOnEnd).
	OnEnd func(context.Context, Ended) error

	// Remember is how many ended jobs the pool remembers at most, and RememberFor for how long: see [Pool.Ended], [Pool.Handle],
	// [Job].Key. Those of which OnEnd is still to be told come on top. Zero means 10,000 and a week under a durable policy or with
	// OnEnd, and otherwise none. A negative Remember means none, not even for OnEnd.
	Remember    int
	RememberFor time.Duration

	// UnsyncedStarts says that an attempt under a durable policy may start when its start was given to the
	// operating system. It survives the end of the process, but after a loss of power the attempt may be started
	// again under the same number. Otherwise an attempt waits until its start is synced.
	UnsyncedStarts bool

	// Seed determines the jitter of retries.
	Seed uint64

	// Observer, unless nil, is told what happens.
	Observer Observer

	// Now returns the time since some epoch, for the policy. Nil means the time since New, or the time that a
	// durable policy goes on with. Timers go by the clock of package time.
	Now func() sojourn.Time
}

// A Retry says what happens to a task that fails.
type Retry struct {
	// Attempts is how many attempts at a task may fail before its job does. Zero means 1: the
	// first failure of a task ends its job. Attempts that were preempted, or lost their slot, do
	// not count.
	Attempts int

	// Backoff is the time between a failure and the next attempt. It doubles with each failure
	// of the task, up to MaxBackoff. Zero means that the task may start again at once.
	Backoff time.Duration

	// MaxBackoff bounds the back-off. Zero means one minute.
	MaxBackoff time.Duration

	// Jitter is the random part of the back-off, from 0 to 1. With 0.25, the task waits for
	// 75 % to 100 % of the time. It keeps tasks that failed together from starting together.
	Jitter float64

	// Budget is how many attempts at tasks of the job may fail, all together, before the job does. Zero means any number. As
	// for Attempts, those that were preempted, or lost their slot or their process, do not count (TestBudget).
	Budget int

	// Deaths is how many times a task may run when the process ends, under a durable policy: then it is dead, and fails with
	// [ErrDead]. Only the first time others that ran are suspects as well: see the package comment. Zero means 3. With 1 no
	// task runs again that ran when the process ended. A negative value means any number of times, beside others: for
	// tasks that cannot be the reason (TestPoison).
	Deaths int
}

// Validate returns the first thing that is wrong with the options, or nil.
func (o Options) Validate() error {
	return option.First("live",
		option.Range("Slots", o.Slots, 0, sojourn.MaxSlots),
		o.Retry.check(),
		option.AtLeast("Timeout", o.Timeout, 0),
		option.AtLeast("MaxWaiting", o.MaxWaiting, 0),
		option.AtLeast("Grace", o.Grace, 0),
		option.AtLeast("RememberFor", o.RememberFor, 0))
}

func (r *Retry) check() error {
	return option.First("",
		option.AtLeast("Retry.Attempts", r.Attempts, 0),
		option.AtLeast("Retry.Backoff", r.Backoff, 0),
		option.AtLeast("Retry.MaxBackoff", r.MaxBackoff, 0),
		option.Range("Retry.Jitter", r.Jitter, 0, 1),
		option.AtLeast("Retry.Budget", r.Budget, 0))
}

func (o Options) withDefaults() Options {
	if o.Slots == 0 {
		o.Slots = runtime.GOMAXPROCS(0)
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.Probation == 0 {
		o.Probation = time.Minute
	}
	switch {
	case o.Preempt == 0:
		o.Preempt = 50 * time.Millisecond
	case o.Preempt < 0:
		o.Preempt = 0
	}
	if o.Now == nil {
		start := time.Now()
		o.Now = func() sojourn.Time { return sojourn.Time(time.Since(start)) }
	}
	o.Retry = o.Retry.withDefaults()
	return o
}

func (r Retry) withDefaults() Retry {
	if r.Attempts == 0 {
		r.Attempts = 1
	}
	if r.Deaths == 0 {
		r.Deaths = 3
	}
	if r.MaxBackoff == 0 {
		r.MaxBackoff = time.Minute
	}
	return r
}

// wait returns the back-off after the n-th failure of a task, where random is in [0, 1).
func (r *Retry) wait(n int, random float64) time.Duration {
	d := min(r.Backoff, r.MaxBackoff)
	for ; n > 1 && d < r.MaxBackoff; n-- {
		d = min(2*d, r.MaxBackoff) // both are below 2^62: a year has 2^55 ns
	}
	return d - time.Duration(r.Jitter*random*float64(d))
}
