package baseline_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func TestConformance(t *testing.T) {
	list := []struct {
		name      string
		newPolicy func() sojourn.Policy
		changed   []func() sojourn.Policy
		idles     bool
	}{
		{"srpt", must(baseline.NewSRPT, baseline.SRPTOptions{}), []func() sojourn.Policy{
			must(baseline.NewSRPT, baseline.SRPTOptions{DefaultTaskTime: time.Second}),
		}, false},
		{"srpt with a reserve", must(baseline.NewSRPT, baseline.SRPTOptions{Reserve: 0.5}), []func() sojourn.Policy{
			must(baseline.NewSRPT, baseline.SRPTOptions{Reserve: 0.3, DefaultTaskTime: time.Second}),
		}, true},
		{"srpt with a counted reserve", must(baseline.NewSRPT, baseline.SRPTOptions{Reserve: 0.5, Counted: true}), []func() sojourn.Policy{
			must(baseline.NewSRPT, baseline.SRPTOptions{Reserve: 1, Counted: true}),
		}, true},
		{"fsp with a reserve", must(baseline.NewFSP, baseline.FSPOptions{Reserve: 0.5}), []func() sojourn.Policy{
			must(baseline.NewFSP, baseline.FSPOptions{Reserve: 0.1}),
		}, true},
		{"fsp with a counted reserve, late sharing", must(baseline.NewFSP, baseline.FSPOptions{Reserve: 0.5, Counted: true, Late: vqueue.LateShare}), []func() sojourn.Policy{
			must(baseline.NewFSP, baseline.FSPOptions{Reserve: 1, Counted: true, Late: vqueue.LateShare}),
		}, true},
		{"las with a reserve", must(baseline.NewLAS, baseline.LASOptions{Reserve: 0.5}), []func() sojourn.Policy{
			must(baseline.NewLAS, baseline.LASOptions{Reserve: 0.1}),
		}, true},
		{"fsp", must(baseline.NewFSP, baseline.FSPOptions{}), nil, false},
		{"fsp with late sharing", must(baseline.NewFSP, baseline.FSPOptions{Late: vqueue.LateShare}), nil, false},
		{"las", must(baseline.NewLAS, baseline.LASOptions{}), nil, false},
		{"huwf", must(baseline.NewHUWF, baseline.ListOptions{}), []func() sojourn.Policy{must(baseline.NewHUWF, baseline.ListOptions{DefaultTaskTime: time.Second})}, false},
		{"hjwf", must(baseline.NewHJWF, baseline.ListOptions{}), []func() sojourn.Policy{must(baseline.NewHJWF, baseline.ListOptions{DefaultTaskTime: time.Second})}, false},
		{"stf", must(baseline.NewSTF, baseline.ListOptions{}), []func() sojourn.Policy{must(baseline.NewSTF, baseline.ListOptions{DefaultTaskTime: time.Second})}, false},
		{"htwf", must(baseline.NewHTWF, baseline.ListOptions{}), []func() sojourn.Policy{must(baseline.NewHTWF, baseline.ListOptions{DefaultTaskTime: time.Second})}, false},
		{"local", must(baseline.NewLocal, baseline.LocalOptions{}), nil, false},
	}
	// The others round: times, or the virtual time.
	const task = time.Minute // the default
	scaled := map[string]func(by int) sojourn.Policy{
		"srpt": func(by int) sojourn.Policy {
			return must(baseline.NewSRPT, baseline.SRPTOptions{DefaultTaskTime: time.Duration(by) * task})()
		},
		"las": func(int) sojourn.Policy { return must(baseline.NewLAS, baseline.LASOptions{})() },
		"huwf": func(by int) sojourn.Policy {
			return must(baseline.NewHUWF, baseline.ListOptions{DefaultTaskTime: time.Duration(by) * task})()
		},
		"stf": func(by int) sojourn.Policy {
			return must(baseline.NewSTF, baseline.ListOptions{DefaultTaskTime: time.Duration(by) * task})()
		},
		"local": func(int) sojourn.Policy { return must(baseline.NewLocal, baseline.LocalOptions{})() },
	}
	for i, tc := range list {
		// No policy is restored from a snapshot of another one, or under other
		// options.
		others := []func() sojourn.Policy{must(baseline.NewFSP, baseline.FSPOptions{DefaultTaskTime: time.Second})}
		for k := range list {
			if k != i {
				others = append(others, list[k].newPolicy)
			}
		}
		t.Run(tc.name, func(t *testing.T) {
			share := 6
			switch tc.name {
			case "hjwf", "stf", "htwf": // they are huwf with another weight
				share = 18
			}
			histories.Share(t, share)
			sojourntest.Run(t, tc.newPolicy, sojourntest.Options{Others: others, Changed: tc.changed, IdlesOnPurpose: tc.idles, Scaled: scaled[tc.name]})
		})
	}
}

func TestDeadlineConstraintConformance(t *testing.T) {
	for name, hold := range map[string]bool{"dc": false, "dc with held slots": true} {
		t.Run(name, func(t *testing.T) {
			histories.Share(t, 4)
			sojourntest.Run(t, must(baseline.NewDeadlineConstraint, baseline.DeadlineConstraintOptions{HoldSlots: hold}), deadlineOptions(hold))
		})
	}
}

// deadlineOptions says what Deadline Constraint does not promise. With HoldSlots,
// reduces may start whenever the job allows.
func deadlineOptions(hold bool) sojourntest.Options {
	return sojourntest.Options{
		IdlesOnPurpose: true, Rejects: true, NeedsEstimates: true, MaxPhases: 2,
		Classes: []sojourn.Class{sojourn.MapClass, sojourn.ReduceClass},
		Supports: func(j *sojourn.Job) bool {
			return len(j.Phases) == 1 || j.Phases[0].Class == sojourn.MapClass && j.Phases[1].Class == sojourn.ReduceClass &&
				(hold || j.Threshold(1) == j.Phases[0].Tasks)
		},
	}
}
