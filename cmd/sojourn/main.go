// Command sojourn compares scheduling policies on recorded and made-up workloads.
//
//	sojourn compare --sample                       five policies on a built-in workload
//	sojourn compare -w FILE -c 20x4+2 -p fifo,fair,fsp
//	sojourn advise -w FILE -c 20x4+2               which policy to use on your own workload
//	sojourn help                                   all commands
//
// Everything is in package cli, which other programs can use to add policies.
package main

import "github.com/sojourn-sched/sojourn/cmd/sojourn/cli"

func main() { cli.Main() }
