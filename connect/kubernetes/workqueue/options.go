package workqueue

import (
	"fmt"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// Options configure a queue of keys of type T. The zero value hands out keys in the order of
// arrival: set Pool.
type Options[T comparable] struct {
	// Pool names the pool of a key. Under the policy that is the default, pools share the
	// workers, and the keys of a pool come in the order of arrival. The usual pool of a key is its
	// namespace. Let no pool be above another, as "a" is above "a/b": what "a" itself then gets is
	// not defined. Nil puts all keys into one pool.
	Pool func(T) string

	// Job, unless nil, describes a key as a job: its pool, its name, its weight, its deadline, and
	// in Phases[0] how long it takes. The queue sets the ID and the number of tasks, which is 1.
	// Keys with one name are alike for policies that estimate how long a job takes. It excludes
	// Pool.
	Job func(T) sojourn.Job

	// Policy returns a new policy. The queue makes one for each priority in use, and drops
	// policies of priorities long unused. The policy must be a [sojourn.Seeker]. Nil is
	// fair.New(fair.Options{Order: fair.Running}): the pool with the fewest workers for its weight goes
	// first. It costs least if Job is nil, too: it then knows pools, and not each key.
	Policy func() (sojourn.Policy, error)

	// Refused is told of keys whose job the policy refused, and why: a weight out of range, for
	// example, or a deadline that cannot be met. Such a key is queued as a job of which nothing is
	// known, so no key is lost. Nil means that nobody is told. It must not use the queue.
	Refused func(key T, err error)

	// Drop hands out nothing more once the queue shuts down, as the queue of controller-runtime does. Otherwise what is
	// left is handed out first, as by client-go's.
	Drop bool

	// MetricsProvider and Clock are those of client-go's queues. Nil takes client-go's global
	// provider, and the clock of the machine.
	MetricsProvider workqueue.MetricsProvider
	Clock           clock.WithTickerAndDelayedExecution
}

// Validate returns an error that says what is wrong with the options. It makes one policy to
// see that there are policies.
func (o Options[T]) Validate() error {
	if o.Pool != nil && o.Job != nil {
		return fmt.Errorf("workqueue: Options.Pool and Options.Job are both set; let Job set the pool")
	}
	_, err := newBand(o.policy(), 0, 0)
	return err
}

func (o Options[T]) policy() func() (sojourn.Policy, error) {
	if o.Policy != nil {
		return o.Policy
	}
	return func() (sojourn.Policy, error) { return fair.New(fair.Options{Order: fair.Running}) }
}
