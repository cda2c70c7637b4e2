// Package pools reads a pools file, which describes the pools of policy fair:
//
//	{"order": "running",
//	 "preemption": {"min-timeout": 60, "fair-timeout": 300, "limit": 5},
//	 "pools": [
//	  {"name": "etl", "weight": 3, "min": {"map": 10, "reduce": 2}, "max": {"map": 40}},
//	  {"name": "daily", "parent": "etl", "policy": "fifo"},
//	  {"name": "users/*", "max-jobs": 2, "policy": "fair"}]}
//
// Tier: kit.
//
// All keys but the name of a pool may be left out:
//
//	order       "service" or "running", as in fair.Options
//	ties        "least-service", "round-robin", "least-work" or "arrival", as in fair.Options
//	strict      true: jobs of pools that the file does not describe are refused
//	cost        by class, the part of each resource of the cluster that a slot takes, such as
//	            {"map": {"cpu": 0.001}, "reduce": {"cpu": 0.002, "memory": 0.004}}; pools
//	            and jobs then have equal dominant shares (DRF) instead of equally many slots
//	preemption  min-timeout, fair-timeout and interval in seconds, limit, and
//	            report-only, as in fair.Preemption
//	name        the pool's path, such as "etl/daily"; "*" as an element is any pool
//	            of that place that the file does not name
//	parent      the name of another pool of the file, below whose path the pool is
//	weight      at least 2^-16 and below 2^32; 1 by default
//	min, max    slots by class: "map", "reduce" or a number from 0 to 255; on uniform
//	            slots "map" is the only class
//	max-jobs    how many jobs may run tasks at a time, at least 1
//	policy      "fair", which is the default, "fifo", or any other policy of the
//	            command line with its options, such as "fsp" or "las"
//
// Unknown and duplicate keys and names are errors.
//
// # In a program
//
// [Read] returns the options of policy fair. It asks the program for the policies that
// pools name; package catalog makes those of the library:
//
//	opts, err := pools.Read(file, "pools.json", catalog.Builtin().Constructor)
//	...
//	policy, err := fair.New(opts)
//
// Errors in the file name the place, as in pools.json:3:12.
package pools

import (
	_ "embed"
	"strings"
)

//go:embed doc.go
var source string

// Format returns a description of pools files: the comment of this package, without the
// section for programs.
func Format() string {
	comment, _, _ := strings.Cut(source, "//\n// # In a program\n")
	var b strings.Builder
	for line := range strings.Lines(comment) {
		b.WriteString(strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(line, "//"), " "), "\t", "    "))
	}
	return "A pools" + strings.TrimPrefix(b.String(), "Package pools reads a pools")
}
