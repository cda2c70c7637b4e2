package inside

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// A Cluster is what the policy of a pool may know of the whole cluster, of which the pool has a part.
type Cluster struct {
	Reserve *reserve.Reserve        // whose numbers are of the whole cluster
	Free    func(sojourn.Class) int // counts free slots; nil if the policy knows all
}

// A Member is part of a policy that uses what it is told of the cluster around its pool. A policy embeds it under an
// alias in lower case, so that nothing of it is exported.
type Member struct{ join func(Cluster) bool }

// MemberOf returns the Member of a new policy. Before the first event, join is told of the cluster. It reports whether the
// policy keeps to the reserve of the cluster from then on.
func MemberOf(join func(Cluster) (keeps bool)) Member { return Member{join} }

func (m Member) joins(c Cluster) bool { return m.join(c) }

// Join tells a new policy of the cluster of which it has a part. It reports whether the policy keeps to the reserve of the
// cluster by itself. A policy without a Member does not.
func Join(p sojourn.Policy, c Cluster) bool {
	m, ok := sojourn.As[interface{ joins(Cluster) bool }](p)
	return ok && m.joins(c)
}
