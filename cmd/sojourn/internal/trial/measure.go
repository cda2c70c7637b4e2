package trial

import (
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Measure is a number that tells how well a policy did: the less the better.
type Measure struct {
	Group, Title string
	Of           func(*sim.Result) float64
}

// MeasureDist returns the measure of a distribution, NaN where it is empty.
func MeasureDist(group, title string, dist func(*sim.Result) *sim.Dist, number func(*sim.Dist) float64) Measure {
	return Measure{group, title, func(res *sim.Result) float64 { return Known(dist(res), number) }}
}

func SojournTime(res *sim.Result) *sim.Dist { return &res.Sojourn }
func Slowdown(res *sim.Result) *sim.Dist    { return &res.Slowdown }

func Mean(d *sim.Dist) float64   { return d.Mean }
func Median(d *sim.Dist) float64 { return d.Median }
func P90(d *sim.Dist) float64    { return d.P90 }
func P99(d *sim.Dist) float64    { return d.P99 }
func Max(d *sim.Dist) float64    { return d.Max }

func Makespan(res *sim.Result) float64    { return res.Makespan.Seconds() }
func BeyondBound(res *sim.Result) float64 { return float64(res.Audit.BeyondBound) }

// LocalShare is the share of the tasks with inputs that ran on the node of theirs.
func LocalShare(res *sim.Result) float64 {
	local := res.Locality[sojourn.NodeLocal]
	return float64(local) / float64(local+res.Locality[sojourn.RackLocal]+res.Locality[sojourn.Remote])
}

func HotSpots(res *sim.Result) float64     { return float64(res.Transfers.HotSpots) }
func TransferTime(res *sim.Result) float64 { return res.Transfers.MeanTime }

// Known returns a number of a distribution, NaN if the distribution is empty.
func Known(d *sim.Dist, number func(*sim.Dist) float64) float64 {
	if d.N == 0 {
		return math.NaN()
	}
	return number(d)
}
