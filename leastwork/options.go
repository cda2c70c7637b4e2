package leastwork

import (
	"cmp"

	"github.com/sojourn-sched/sojourn/internal/option"
)

// Options configure a [Policy]. The zero value is the default. A snapshot may be restored under others (TestAgainstTheRule, TestGangs).
type Options struct {
	// Patience is for how many times its work over its weight a job lets jobs pass that come later and have no work at
	// all. Less bounds what long jobs wait in a flood of short ones, and costs short jobs more: at 1 the order is nearly
	// that of arrival. The page docs/default.md, "Floods", has a table. From 1 to 4096; 0 means 512.
	Patience int

	// Gangs says that tasks are gangs of package gang. Then no slots are reserved, a job of whose length nothing good is told
	// lets jobs pass for 6 times its work at most, and [Policy.Turn] says whose turn it is. See "Gangs" in the comment of the package.
	Gangs bool
}

// patience is what Patience means if it is 0.
const patience = 512

// guessed is the most that Patience is for gangs whose lengths are guessed.
const guessed = 6

// maxPatience keeps due dates below 2^128.
const maxPatience = 4096

func (o Options) patience() uint64 { return uint64(cmp.Or(o.Patience, patience)) }

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o Options) Validate() error {
	return option.First("leastwork", option.Range("Patience", o.Patience, 0, maxPatience))
}
