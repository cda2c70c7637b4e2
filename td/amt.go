package td

import (
	"math"
	"math/bits"
	"time"
)

// The mean time of a map task, amt(j) in the paper, ranks jobs and weighs the
// remaining work of nodes. It is a whole number of microseconds, rounded to five
// significant bits, that is by at most 3 %. A mean that changed with every task
// would change the remaining work of every node that has tasks of the job. The mean
// and R_n are functions of the account alone, so R_n never drifts.
//
// Only tasks that ran close to their input count. The paper averages over all
// tasks. But then a job that reads remotely seems to compute much, is preferred
// for further remote reads, and so on.

// maxTime bounds amt, to 71 minutes, and with it R_n: 2^31 tasks at one node still
// fit into 64 bits.
const maxTime = math.MaxUint32

// estimate sets amt(j) from the measured times of the job, or from its estimates.
func (r *roster) estimate(j *job) {
	d := &j.Data
	if d.runs > 0 {
		d.amt = round(d.sum / d.runs)
		return
	}
	d.amt = round(uint64(r.set.taskTime(j.Spec()) / time.Microsecond))
}

// measure records the time of a map task of j.
func (r *roster) measure(j *job, service time.Duration) {
	j.Data.sum += uint64(service / time.Microsecond)
	j.Data.runs++
	r.estimate(j)
}

// round rounds a time down to five significant bits.
func round(t uint64) uint64 {
	t = max(1, min(t, maxTime))
	drop := max(0, bits.Len64(t)-5)
	return t >> drop << drop
}
