package baseline_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

var (
	fuzzFSP  = must(baseline.NewFSP, baseline.FSPOptions{Late: baseline.LateShare})
	fuzzLAS  = must(baseline.NewLAS, baseline.LASOptions{})
	fuzzSRPT = must(baseline.NewSRPT, baseline.SRPTOptions{})
	fuzzKept = must(baseline.NewSRPT, baseline.SRPTOptions{Reserve: 0.5, Counted: true})
	fuzzHTWF = must(baseline.NewHTWF, baseline.ListOptions{})
	fuzzDC   = must(baseline.NewDeadlineConstraint, baseline.DeadlineConstraintOptions{})
)

func FuzzEventsFSP(f *testing.F)  { sojourntest.FuzzEvents(f, fuzzFSP, sojourntest.Options{}) }
func FuzzEventsLAS(f *testing.F)  { sojourntest.FuzzEvents(f, fuzzLAS, sojourntest.Options{}) }
func FuzzEventsSRPT(f *testing.F) { sojourntest.FuzzEvents(f, fuzzSRPT, sojourntest.Options{}) }
func FuzzEventsReserve(f *testing.F) {
	sojourntest.FuzzEvents(f, fuzzKept, sojourntest.Options{IdlesOnPurpose: true})
}
func FuzzEventsHTWF(f *testing.F) { sojourntest.FuzzEvents(f, fuzzHTWF, sojourntest.Options{}) }
func FuzzEventsDC(f *testing.F)   { sojourntest.FuzzEvents(f, fuzzDC, deadlineOptions(false)) }

func FuzzUnmarshalFSP(f *testing.F)  { sojourntest.FuzzUnmarshal(f, fuzzFSP, sojourntest.Options{}) }
func FuzzUnmarshalLAS(f *testing.F)  { sojourntest.FuzzUnmarshal(f, fuzzLAS, sojourntest.Options{}) }
func FuzzUnmarshalSRPT(f *testing.F) { sojourntest.FuzzUnmarshal(f, fuzzSRPT, sojourntest.Options{}) }
func FuzzUnmarshalReserve(f *testing.F) {
	sojourntest.FuzzUnmarshal(f, fuzzKept, sojourntest.Options{IdlesOnPurpose: true})
}
func FuzzUnmarshalHTWF(f *testing.F) { sojourntest.FuzzUnmarshal(f, fuzzHTWF, sojourntest.Options{}) }
func FuzzUnmarshalDC(f *testing.F)   { sojourntest.FuzzUnmarshal(f, fuzzDC, deadlineOptions(false)) }
