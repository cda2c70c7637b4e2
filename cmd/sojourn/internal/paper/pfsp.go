package paper

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// The policies of the H-PFSP paper's experiments.
const (
	hpfspFair = "fair:ties=arrival" // fewest running tasks first, as in Hadoop
)

// hpfsp returns H-PFSP with K probes a job: as printed, or with the gate that its
// promise needs.
func hpfsp(k int, printed bool) string {
	if printed {
		return fmt.Sprintf("pfsp:fair-limit=%d,no-gate=true", k)
	}
	return fmt.Sprintf("pfsp:fair-limit=%d", k)
}

// hpfspNotes say what the paper leaves open in all its figures.
var hpfspNotes = [...]string{
	"The figures are charts whose axes are not legible in the text: only shapes can be compared.",
	"K is FAIR_LIMIT: tasks that were scheduled (Algorithm 3; the text says finished), of each phase. no-gate=true is the paper's rule. The default gates these tasks: only it keeps the bound.",
	"'sojourn gen hpfsp-fig4 --options' lists what else is assumed, and likewise for the others.",
}

// hpfspMeasured returns the experiments on ten machines, Figures 2 and 3.
func hpfspMeasured() []Experiment {
	const paper = "H-PFSP (Li et al.), Section IV-A, "
	measure := trial.MeasureDist("", "mean flow time (s)", trial.SojournTime, trial.Mean)
	untold := trial.Estimates{Mode: sim.None}
	notes := append([]string{
		"Policies are told no sizes: task times are learned from finished tasks, and from finished jobs for new ones. The paper's machines are assumed to have two map and two reduce slots each.",
	}, hpfspNotes[:]...)
	rows := func(e *Experiment, name, gen string, several bool) {
		e.workloads = append(e.workloads, paperWorkload{name, gen, ""})
		for _, p := range []string{hpfspFair, hpfsp(2, true), hpfsp(5, true), hpfsp(2, false)} {
			e.rows = append(e.rows, paperRow{workload: name, policy: p})
		}
		below, above := below, above
		if !several {
			below, above = noClaim, noClaim
		}
		e.rows = append(e.rows,
			paperRow{workload: name, policy: hpfsp(2, true), over: hpfspFair, claim: below},
			paperRow{workload: name, policy: hpfsp(5, true), over: hpfspFair, claim: below},
			paperRow{workload: name, policy: hpfsp(5, true), over: hpfsp(2, true), claim: above})
	}
	fig2 := Experiment{
		Name: "hpfsp-fig2", Title: "mean flow time of WordCount jobs of one size, by their number",
		Source: paper + "Figure 2", measure: measure, estimates: untold,
		notes: append([]string{
			"With one job the paper sees no difference; with more, H-PFSP is faster, the more so the more jobs there are, and K = 5 lies between K = 2 and Fair.",
		}, notes...),
	}
	for _, n := range []int{1, 2, 5, 10, 20} {
		rows(&fig2, fmt.Sprintf("%d jobs", n), fmt.Sprintf("hpfsp-fig2:jobs=%d", n), n > 2)
	}
	fig3 := Experiment{
		Name: "hpfsp-fig3", Title: "mean flow time of five TeraSort jobs, by their size",
		Source: paper + "Figure 3", measure: measure, estimates: untold,
		notes: append([]string{
			"Panel a has jobs of one size, panel b one job of each size from 1 to 5 GB. In both H-PFSP is faster on average; in b, the largest job takes the same time as under Fair.",
		}, notes...),
	}
	for gb := 1; gb <= 5; gb++ {
		rows(&fig3, fmt.Sprintf("a %d GB", gb), fmt.Sprintf("hpfsp-fig3:panel=a,size=%d", gb), true)
	}
	rows(&fig3, "b", "hpfsp-fig3", true)
	return []Experiment{fig2, fig3}
}

// hpfspExperiments returns the experiments of the H-PFSP paper, Section IV.
func hpfspExperiments() []Experiment {
	const paper = "H-PFSP (Li et al.), Section IV-B, "
	measure := trial.MeasureDist("", "mean slowdown", trial.Slowdown, trial.Mean)
	limits := []int{1, 2, 5, 10, 20, 50, 100, 200}

	fig4 := Experiment{
		Name: "hpfsp-fig4", Title: "mean slowdown by K, sizes known", Source: paper + "Figure 4", measure: measure,
		notes: append([]string{
			"The paper says both that job sizes are exponentially distributed and that each job has 200 tasks of 10 minutes: A is the latter, B and D have exponential numbers of tasks, C exponential task times. In A and B far more work arrives than can be done in the time; D has a load of 0.9.",
			"Fair is drawn by the paper as one line: Hadoop's gives a slot to the job with the fewest running tasks; its text speaks of the largest deficit, which would be the job with the fewest started ones.",
		}, hpfspNotes[:]...),
	}
	for _, w := range []string{"A", "B", "C", "D"} {
		fig4.workloads = append(fig4.workloads, paperWorkload{w, "hpfsp-fig4:workload=" + w, ""})
		row := func(p string) { fig4.rows = append(fig4.rows, paperRow{workload: w, policy: p}) }
		for _, p := range []string{hpfspFair, "fsp", "srpt", hpfsp(0, false)} {
			row(p)
		}
		for _, k := range limits {
			row(hpfsp(k, true))
		}
		for _, k := range []int{2, 5, 20} {
			row(hpfsp(k, false))
		}
		fig4.rows = append(fig4.rows,
			paperRow{workload: w, policy: hpfsp(2, true), over: hpfspFair, claim: below},
			paperRow{workload: w, policy: hpfsp(5, true), over: hpfspFair, claim: below},
			paperRow{workload: w, policy: hpfsp(20, true), over: hpfsp(2, true), claim: above},
			paperRow{workload: w, policy: hpfsp(2, false), over: hpfsp(2, true)})
	}

	fig5 := Experiment{
		Name: "hpfsp-fig5", Title: "mean slowdown by K, sizes learned", Source: paper + "Figure 5", measure: measure,
		estimates: trial.Estimates{Mode: sim.None},
		notes: append([]string{
			"Figure 5 first falls and then rises with K. Policies are told no sizes here. Which shape comes out depends on what is assumed of a task before any has finished: 10 minutes is right on average, 1 minute and 100 minutes are not. The paper takes the mean of jobs that have finished (default-task-time=0s).",
			"F5B: Exp(200) tasks of N(10, 2.236) minutes; F5C: the mean of a job is uniform from 2 to 18 minutes.",
		}, hpfspNotes[:]...),
	}
	for _, w := range []string{"F5B", "F5C"} {
		fig5.workloads = append(fig5.workloads, paperWorkload{w, "hpfsp-fig5:workload=" + w, ""})
		row := func(p string) { fig5.rows = append(fig5.rows, paperRow{workload: w, policy: p}) }
		row(hpfspFair)
		for _, prior := range []string{"10m", "1m", "100m", "0s"} {
			with := func(k int) string { return hpfsp(k, true) + ",default-task-time=" + prior }
			for _, k := range append([]int{0}, limits...) {
				row(with(k))
			}
			dip := paperRow{workload: w, policy: with(2), over: with(0), claim: below,
				reason: "What was thought too large costs little: the first tasks that finish correct it."}
			if prior == "10m" && w == "F5B" || prior == "0s" {
				dip.claim = noClaim
			}
			fig5.rows = append(fig5.rows, dip,
				paperRow{workload: w, policy: with(20), over: with(2), claim: above})
		}
	}
	return append(hpfspMeasured(), fig4, fig5)
}
