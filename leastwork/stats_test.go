package leastwork

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// What is used follows from how far the four predictions were off, by the rules of the package comment, in worlds in which told times, names, and told
// times corrected by names are good in turns.
func TestWhatIsUsedFollowsFromErrors(t *testing.T) {
	seen := map[[2]bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		var b stats
		b.reset()
		want := map[string]bool{"told": true, "rank": true, "ratio": false, "names": true}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		names := rapid.IntRange(1, 12).Draw(t, "names")
		usual, ratio := make([]float64, names), make([]float64, names)
		sd := func(label string) float64 { return rapid.SampledFrom([]float64{0, .2, 1, 3}).Draw(t, label) }
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			between, within, off, noise := sd("names differ"), sd("tasks of a name differ"), sd("ratios differ"), sd("told times are off")
			for i := range names {
				usual[i], ratio[i] = 34+between*r.NormFloat64(), off*r.NormFloat64()
			}
			for range 100 {
				i := r.IntN(names)
				took := time.Duration(math.Exp2(usual[i] + within*r.NormFloat64()))
				told := time.Duration(math.Exp2(math.Log2(float64(took)) - ratio[i] + noise*r.NormFloat64()))
				b.vote(took, told, fmt.Sprint(i), r.IntN(4) == 0)

				told64, ratio64, name64, class64 := float64(b.off[byTold]), float64(b.off[byRatio]), float64(b.off[byName]), float64(b.off[byClass])
				better := func(x, y float64) bool { return x*9 < y*8 } // by an eighth
				own := min(name64, class64)
				if want["told"] {
					want["told"] = !better(own, told64) || ratio64 < own
				} else {
					want["told"] = better(told64, own) || better(ratio64, own)
				}
				keep := func(what string, x, y float64) {
					if want[what] && better(y, x) || !want[what] && better(x, y) {
						want[what] = !want[what]
					}
				}
				keep("rank", told64, min(own, math.Floor(ratio64*4/3)))
				keep("ratio", ratio64, told64)
				keep("names", name64, class64)
				got := map[string]bool{"told": b.useTold, "rank": b.useRank, "ratio": b.useRatio, "names": b.useNames}
				if !maps.Equal(got, want) {
					t.Fatalf("after %d votes, errors %v: %v, want %v", b.votes, b.off, got, want)
				}
				seen[[2]bool{b.useTold, b.useRank}]++
			}
		}
	})
	for _, state := range [][2]bool{{true, true}, {true, false}, {false, false}} {
		if seen[state] < 100 {
			t.Errorf("told times were used, and their ranks, as %v after %d votes, want at least 100", state, seen[state])
		}
	}
}

// Names are judged by the first phase of each job to finish. The estimates of each job are wrong by a factor of its own, which tells nothing of
// others under its name: what its last phases would say for the name is what they say of the job.
func TestNamesAreJudgedByTheFirstPhaseOfAJob(t *testing.T) {
	for _, phases := range []int{2, 10} {
		p, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		observe := func(ev sojourn.Event) {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		slot := sojourn.Slot{ID: 1}
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
		for id := range sojourn.JobID(100) {
			const told = time.Minute
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id + 1, Name: "query", Phases: slices.Repeat([]sojourn.Phase{{Tasks: 1, Estimate: told}}, phases)}})
			took := []time.Duration{told / 8, told * 8}[id%2]
			for range phases {
				a, ok := p.Assign(slot.ID)
				if !ok {
					t.Fatal("no task starts")
				}
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: slot, Service: took})
			}
			if b := p.stats.of(0); b.useRatio || b.off[byRatio] < b.off[byTold] {
				t.Fatalf("after %d jobs of %d phases, estimates that names correct are off by %v, others by %v, and are used: %v", id+1, phases, b.off[byRatio], b.off[byTold], b.useRatio)
			}
		}
	}
}

// The first task of a job may take the last free slot, and its others leave the reserve, where told times are used and do not say which phases
// are long. Where they do, jobs that are told to be short leave less.
func TestLevelsRestOnGoodRanks(t *testing.T) {
	for _, useRank := range []bool{false, true} {
		p, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.stats.of(0).useRank = useRank
		for id := range sojourn.SlotID(100) {
			if err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}}); err != nil {
				t.Fatal(err)
			}
		}
		for id := range sojourn.JobID(4) {
			if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id + 1, Phases: []sojourn.Phase{{Tasks: 2, Estimate: time.Second << (2 * id)}}}}); err != nil {
				t.Fatal(err)
			}
		}
		first, last := p.queue.Ledger.Job(1), p.queue.Ledger.Job(4)
		level := func() [2]int { return [2]int{p.level(first, first.Side(0)), p.level(last, last.Side(0))} }
		want := [2]int{0, 0}
		if useRank {
			want = [2]int{0, 7}
		}
		if got := level(); got != want {
			t.Errorf("ranks used %v: levels %v, want %v", useRank, got, want)
		}
		if _, ok := p.Assign(0); !ok {
			t.Fatal("no task starts")
		}
		if got := level(); !useRank && got != [2]int{reserve.LevelUnknown(1), 0} || useRank && got[0] > 1 {
			t.Errorf("ranks used %v: levels %v with one task of the first job", useRank, got)
		}
	}
}
