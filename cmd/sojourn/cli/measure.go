package cli

import (
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sim"
)

// A measure is a number that tells how well a policy did: the less the better.
type measure struct {
	group, title string
	of           func(*sim.Result) float64
}

// measureDist returns the measure of a distribution, NaN where it is empty.
func measureDist(group, title string, dist func(*sim.Result) *sim.Dist, number func(*sim.Dist) float64) measure {
	return measure{group, title, func(res *sim.Result) float64 { return known(dist(res), number) }}
}

func sojournTime(res *sim.Result) *sim.Dist { return &res.Sojourn }
func slowdown(res *sim.Result) *sim.Dist    { return &res.Slowdown }

func distMean(d *sim.Dist) float64   { return d.Mean }
func distMedian(d *sim.Dist) float64 { return d.Median }
func distP90(d *sim.Dist) float64    { return d.P90 }
func distP99(d *sim.Dist) float64    { return d.P99 }
func distMax(d *sim.Dist) float64    { return d.Max }

func makespan(res *sim.Result) float64    { return res.Makespan.Seconds() }
func beyondBound(res *sim.Result) float64 { return float64(res.Audit.BeyondBound) }

// localShare is the share of the tasks with inputs that ran on the node of theirs.
func localShare(res *sim.Result) float64 {
	local := res.Locality[sojourn.NodeLocal]
	return float64(local) / float64(local+res.Locality[sojourn.RackLocal]+res.Locality[sojourn.Remote])
}

func hotSpots(res *sim.Result) float64     { return float64(res.Transfers.HotSpots) }
func transferTime(res *sim.Result) float64 { return res.Transfers.MeanTime }

// known returns a number of a distribution, NaN if the distribution is empty.
func known(d *sim.Dist, number func(*sim.Dist) float64) float64 {
	if d.N == 0 {
		return math.NaN()
	}
	return number(d)
}
