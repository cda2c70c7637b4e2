package baseline_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest/choice"
)

// unitWeight returns the weight of a job over its work, exactly.
func unitWeight(j *sojourn.Job) *big.Rat {
	work := int64(0)
	for i := range j.Phases {
		work += int64(j.Phases[i].Work())
	}
	return new(big.Rat).Quo(weightOf(j), new(big.Rat).SetInt64(work))
}

func weightOf(j *sojourn.Job) *big.Rat {
	if j.Weight == 0 {
		return big.NewRat(1, 1)
	}
	return new(big.Rat).SetFloat64(j.Weight)
}

// Reference: Section 5.1.3, high unit weight first.
func TestHUWFServesTheHighestUnitWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choice.Check(t, must(baseline.NewHUWF, baseline.ListOptions{})(), choice.Options{Classes: 2, Phases: 3},
			func(_ *choice.World, _ sojourn.Class, a, b *choice.Job) bool {
				if c := unitWeight(a.Spec).Cmp(unitWeight(b.Spec)); c != 0 {
					return c > 0
				}
				return a.Seq < b.Seq
			})
	})
}

// Reference: Section 5.1.3, high job weight first, and high task weight first where
// tasks have the weight of their job.
func TestHJWFAndHTWFServeTheHighestWeight(t *testing.T) {
	for _, newPolicy := range []func(baseline.ListOptions) (sojourn.Policy, error){baseline.NewHJWF, baseline.NewHTWF} {
		rapid.Check(t, func(t *rapid.T) {
			choice.Check(t, must(newPolicy, baseline.ListOptions{})(), choice.Options{Classes: 2, Phases: 3},
				func(_ *choice.World, _ sojourn.Class, a, b *choice.Job) bool {
					if c := weightOf(a.Spec).Cmp(weightOf(b.Spec)); c != 0 {
						return c > 0
					}
					return a.Seq < b.Seq
				})
		})
	}
}

// An stfTask is a task in a list that is searched from end to end.
type stfTask struct {
	id    sojourn.TaskID
	class sojourn.Class
	time  time.Duration
	seq   int
	state string
}

// Reference: Section 5.1.3, shortest task first: "we assign the task whose
// processing time is the shortest to the idle machine first".
func TestSTFServesTheShortestStartableTask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := must(baseline.NewSTF, baseline.ListOptions{DefaultTaskTime: 3})()
		observe := func(ev sojourn.Event) {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		const slots = 4
		running := [slots]*stfTask{}
		for i := range slots {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Class: sojourn.Class(i % 2)}})
		}
		var tasks []*stfTask
		jobs := map[sojourn.JobID]*sojourn.Job{}
		attempts := map[sojourn.TaskID]uint32{}
		startable := func(u *stfTask) bool {
			if u.state != "pending" {
				return false
			}
			done := 0
			for _, v := range tasks {
				if v.id.Job == u.id.Job && v.id.Phase+1 == u.id.Phase && v.state == "done" {
					done++
				}
			}
			return done >= jobs[u.id.Job].Threshold(int(u.id.Phase))
		}
		pick := func(state string) *stfTask {
			var list []*stfTask
			for _, u := range tasks {
				if u.state == state && jobs[u.id.Job] != nil {
					list = append(list, u)
				}
			}
			if len(list) == 0 {
				t.Skip("none is " + state)
			}
			return rapid.SampledFrom(list).Draw(t, state)
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				j := &sojourn.Job{ID: sojourn.JobID(len(jobs) + 1)}
				for i := range rapid.IntRange(1, 3).Draw(t, "phases") {
					ph := sojourn.Phase{Tasks: rapid.IntRange(1, 5).Draw(t, "tasks"), Class: sojourn.Class(rapid.IntRange(0, 1).Draw(t, "class"))}
					ph.Estimate = time.Duration(rapid.IntRange(0, 4).Draw(t, "estimate"))
					if i > 0 {
						ph.After = rapid.SampledFrom([]int{sojourn.NoBarrier, 0, 1}).Draw(t, "after")
					}
					if rapid.Bool().Draw(t, "each") {
						for range ph.Tasks {
							ph.Estimates = append(ph.Estimates, time.Duration(rapid.IntRange(0, 5).Draw(t, "estimate")))
						}
					}
					for k := range ph.Tasks {
						d := ph.EstimateOf(k)
						if d == 0 {
							d = 3
						}
						tasks = append(tasks, &stfTask{sojourn.TaskID{Job: j.ID, Phase: uint16(i), Index: uint32(k)}, ph.Class, d, len(tasks), "pending"})
					}
					j.Phases = append(j.Phases, ph)
				}
				jobs[j.ID] = j
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
			},
			"assign": func(t *rapid.T) {
				s := rapid.IntRange(0, slots-1).Draw(t, "slot")
				if running[s] != nil {
					t.Skip("busy")
				}
				var want *stfTask
				for _, u := range tasks {
					if int(u.class) == s%2 && startable(u) && (want == nil || u.time < want.time) {
						want = u
					}
				}
				a, ok := p.Assign(sojourn.SlotID(s))
				if ok != (want != nil) || ok && a.Task != want.id {
					t.Fatalf("Assign(%d) = %v, %v, want %+v", s, a, ok, want)
				}
				if ok {
					want.state = "running"
					running[s] = want
					attempts[a.Task] = a.Attempt
				}
			},
			"end": func(t *rapid.T) {
				s := rapid.IntRange(0, slots-1).Draw(t, "slot")
				u := running[s]
				if u == nil {
					t.Skip("free")
				}
				kind := rapid.SampledFrom([]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused}).Draw(t, "kind")
				observe(sojourn.Event{Kind: kind, Task: u.id, Attempt: attempts[u.id], Slot: sojourn.Slot{ID: sojourn.SlotID(s)}})
				running[s], u.state = nil, "pending"
				if kind == sojourn.TaskFinished {
					u.state = "done"
				}
				if !slices.ContainsFunc(tasks, func(v *stfTask) bool { return v.id.Job == u.id.Job && v.state != "done" }) {
					for _, v := range tasks {
						if v.id.Job == u.id.Job {
							v.state = "gone"
						}
					}
				}
			},
			"hold": func(t *rapid.T) {
				u := pick("pending")
				observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: u.id})
				u.state = "held"
			},
			"ready": func(t *rapid.T) {
				u := pick("held")
				observe(sojourn.Event{Kind: sojourn.TaskReady, Task: u.id})
				u.state = "pending"
			},
		})
	})
}

// One slot, three jobs of one task: weights 6, 5, 1 and times 4, 2, 1. Unit weights are
// 1.5, 2.5 and 1; job weights 6, 5, 1; times 4, 2, 1.
func TestListsByHand(t *testing.T) {
	jobs := []testJob{{0, 6, []sojourn.Time{4}}, {0, 5, []sojourn.Time{2}}, {0, 1, []sojourn.Time{1}}}
	for _, tc := range []struct {
		name      string
		newPolicy func(baseline.ListOptions) (sojourn.Policy, error)
		want      []sojourn.Time
	}{
		{"huwf", baseline.NewHUWF, []sojourn.Time{6, 2, 7}},
		{"hjwf", baseline.NewHJWF, []sojourn.Time{4, 6, 7}},
		{"stf", baseline.NewSTF, []sojourn.Time{7, 3, 1}},
		{"htwf", baseline.NewHTWF, []sojourn.Time{4, 6, 7}},
	} {
		if got, _ := schedule(must(tc.newPolicy, baseline.ListOptions{})(), 1, jobs); !slices.Equal(got, tc.want) {
			t.Errorf("%s: jobs end at %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestListOptions(t *testing.T) {
	if _, err := baseline.NewHUWF(baseline.ListOptions{DefaultTaskTime: -1}); err == nil {
		t.Error("NewHUWF with a negative default task time = nil error")
	}
}
