package convert

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

// What comes ahead is the same, in the same order, with the same errors at the same places, and wherever the
// loop ends, nothing is made afterwards.
func TestAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 2000), rapid.SampledFrom([]int{batchJobs - 1, batchJobs, batchJobs + 1})).Draw(t, "jobs")
		tasks := rapid.SampledFrom([]int{1, batchTasks - 1, batchTasks, 1 << 30}).Draw(t, "tasks of every tenth job")
		faults := rapid.SliceOfN(rapid.IntRange(0, 2000), 0, 3).Draw(t, "errors before jobs")
		end := rapid.OneOf(rapid.Just(1<<30), rapid.IntRange(0, 2000)).Draw(t, "the loop ends after")
		var want []any
		ended := false
		source := func(yield func(*sim.Job, error) bool) {
			for i := range n {
				if ended {
					t.Fatal("a job is made after the end of the loop")
				}
				if slices.Contains(faults, i) && !yield(nil, fault(i)) {
					return
				}
				j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(i), Phases: []sojourn.Phase{{Tasks: 1}}}}
				if i%10 == 9 {
					j.Phases[0].Tasks = tasks
				}
				if !yield(j, nil) {
					return
				}
			}
		}
		for j, err := range iter.Seq2[*sim.Job, error](source) {
			want = append(want, name(j, err))
			if len(want) > end {
				break
			}
		}
		var got []any
		for j, err := range ahead(source) {
			got = append(got, name(j, err))
			if len(got) > end {
				break
			}
		}
		ended = true
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

type fault int

func (fault) Error() string { return "a fault" }

// name returns the ID of a job, or the error.
func name(j *sim.Job, err error) any {
	var f fault
	if errors.As(err, &f) {
		return f
	}
	return j.ID
}

// Few jobs are made ahead of the one that is consumed.
func TestAheadIsBounded(t *testing.T) {
	for _, tasks := range []int{1, 1 << 20} {
		made := 0
		source := func(yield func(*sim.Job, error) bool) {
			for made < 100_000 {
				made++
				if !yield(&sim.Job{Job: sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: tasks}}}}, nil) {
					return
				}
			}
		}
		for range ahead(source) {
			break // nothing is made any more when the loop has ended
		}
		most := 5 * batchJobs // two batches wait, one each is at the two ends, and one more job is seen
		if tasks > batchTasks {
			most = 6
		}
		if made > most {
			t.Errorf("with %d tasks a job %d jobs were made for one, want at most %d", tasks, made, most)
		}
	}
}
