package td

import (
	"math"

	"github.com/sojourn-sched/sojourn"
)

// A hotQueue has one tuple for each recently assigned remote read, the oldest first
// [Section IV-A2]. All tuples live equally long, so the first one is overdue first.
type hotQueue struct {
	ring  []tuple // of a length that is a power of 2
	head  int     // index of the oldest tuple
	len   int
	count map[sojourn.NodeID]int // live tuples of a node; none are not listed
}

type tuple struct {
	node    sojourn.NodeID
	expires sojourn.Time
}

// push adds a tuple. It expires no earlier than those before it.
func (q *hotQueue) push(t tuple) {
	if q.len == len(q.ring) {
		ring := make([]tuple, max(64, 2*len(q.ring)))
		for i := range q.len {
			ring[i] = *q.at(i)
		}
		q.ring, q.head = ring, 0
	}
	q.len++
	*q.at(q.len - 1) = t
	if q.count == nil {
		q.count = make(map[sojourn.NodeID]int)
	}
	q.count[t.node]++
}

// at returns tuple i, counted from the oldest.
func (q *hotQueue) at(i int) *tuple { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

// never is the end of a tuple that does not expire.
const never = sojourn.Time(math.MaxInt64)

// purge drops the tuples that are overdue: (n, t) is at t plus its lifetime.
func (q *hotQueue) purge(now sojourn.Time) {
	for q.len > 0 && q.at(0).expires <= now && q.at(0).expires != never {
		n := q.at(0).node
		q.head = (q.head + 1) & (len(q.ring) - 1)
		q.len--
		if q.count[n]--; q.count[n] == 0 {
			delete(q.count, n)
		}
	}
}
