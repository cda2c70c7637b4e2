package catalog_test

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// Each policy knows what docs/priorities.md and the root package say that it does, and no other lacks it.
func TestWhoKnowsWhat(t *testing.T) {
	rigid := []string{"fcfs", "easy", "conservative"}
	allBut := func(only string) (without []string) {
		for _, e := range catalog.Builtin() {
			if e.Name != only {
				without = append(without, e.Name)
			}
		}
		return without
	}
	var projected []string
	for _, e := range catalog.Builtin() {
		if !slices.Contains([]string{"fifo", "las", "srpt"}, e.Name) {
			projected = append(projected, e.Name)
		}
	}
	for feature, without := range map[sojourn.Features][]string{
		sojourn.FeatureAttempts:    nil,
		sojourn.FeatureNeeds:       {"mars", "td", "rtmr", "dc"},
		sojourn.FeatureHeld:        {"rtmr"},
		sojourn.FeatureProjected:   projected,
		sojourn.FeatureParallelism: nil,
		sojourn.FeatureOpen:        append([]string{"rtmr"}, rigid...),
		sojourn.FeatureSpeed:       append([]string{"rtmr", "dc"}, rigid...),
		sojourn.FeaturePriority:    allBut("priority"),
		sojourn.FeatureRelease:     allBut("release"),
		sojourn.FeatureSequence:    allBut("release"),
		sojourn.FeaturePools:       allBut("fair"),
	} {
		for _, e := range catalog.Builtin() {
			p, err := catalog.Builtin().Make(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			if knows := sojourn.Supports(p)&feature != 0; knows == slices.Contains(without, e.Name) {
				t.Errorf("%s knows %v: %v", e.Name, feature, knows)
			}
		}
	}
}
