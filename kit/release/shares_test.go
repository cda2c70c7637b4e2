package release_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/kit/release"
)

// What pools are entitled to can be asked through the wrapper, if the policy inside says it.
func TestShares(t *testing.T) {
	p, err := fair.New(fair.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := sojourn.As[sojourn.Sharer](release.New(p)); !ok {
		t.Error("release around fair is no Sharer")
	}
}
