package scenario_test

import (
	"log"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/sojourntest/scenario"
)

// The test that the package of a policy has.
func ExampleRun() {
	const update = false // true writes below each story what the policy does
	newPolicy := func() sojourn.Policy {
		p, err := fifo.New(fifo.Options{})
		if err != nil {
			log.Fatal(err)
		}
		return p
	}
	TestScenarios := func(t *testing.T) { scenario.Run(t, "testdata/*.txt", newPolicy, update) }
	_ = TestScenarios
}
