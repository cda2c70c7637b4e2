package cli_test

import (
	"io"
	"os"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/cli"
	"github.com/sojourn-sched/sojourn/fifo"
)

// options are those of a policy from outside the library.
type options struct {
	Verbose bool `doc:"say more"`
}

// newMine stands for the constructor of that policy.
func newMine(options) (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }

// A main of a few lines has its own policy in every command. Here Main gets arguments of
// its own instead of those of the process.
func Example() {
	mine := cli.NewPolicy("mine", "jobs as I like them", newMine)

	cli.Run([]string{"run", "--sample", "-p", "mine:verbose=true", "--quiet", "--json"}, os.Stdin, io.Discard, os.Stdout, mine)
	cli.Run([]string{"run", "--sample", "-p", "mine:loud=true"}, os.Stdin, os.Stdout, os.Stdout, mine)
	cli.Run([]string{"policies", "mine"}, os.Stdin, os.Stdout, os.Stdout, mine)
	// Output:
	// sojourn: policy mine has no option "loud"; known options: verbose
	// Run 'sojourn run --help' for usage.
	// mine: jobs as I like them.
	// More: go doc github.com/sojourn-sched/sojourn/cmd/sojourn/cli_test
	// Options, as in mine:verbose=...
	//
	// verbose=TRUE|FALSE
	//     say more
}
