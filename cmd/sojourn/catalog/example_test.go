package catalog_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/fifo"
)

// A text names a policy and its options. An error says what is wrong with it.
func Example() {
	policies := catalog.Builtin()
	for _, text := range []string{"hfsp:node-delay=3s", "hfsp:node-delay=3", "srtp"} {
		policy, err := policies.Make(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s is a %T\n", text, policy)
	}
	// Output:
	// hfsp:node-delay=3s is a *hfsp.Policy
	// policy hfsp: option node-delay: want a duration such as 5s or 1m30s, got "3"
	// unknown policy "srtp"; known policies: default, fifo, fair, priority, release, srpt, fsp, las, local, huwf, hjwf, stf, htwf, pfsp, hfsp, td, fcfs, easy, conservative, dc, mars, rtmr; did you mean srpt?
}

// A program adds its own policy to those of the library. Its options are the exported
// fields of a struct.
func ExampleCatalog_With() {
	type options struct{ Verbose bool }
	mine := catalog.NewEntry("mine", "jobs as I like them", func(o options) (sojourn.Policy, error) {
		fmt.Printf("options %+v\n", o)
		return fifo.New(fifo.Options{})
	})
	if _, err := catalog.Builtin().With(mine).Make("mine:verbose=true"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// options {Verbose:true}
}
