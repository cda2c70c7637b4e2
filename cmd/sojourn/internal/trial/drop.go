package trial

import (
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// Dropped are the features that jobs lose where a policy does not know them.
type Dropped sojourn.Features

// The features that jobs can lose, by the names of their keys in a workload.
var droppable = []struct {
	name    string
	feature sojourn.Features
}{
	{"parallelism", sojourn.FeatureParallelism}, {"priority", sojourn.FeaturePriority}, {"release", sojourn.FeatureRelease}, {"sequence", sojourn.FeatureSequence},
}

// DropFields lists the names of what can be dropped.
func DropFields() (names []string) {
	for _, d := range droppable {
		names = append(names, d.name)
	}
	return names
}

// String returns the features in the form that Set reads.
func (d *Dropped) String() string {
	var names []string
	for _, f := range droppable {
		if sojourn.Features(*d)&f.feature != 0 {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ",")
}

// Set reads names with commas between them.
func (d *Dropped) Set(text string) error {
	*d = 0
	for name := range strings.SplitSeq(text, ",") {
		before := *d
		for _, f := range droppable {
			if f.name == name {
				*d |= Dropped(f.feature)
			}
		}
		if *d == before {
			return fmt.Errorf("%q: want %s, each once", name, format.Listed(DropFields()))
		}
	}
	return nil
}

// remedy says what helps against features that a policy lacks, "" if nothing does.
func remedy(missing sojourn.Features, spec catalog.Spec) string {
	lost := Dropped(missing)
	if drop := lost.String(); drop != "" {
		with := spec.String()
		if missing&sojourn.FeaturePriority != 0 {
			with = "priority:inner=" + with
		}
		if missing&(sojourn.FeatureRelease|sojourn.FeatureSequence) != 0 {
			with = "release:inner=" + with
		}
		if with != spec.String() {
			with += " does, and "
		} else {
			with = ""
		}
		return fmt.Sprintf(": %s--drop %s takes it away", with, drop)
	}
	return ""
}
