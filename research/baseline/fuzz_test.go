package baseline_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

var (
	fuzzFSP   = must(baseline.NewFSP, baseline.FSPOptions{Late: vqueue.LateShare})
	fuzzLAS   = must(baseline.NewLAS, baseline.LASOptions{})
	fuzzSRPT  = must(baseline.NewSRPT, baseline.SRPTOptions{})
	fuzzKept  = must(baseline.NewSRPT, baseline.SRPTOptions{Reserve: 0.5, Counted: true})
	fuzzHTWF  = must(baseline.NewHTWF, baseline.ListOptions{})
	fuzzHUWF  = must(baseline.NewHUWF, baseline.ListOptions{})
	fuzzHJWF  = must(baseline.NewHJWF, baseline.ListOptions{})
	fuzzSTF   = must(baseline.NewSTF, baseline.ListOptions{})
	fuzzDC    = must(baseline.NewDeadlineConstraint, baseline.DeadlineConstraintOptions{})
	fuzzLocal = must(baseline.NewLocal, baseline.LocalOptions{})
)

func FuzzEventsFSP(f *testing.F)  { sojourntest.FuzzEvents(f, fuzzFSP, sojourntest.Options{}) }
func FuzzEventsLAS(f *testing.F)  { sojourntest.FuzzEvents(f, fuzzLAS, sojourntest.Options{}) }
func FuzzEventsSRPT(f *testing.F) { sojourntest.FuzzEvents(f, fuzzSRPT, sojourntest.Options{}) }
func FuzzEventsReserve(f *testing.F) {
	sojourntest.FuzzEvents(f, fuzzKept, sojourntest.Options{IdlesOnPurpose: true})
}
func FuzzEventsHTWF(f *testing.F)  { sojourntest.FuzzEvents(f, fuzzHTWF, sojourntest.Options{}) }
func FuzzEventsHUWF(f *testing.F)  { sojourntest.FuzzEvents(f, fuzzHUWF, sojourntest.Options{}) }
func FuzzEventsHJWF(f *testing.F)  { sojourntest.FuzzEvents(f, fuzzHJWF, sojourntest.Options{}) }
func FuzzEventsSTF(f *testing.F)   { sojourntest.FuzzEvents(f, fuzzSTF, sojourntest.Options{}) }
func FuzzEventsLocal(f *testing.F) { sojourntest.FuzzEvents(f, fuzzLocal, sojourntest.Options{}) }
func FuzzEventsDC(f *testing.F)    { sojourntest.FuzzEvents(f, fuzzDC, deadlineOptions(false)) }

func FuzzUnmarshalFSP(f *testing.F)  { sojourntest.FuzzUnmarshal(f, fuzzFSP, sojourntest.Options{}) }
func FuzzUnmarshalLAS(f *testing.F)  { sojourntest.FuzzUnmarshal(f, fuzzLAS, sojourntest.Options{}) }
func FuzzUnmarshalSRPT(f *testing.F) { sojourntest.FuzzUnmarshal(f, fuzzSRPT, sojourntest.Options{}) }
func FuzzUnmarshalReserve(f *testing.F) {
	sojourntest.FuzzUnmarshal(f, fuzzKept, sojourntest.Options{IdlesOnPurpose: true})
}
func FuzzUnmarshalHTWF(f *testing.F)  { sojourntest.FuzzUnmarshal(f, fuzzHTWF, sojourntest.Options{}) }
func FuzzUnmarshalHUWF(f *testing.F)  { sojourntest.FuzzUnmarshal(f, fuzzHUWF, sojourntest.Options{}) }
func FuzzUnmarshalHJWF(f *testing.F)  { sojourntest.FuzzUnmarshal(f, fuzzHJWF, sojourntest.Options{}) }
func FuzzUnmarshalSTF(f *testing.F)   { sojourntest.FuzzUnmarshal(f, fuzzSTF, sojourntest.Options{}) }
func FuzzUnmarshalLocal(f *testing.F) { sojourntest.FuzzUnmarshal(f, fuzzLocal, sojourntest.Options{}) }
func FuzzUnmarshalDC(f *testing.F)    { sojourntest.FuzzUnmarshal(f, fuzzDC, deadlineOptions(false)) }
