// Command ownpolicy is sojourn with one more policy, fewest. A program like this
// can be in any module: it has compare, run, sweep, replay and all other
// commands.
//
//	cd cmd/sojourn && go run ./examples/ownpolicy compare --sample -p fewest,srpt,fifo
package main

import (
	"github.com/sojourn-sched/sojourn/cmd/sojourn/cli"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/examples/ownpolicy/fewest"
)

func own() cli.Policy {
	return cli.NewPolicy("fewest", "the job with the fewest unfinished tasks", fewest.New)
}

func main() { cli.Main(own()) }
