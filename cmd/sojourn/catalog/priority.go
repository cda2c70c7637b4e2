package catalog

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/priority"
)

// priorityOptions are the options of policy priority as text.
type priorityOptions struct {
	// Inner is the policy that serves the jobs of each priority, with its first option behind a colon, as in
	// inner=hfsp:xi=2. The default is default.
	Inner string

	// Age lets what waits pass: after each Age that a priority has waited for a slot, it counts as one priority
	// higher. Zero means never.
	Age time.Duration

	// Preempt is how many attempts of lower priorities are asked for at a time at most, with --preempt. Zero means none.
	Preempt int

	// PreemptAfter is how long a priority waits before it asks for slots.
	PreemptAfter time.Duration
}

// newPriority makes policy priority.
func newPriority(o priorityOptions) (sojourn.Policy, error) {
	inner := o.Inner
	if inner == "" {
		inner = "default"
	}
	policy, err := Builtin().Constructor(inner)
	if err != nil {
		return nil, fmt.Errorf("option inner: %w", err)
	}
	return priority.New(policy, priority.Options{Age: o.Age, Preempt: o.Preempt, PreemptAfter: o.PreemptAfter})
}
