package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

const prefix = "sojourn-sched.github.io/"

// Annotations of Jobs, and of pods that belong to no Indexed Job.
const (
	Size     = prefix + "size"     // how long one pod runs, such as 90s; unknown by default
	Weight   = prefix + "weight"   // the share relative to other jobs, such as 2.5; 1 by default
	Deadline = prefix + "deadline" // when all should be done, in RFC 3339; none by default
	Pool     = prefix + "pool"     // the group that the job counts against; its namespace by default
)

// Admit is the label, of value "true", of a Job that is created suspended and asks to be resumed when the policy accepts it.
// A suspended Job without it is left to whoever suspends it. So is one with it that has run before, that has a
// spec.managedBy of another controller, or that belongs to Kueue or to a JobSet, which resume Jobs themselves.
const Admit = prefix + "admit"

// What the scheduler writes.
const (
	Admitted = prefix + "admitted" // annotation of a Job that was created suspended: when it was admitted
	Attempt  = prefix + "attempt"  // annotation of a bound pod: the number of the attempt at its task
	Rejected = prefix + "Rejected" // condition of a Job that the policy has not accepted
)

// DefaultSlot is the extended resource of which each pod requests one, by default.
const DefaultSlot corev1.ResourceName = prefix + "slot"

// epoch is fixed, so that deadlines and ages mean the same after a restart.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// A Config says what a Scheduler schedules, and how. Client and Policy are needed.
type Config struct {
	// Client reaches the API server. Set its QPS: the default of client-go is 5 requests a second.
	Client kubernetes.Interface

	// Policy decides. It is new, and belongs to the Scheduler.
	Policy sojourn.Policy

	// Shapes, unless nil, is in the place of Policy and Slots: pods share nodes by what they request.
	Shapes *Shapes

	// Name is what pods name in spec.schedulerName. Empty means "sojourn".
	Name string

	// Namespace restricts Jobs and pods to one namespace. Empty means all.
	Namespace string

	// Slots are the extended resources that are slots. The policy knows the slots of the i-th as
	// class i. At most 256; none means DefaultSlot.
	Slots []corev1.ResourceName

	// Nodes selects nodes by their labels, such as "pool=batch". Empty means all nodes that
	// advertise slots.
	Nodes string

	// GangPatience is how long a gang whose pods are all there waits until places are kept for it: it then takes
	// each place that comes free before all others, until it has all. One gang at a time does so, the one that has
	// waited for longest; none does that the nodes could not hold. Zero means 1 minute, a negative number that
	// nothing is kept.
	GangPatience time.Duration

	// GangKeep is how long places are kept for a gang at most. If it does not have all by then, it gives them back, and waits
	// as long again before it keeps places, twice as long the next time, and so on. Zero means 10 minutes; at most 1,000 hours.
	GangKeep time.Duration

	// Limits bound what annotations and labels say.
	Limits Limits

	// Workers is how many requests are under way at a time. Zero means 16. With one, binds reach the
	// API server in the order of the policy.
	Workers int

	// Events is how many pods a second get an event at most that says why they wait. A pod gets one
	// after 5 seconds, another one after a minute if the reason is another, and after 20 minutes the
	// same again. Zero means 10, and a negative number none.
	Events int

	// Unschedulable writes the condition PodScheduled=False, with the reason Unschedulable, of each pod that has waited for
	// 5 seconds, for up to 1,000 pods a second. Autoscalers of clusters add nodes for such pods.
	Unschedulable bool

	// Lease, unless nil, elects one of several schedulers.
	Lease *Lease
}

// A Lease names the object that schedulers compete for.
type Lease struct {
	Namespace, Name string

	// Identity is different in each replica. A pod's name is a good one.
	Identity string
}

// withDefaults returns the first thing that is wrong, or the configuration with its defaults filled in.
func (c Config) withDefaults() (Config, labels.Selector, error) {
	switch {
	case c.Client == nil:
		return c, nil, errors.New("kubernetes: Config.Client is nil")
	case c.Policy == nil && c.Shapes == nil:
		return c, nil, errors.New("kubernetes: Config.Policy is nil")
	case c.Policy != nil && c.Shapes != nil:
		return c, nil, errors.New("kubernetes: Config has a Policy and Shapes, which make one")
	case c.Shapes != nil && len(c.Slots) > 0:
		return c, nil, errors.New("kubernetes: Config has Slots and Shapes: want one of them")
	case c.GangKeep < 0 || c.GangKeep > 1000*time.Hour:
		return c, nil, fmt.Errorf("kubernetes: Config.GangKeep is %v: want 0 to 1000 hours", c.GangKeep)
	case c.Workers < 0:
		return c, nil, fmt.Errorf("kubernetes: Config.Workers is %d", c.Workers)
	case len(c.Slots) > 256:
		return c, nil, fmt.Errorf("kubernetes: Config.Slots has %d resources; at most 256", len(c.Slots))
	case c.Lease != nil && (c.Lease.Namespace == "" || c.Lease.Name == "" || c.Lease.Identity == ""):
		return c, nil, errors.New("kubernetes: Config.Lease needs a namespace, a name and an identity")
	}
	if err := c.Limits.validate(); err != nil {
		return c, nil, err
	}
	selector, err := labels.Parse(c.Nodes)
	if err != nil {
		return c, nil, fmt.Errorf("kubernetes: Config.Nodes: %w", err)
	}
	if c.Name == "" {
		c.Name = "sojourn"
	}
	if c.Events == 0 {
		c.Events = 10
	}
	if c.GangPatience == 0 {
		c.GangPatience = time.Minute
	}
	if c.GangKeep == 0 {
		c.GangKeep = 10 * time.Minute
	}
	if c.Workers == 0 {
		c.Workers = 16
	}
	if c.Slots = slices.Clone(c.Slots); len(c.Slots) == 0 && c.Shapes == nil {
		c.Slots = []corev1.ResourceName{DefaultSlot}
	}
	for i, s := range c.Slots {
		if s == "" || slices.Contains(c.Slots[:i], s) {
			return c, nil, fmt.Errorf("kubernetes: Config.Slots[%d] is %q, empty or there twice", i, s)
		}
	}
	return c, selector, nil
}
