package pfsp_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// pools returns fair sharing among pools, each of which newPolicy serves: H-PFSP as the
// paper runs it.
func pools(newPolicy func() sojourn.Policy) sojourn.Policy {
	p, err := fair.New(fair.Options{Pools: map[string]fair.Pool{"*": {Policy: newPolicy}}})
	if err != nil {
		panic(err)
	}
	return p
}

func TestConformanceInPools(t *testing.T) {
	histories.Share(t, 10)
	sojourntest.Run(t, func() sojourn.Policy { return pools(maker(pfsp.Options{})) }, sojourntest.Options{IgnoresWeights: true, ChargesLostWork: true, ChargesFailures: true})
}

// Inside pools, which are lent slots one by one, the policy of each decides as the
// oracle does: V is as large as what the pool really has at each moment.
// Reference: Li et al., Section IV ("use Fair scheduler to share the slot resources
// among different pools, while adopting our H-PFSP scheduler within each pool").
func TestDecidesAsTheOracleInPools(t *testing.T) {
	var calls [2]int
	served := 0
	history := func(t *rapid.T) {
		in := drawInstance(byRapid(t), rapid.Bool().Draw(t, "weighted"))
		for i := range in.jobs {
			in.jobs[i].pool = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pool")
		}
		s := run(pools(func() sojourn.Policy {
			return judged{maker(pfsp.Options{})(), &exactPFSP{k: 2, judge: true}, &calls, t}
		}), in)
		served += len(s.starts)
	}
	checks(t, 2, history)
	calls, served = [2]int{}, 0
	histories.Fixed(20, history)
	if served == 0 || calls[0] < served/2 || calls[1]*200 > calls[0] {
		t.Errorf("of %d tasks %d were judged, and %d calls were too close to tell", served, calls[0], calls[1])
	}
	t.Logf("%d of %d calls were too close to tell", calls[1], calls[0])
}
