package rtmr

import "slices"

// A key orders live jobs. It is a strict total order, the same for admission and for
// dispatch. A key depends only on its own job: if events of other jobs could
// exchange two jobs of one deadline, one of them might miss it.
type key struct {
	tier  uint8
	major int64
	seq   uint64
}

// The tiers.
const (
	tierStarted uint8 = iota // Chain: its first map was dispatched; major is the order of starts
	tierBooked               // admitted, and the promise holds; major is the place
	tierBehind               // no promise: no deadline, or a void one; major is the deadline
	tierEnding               // cancelled, and waits for its running attempts
)

func (a key) before(b key) bool {
	switch {
	case a.tier != b.tier:
		return a.tier < b.tier
	case a.major != b.major:
		return a.major < b.major
	}
	return a.seq < b.seq
}

// prefix returns the number that the key begins with.
func (a key) prefix() (hi, lo uint64) { return uint64(a.tier), uint64(a.major) ^ 1<<63 }

// An order is the list of live jobs by key, with the sums of the slots that are
// reserved for them: a Fenwick tree over the list. Adding and removing a job takes
// time in proportion to the jobs behind it, everything else a logarithm.
type order struct {
	jobs []*job
	sums []int64 // sums[i-1], as in Fenwick's paper: of the reservations of jobs[i-lowbit(i):i]
}

// add inserts a job.
func (o *order) add(j *job) {
	i, _ := slices.BinarySearchFunc(o.jobs, j, func(a, b *job) int {
		if a.Data.key.before(b.Data.key) {
			return -1
		}
		return 1
	})
	o.jobs = slices.Insert(o.jobs, i, j)
	o.sums = append(o.sums, 0)
	o.rebuild(i)
}

// remove removes a job.
func (o *order) remove(j *job) {
	i := j.Data.rank
	o.jobs = slices.Delete(o.jobs, i, i+1)
	o.sums = o.sums[:len(o.jobs)]
	o.rebuild(i)
}

// sort sorts the list after keys have changed.
func (o *order) sort() {
	slices.SortFunc(o.jobs, func(a, b *job) int {
		if a.Data.key.before(b.Data.key) {
			return -1
		}
		return 1
	})
	o.rebuild(0)
}

// rebuild computes ranks and sums from index i on.
func (o *order) rebuild(i int) {
	for ; i < len(o.jobs); i++ {
		o.jobs[i].Data.rank = i
		n := i + 1
		sum := o.jobs[i].Data.reserved
		for k := 1; k < n&-n; k <<= 1 {
			sum += o.sums[n-k-1]
		}
		o.sums[i] = sum
	}
}

// reserve sets how many slots are reserved for a job.
func (o *order) reserve(j *job, slots int64) {
	by := slots - j.Data.reserved
	if by == 0 {
		return
	}
	j.Data.reserved = slots
	for n := j.Data.rank + 1; n <= len(o.sums); n += n & -n {
		o.sums[n-1] += by
	}
}

// before returns how many slots are reserved for the jobs before j.
func (o *order) before(j *job) (sum int64) {
	for n := j.Data.rank; n > 0; n &= n - 1 {
		sum += o.sums[n-1]
	}
	return sum
}

// started returns how many jobs have started.
func (o *order) started() int {
	n, _ := slices.BinarySearchFunc(o.jobs, tierBooked, func(j *job, tier uint8) int {
		return int(j.Data.key.tier) - int(tier)
	})
	return n
}

// running returns the number of distinct starts of running attempts, job by job.
func (o *order) running() (n int) {
	for _, j := range o.jobs {
		n += j.Data.running[maps].live + j.Data.running[reduces].live
	}
	return n
}
