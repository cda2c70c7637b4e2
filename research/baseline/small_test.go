package baseline_test

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/research/baseline"
)

// eachRigid calls f with all lists of n rigid jobs on a number of places: they come one after the other, at once or a second
// later, and run for up to their limit.
func eachRigid(n, places, limit int, f func(jobs []rigidTest)) {
	var kinds []rigidTest // at is how much later than the one before
	for later := range 2 {
		for width := 1; width <= places; width++ {
			for most := 1; most <= limit; most++ {
				for run := 1; run <= most; run++ {
					kinds = append(kinds, rigidTest{later, width, run, most})
				}
			}
		}
	}
	jobs := make([]rigidTest, n)
	var add func(i, at int)
	add = func(i, at int) {
		if i == n {
			f(jobs)
			return
		}
		for _, k := range kinds {
			if i == 0 && k.at > 0 {
				continue // the first comes at 0
			}
			k.at += at
			jobs[i] = k
			add(i+1, k.at)
		}
	}
	add(0, 0)
}

// In all small histories, each policy starts each job when the definition does, and no later than it promised. Some start as
// late as that, and some jobs pass others, except under FCFS.
//
// Reference: Mu'alem, Feitelson 2001, section 2; Feitelson, Weil 1998.
func TestSmallHistoriesOfRigidJobs(t *testing.T) {
	never := func() bool { return false }
	n, limit := 4, 2
	if thorough {
		n, limit = 4, 3
	}
	for _, b := range backfills {
		histories, promised, exact, apart := 0, 0, 0, 0
		for places := 2; places <= 3; places++ {
			eachRigid(n, places, limit, func(jobs []rigidTest) {
				histories++
				starts, promises := runRigid(t, never, must(b.make, baseline.BackfillOptions{Places: places})(), places, jobs)
				if want := (&rigidOracle{places: places, jobs: jobs}).run(b.name); !slices.Equal(starts, want) {
					t.Fatalf("%s on %d places: %+v start at %v, want %v", b.name, places, jobs, starts, want)
				}
				for _, s := range promises {
					promised++
					if starts[s[0]] > s[1] {
						t.Fatalf("%s on %d places: %+v: job %d was promised second %d and starts at %d", b.name, places, jobs, s[0]+1, s[1], starts[s[0]])
					}
					if starts[s[0]] == s[1] {
						exact++
					}
				}
				if !slices.IsSorted(starts) {
					apart++
				}
			})
		}
		t.Logf("%s: %d histories, %d promises, %d of them as late as was promised, %d with a job out of turn", b.name, histories, promised, exact, apart)
		if b.name != "fcfs" && (exact == 0 || apart == 0) || b.name == "fcfs" && apart > 0 {
			t.Errorf("%s: %d promises are as late as was promised, and %d histories have a job out of turn", b.name, exact, apart)
		}
	}
}
