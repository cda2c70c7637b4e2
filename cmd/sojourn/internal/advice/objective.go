package advice

import (
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/internal/detmath"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A measure is a number for each job. NaN does not count.
type measure int

const (
	sojournTime measure = iota
	slowdown
	missed // its deadline: 1 or 0
)

var measures = [...]func(*sim.JobRecord) float64{
	sojournTime: func(j *sim.JobRecord) float64 {
		if j.Outcome != sim.Finished {
			return math.NaN()
		}
		return j.Sojourn().Seconds()
	},
	slowdown: func(j *sim.JobRecord) float64 {
		if j.Outcome != sim.Finished {
			return math.NaN()
		}
		return j.Slowdown()
	},
	missed: func(j *sim.JobRecord) float64 {
		switch {
		case j.Deadline == 0:
			return math.NaN()
		case j.Outcome == sim.Finished && j.Finish <= j.Deadline:
			return 0
		}
		return 1
	},
}

// An Objective is a number of all jobs that should be small.
type Objective struct {
	Name    string
	What    string // in sentences
	measure measure
	percent int // the quantile; 0 for the mean
}

// objectives are the values of --objective; the first is the default.
var objectives = []Objective{
	{"mean", "mean sojourn time", sojournTime, 0},
	{"median", "median sojourn time", sojournTime, 50},
	{"slowdown", "mean slowdown", slowdown, 0},
	{"p90", "90th percentile of the sojourn time", sojournTime, 90},
	{"p99", "99th percentile of the sojourn time", sojournTime, 99},
	{"deadlines", "share of missed deadlines", missed, 0},
}

// ObjectiveNames returns the values of --objective.
func ObjectiveNames() (names []string) {
	for _, o := range objectives {
		names = append(names, o.Name)
	}
	return names
}

// String returns the value in the form that Set reads.
func (o *Objective) String() string { return o.Name }

// Set reads the name of an objective.
func (o *Objective) Set(text string) error {
	for _, known := range objectives {
		if known.Name == text {
			*o = known
			return nil
		}
	}
	return fmt.Errorf("want %s", format.Listed(ObjectiveNames()))
}

// Deadlines reports whether the objective is about deadlines.
func (o Objective) Deadlines() bool { return o.measure == missed }

// quarterly is the measure for comparing the quarters of the jobs by size.
func (o *Objective) quarterly() measure {
	if o.Deadlines() {
		return missed
	}
	return sojournTime
}

// effect returns the value whose differences are compared: the logarithm of a number, or
// the number itself if it is a share.
func (o *Objective) effect(value float64) float64 {
	if o.Deadlines() || math.IsNaN(value) {
		return value
	}
	if value <= 0 {
		return math.NaN() // jobs that take no time have no ratio
	}
	return detmath.Log(value)
}
