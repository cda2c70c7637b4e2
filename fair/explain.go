package fair

import (
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// AppendRanking implements [sojourn.Explainer]. It ranks pools by their keys, level
// by level, and jobs within a pool by theirs; keys are summed over all classes. A
// pool with a policy of its own has the ranking of that policy.
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.rank(dst, &p.root)
}

// A rival is a job or a pool among its siblings.
type rival struct {
	key     standing // among siblings of its kind
	against poolKey  // between a job and a pool
	job     *job
	pool    *pool
}

// A standing is the key of a job or a pool among its siblings of one kind, over all classes.
type standing struct {
	poolKey
	tie wide.Uint128 // of a job
}

func (a standing) less(b standing) bool {
	if a.sated == b.sated && a.ratio == b.ratio && a.tie != b.tie {
		return a.tie.Less(b.tie)
	}
	return lessPool(a.poolKey, b.poolKey)
}

func (t *tree) rank(dst []sojourn.JobID, n *pool) []sojourn.JobID {
	if explainer, ok := n.explainer(); ok {
		start := len(dst)
		dst = explainer.AppendRanking(dst)
		return append(dst[:start], slices.DeleteFunc(dst[start:], func(id sojourn.JobID) bool { return t.ledger.Job(id).Cancelled() })...)
	}
	var jobs, pools []rival
	for _, j := range n.jobs.All() {
		if j != nil && !j.Cancelled() {
			r := rival{key: t.standing(j), job: j}
			r.against = r.key.poolKey
			r.against.ratio = ratio(t.heldBy(j), j.Weight())
			jobs = append(jobs, r)
		}
	}
	for _, b := range n.pools.All() {
		if b == nil {
			continue
		}
		least := 0
		for _, m := range b.conf.min {
			least += m
		}
		k := poolKey{ratio: ratio(b.total(), b.conf.weight), turn: b.lastTurn(), sated: true}
		held := b.total()
		if t.ranked {
			held = b.share
			k.ratio = ratio(held, b.conf.weight)
		}
		if least > 0 && held < least {
			k.ratio, k.sated = ratio(held, uint64(least)), false
		}
		r := rival{key: standing{poolKey: k}, against: k, pool: b}
		if t.order == Service && k.sated {
			r.key.poolKey = t.leastTag(b, k)
		}
		pools = append(pools, r)
	}
	for _, list := range [][]rival{jobs, pools} {
		slices.SortFunc(list, func(a, b rival) int {
			if a.key.less(b.key) {
				return -1
			}
			return 1
		})
	}
	for len(jobs)+len(pools) > 0 {
		if len(pools) > 0 && (len(jobs) == 0 || !lessPool(jobs[0].against, pools[0].against)) {
			dst = t.rank(dst, pools[0].pool)
			pools = pools[1:]
		} else {
			dst = append(dst, jobs[0].job.Spec().ID)
			jobs = jobs[1:]
		}
	}
	return dst
}

// standing returns the key of a job among those of its pool, over all classes.
func (t *tree) standing(j *job) standing {
	k := standing{poolKey: poolKey{turn: j.Data.turn, sated: true}}
	if j.Data.pool.conf.leaf() {
		return k
	}
	k.ratio = ratio(t.count(j), j.Weight())
	if t.ties == Arrival {
		return k
	}
	of := overall(j)
	k.turn, k.tie = max(k.turn, of.turn), of.tie
	return k
}

// Visit calls f with the policies of pools, for questions that fair does not answer itself.
// These are the policies of live pools, and those kept for pools without jobs. A policy
// knows only the slots that its pool holds. f must not call Observe or Assign of the
// policy, since fair keeps account of these calls. The function [sojourn.All] uses Visit.
func (p *Policy) Visit(f func(sojourn.Policy)) {
	for g := range p.guests {
		f(g.Policy)
	}
}

// AppendVoid implements [sojourn.Promiser]. It lists the jobs whose promises the policies
// of pools call void, pool by pool. Fair itself promises nothing.
func (p *Policy) AppendVoid(dst []sojourn.JobID) []sojourn.JobID {
	for _, n := range p.inner {
		if n.policy.promiser != nil {
			dst = n.policy.promiser.AppendVoid(dst)
		}
	}
	return dst
}

// Void implements [sojourn.Promiser] by the policy of the job's pool.
func (p *Policy) Void(id sojourn.JobID) (why string, ok bool) {
	if j := p.ledger.Job(id); j != nil {
		if g := j.Data.pool.policy; g != nil && g.promiser != nil {
			return g.promiser.Void(id)
		}
	}
	return "", false
}

// explainer returns the Explainer of the pool's policy, if there is one.
func (n *pool) explainer() (sojourn.Explainer, bool) {
	if n.policy == nil {
		return nil, false
	}
	return sojourn.As[sojourn.Explainer](n.policy.Policy)
}

// leastTag returns a key with the least tag of a pool in a class in which it can be served, and a
// key after all others if there is none.
func (t *tree) leastTag(n *pool, k poolKey) poolKey {
	least := k
	least.ratio = wide.Uint128{Hi: math.MaxUint64, Lo: math.MaxUint64}
	for i := range n.classes {
		if n.classes[i].queued { // class 0 stands for all if shares are of places
			if k := t.key(n, sojourn.Class(i)); k.sated && lessPool(k, least) {
				least = k
			}
		}
	}
	return least
}

// count returns r of a job, over all classes; or its share.
func (t *tree) count(j *job) (n int) {
	if t.ranked {
		return t.shareOf(j)
	}
	for i := range j.NumSides() {
		n += t.measure(j, j.Side(i))
	}
	return n
}

// heldBy returns r of a job, over all classes; or its share.
func (t *tree) heldBy(j *job) int {
	if t.ranked {
		return t.shareOf(j)
	}
	return j.Running()
}

// total returns r of a pool, over all classes.
func (n *pool) total() (sum int) {
	for i := range n.classes {
		sum += n.classes[i].running
	}
	return sum
}

// lastTurn returns when a pool was last served, in any class.
func (n *pool) lastTurn() (turn uint64) {
	for i := range n.classes {
		turn = max(turn, n.classes[i].turn)
	}
	return turn
}

// Explain implements [sojourn.Explainer]. Shares take time in proportion to the live jobs.
// Its keys are those of [ledger.Ledger.Attrs] and
//
//	key             unit   meaning
//	weight          1      its weight
//	pool            text   the path of its pool
//	pool_weight     1      the weight of the pool
//	pool_running    tasks  those of the pool that run
//	pool_jobs       jobs   live ones of the pool
//	part            1      its dominant share of the cluster, with a Cost
//	pool_part       1      that of the pool, with a Cost
//	places          places that its tasks hold, with Places
//	pool_places     places that those of the pool hold, with Places
//	rank            jobs   live jobs that come before it, unless it is cancelled
//	classN          group  the pool in class N, if the job uses that
//	classN.running  tasks  those of the pool that run there
//	classN.demand   tasks  those of it that run or could run there, within limits
//	classN.share    slots  its max-min fair share of the slots that there are, without a Cost and Places
//	classN.min      slots  its minimum, if it has one
//	classN.locality text   how close to its inputs a slot there has to be for now, and until when or for
//	                       how much longer, if the job waits for such a slot
//	classN.limit    text   the first limit that keeps the job from starting tasks there, if any
//	preemption      list   what is to be killed for the job, or of it, and would be with ReportOnly
//	policy          group  what the policy of the pool explains, under the keys of that policy
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	n := j.Data.pool
	attrs := append(p.ledger.Attrs(j),
		slog.Float64("weight", float64(j.Weight())/(1<<16)),
		slog.String("pool", n.path()),
		slog.Float64("pool_weight", float64(n.conf.weight)/(1<<16)),
		slog.Int("pool_running", n.total()),
		slog.Int("pool_jobs", n.live))
	if p.order == dominant {
		attrs = append(attrs,
			slog.Float64("part", float64(uint32(p.costs.share(j)))/(1<<32)),
			slog.Float64("pool_part", float64(uint32(n.share))/(1<<32)))
	}
	if n.widths != nil {
		attrs = append(attrs,
			slog.Int("places", p.shareOf(j)),
			slog.Int("pool_places", n.share))
	}
	if rank := slices.Index(p.AppendRanking(nil), id); rank >= 0 {
		attrs = append(attrs, slog.Int("rank", rank))
	}
	for i := range j.NumSides() {
		attrs = append(attrs, p.explainClass(j, j.Side(i).Class()))
	}
	var killed []string
	for _, v := range p.preempt.victims {
		if v.For == id || v.Task.Job == id {
			what := "would be killed"
			if !p.preempt.ReportOnly {
				what = "is to be killed"
			}
			killed = append(killed, fmt.Sprintf("attempt %d of task %v on slot %d %s for job %d", v.Attempt, v.Task, v.Slot, what, v.For))
		}
	}
	if killed != nil {
		attrs = append(attrs, slog.Any("preemption", killed))
	}
	if explainer, ok := n.explainer(); ok {
		if inner, ok := explainer.Explain(id); ok {
			// The policy of a pool knows only the slots that the pool holds.
			inner = slices.DeleteFunc(inner, func(a slog.Attr) bool { return a.Key == "no_slots" })
			attrs = append(attrs, slog.Attr{Key: "policy", Value: slog.GroupValue(inner...)})
		}
	}
	return attrs, true
}

// explainClass explains the state of the pool of a job in one class.
func (p *Policy) explainClass(j *job, c sojourn.Class) slog.Attr {
	p.shares(c)
	n := j.Data.pool
	attrs := []slog.Attr{
		slog.Int("running", n.running(c)),
		slog.Int("demand", n.look(c).demand),
	}
	if !p.ranked {
		share, _ := n.look(c).share.Float64()
		attrs = append(attrs, slog.Float64("share", share))
	}
	if n.widths != nil && len(n.conf.min) > 0 {
		attrs = append(attrs, slog.Int("min", n.conf.min[0]))
	} else if int(c) < len(n.conf.min) && n.conf.min[c] > 0 {
		attrs = append(attrs, slog.Int("min", n.conf.min[c]))
	}
	if text, waits := p.places.explain(j, j.SideOf(c)); waits {
		attrs = append(attrs, slog.String("locality", text))
	}
	if p.restricted(c) && p.ledger.FreeSlots(c) > 0 && n.policy == nil && j.SideOf(c).Running() > 0 {
		attrs = append(attrs, slog.String("limit", "the last free slots are for jobs that run nothing"))
		return slog.Attr{Key: fmt.Sprintf("class%d", c), Value: slog.GroupValue(attrs...)}
	}
	for ; n.parent != nil; n = n.parent {
		if n.conf.paused {
			attrs = append(attrs, slog.String("limit", fmt.Sprintf("pool %q is paused", n.path())))
			break
		}
		if n.full(c) {
			if n.widths != nil {
				attrs = append(attrs, slog.String("limit", fmt.Sprintf("pool %q holds %d places of its maximum of %d, and the gang needs %d", n.path(), n.share, n.conf.max[0], n.widths.Width(c))))
				break
			}
			attrs = append(attrs, slog.String("limit", fmt.Sprintf("pool %q runs its maximum of %d tasks", n.path(), n.conf.max[c])))
			break
		}
		if n.widths != nil && len(n.conf.max) > 0 {
			if h, ok := p.head(n); ok && !p.leavesRoom(n, c) {
				attrs = append(attrs, slog.String("limit", fmt.Sprintf("pool %q holds %d places of its maximum of %d, and keeps the others for a gang of %d that comes first", n.path(), n.share, n.conf.max[0], n.widths.Width(h))))
				break
			}
		}
		if n.jobsFull() && !j.Data.active {
			attrs = append(attrs, slog.String("limit", fmt.Sprintf("pool %q runs its maximum of %d jobs", n.path(), n.conf.MaxJobs)))
			break
		}
	}
	return slog.Attr{Key: fmt.Sprintf("class%d", c), Value: slog.GroupValue(attrs...)}
}
