package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Roll keeps the names of the jobs of a run that a report lists. It takes them in any
// order, and keeps the first few of each list in the order of the workload.
type Roll struct {
	Outcomes map[sim.Outcome]*nameList // except jobs that finished
	void     map[string]*nameList      // by why a deadline could not be promised any more
}

// Add adds a job if it is to be listed. rank is its place in the workload.
func (r *Roll) Add(rank int, j *sim.JobRecord) {
	if j.Outcome != sim.Finished {
		listOf(&r.Outcomes, j.Outcome).add(rank, j)
	}
	if j.Void != "" {
		listOf(&r.void, j.Void).add(rank, j)
	}
}

// listOf returns the list of a key.
func listOf[K comparable](lists *map[K]*nameList, key K) *nameList {
	if *lists == nil {
		*lists = map[K]*nameList{}
	}
	if (*lists)[key] == nil {
		(*lists)[key] = new(nameList)
	}
	return (*lists)[key]
}

// Voids says which promises became void, why, and what came of these jobs, in the order
// of the first jobs.
func (r *Roll) Voids(policy string) string {
	var reasons []string
	for why := range r.void {
		reasons = append(reasons, why)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		first := func(why string) int { return r.void[why].first[0].rank }
		return cmp.Or(cmp.Compare(first(a), first(b)), strings.Compare(a, b))
	})
	var b strings.Builder
	for _, why := range reasons {
		b.WriteString(format.Hang("", fmt.Sprintf("%s, guarantee void: %s: %s; %s missed", policy, r.void[why], why, format.Thousands(r.void[why].missed))))
	}
	return b.String()
}

// A nameList names the first of some jobs and counts all.
type nameList struct {
	first  []rankedName // in the order of their ranks
	jobs   int
	missed int // those that did not finish by their deadline
}

type rankedName struct {
	rank int
	name string
}

func (l *nameList) add(rank int, j *sim.JobRecord) {
	const most = 8
	l.jobs++
	if j.Finish == 0 || j.Finish > j.Deadline {
		l.missed++
	}
	name := strconv.FormatUint(uint64(j.ID), 10)
	if j.Name != "" {
		name += fmt.Sprintf(" (%q)", j.Name)
	}
	i, _ := slices.BinarySearchFunc(l.first, rank, func(n rankedName, rank int) int { return cmp.Compare(n.rank, rank) })
	if i < most {
		l.first = slices.Insert(l.first, i, rankedName{rank, name})
		l.first = l.first[:min(len(l.first), most)]
	}
}

// String lists the first jobs by ID and name, and says how many more there are.
func (l *nameList) String() string {
	var names []string
	for _, n := range l.first {
		names = append(names, n.name)
	}
	text := strings.Join(names, ", ")
	if more := l.jobs - len(names); more > 0 {
		text += fmt.Sprintf(" and %s more", format.Thousands(more))
	}
	return text
}
