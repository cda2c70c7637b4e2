package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
)

// A sweep prints the samples of a sweep.
type sweep struct {
	vary    *vary
	samples []*sample
}

// compared returns the samples that are compared with one another: all if an
// option varies, else those of one value.
func (sw *sweep) compared() [][]*sample {
	if sw.vary.policy != "" {
		return [][]*sample{sw.samples}
	}
	size := len(sw.samples) / len(sw.vary.values)
	return slices.Collect(slices.Chunk(sw.samples, size))
}

func (sw *sweep) write(w io.Writer) error {
	s := sw.samples[0]
	t := sw.table()
	if sw.vary.what() == varyLoad {
		for class, name := range s.scenario.cluster.classes() {
			loads := make([]string, len(sw.samples))
			for i, s := range sw.samples {
				loads[i] = plusMinus(stats.Mean(s.load(class)), 2)
			}
			t.add("load", name, loads)
		}
	}
	const group = "sojourn time (s)"
	for _, m := range []measure{
		measureDist(group, "mean", sojournTime, distMean),
		measureDist(group, "median", sojournTime, distMedian),
		measureDist(group, "p90", sojournTime, distP90),
		measureDist("slowdown", "mean", slowdown, distMean),
		{"", "beyond_bound", beyondBound},
	} {
		var judged []judgement
		for _, samples := range sw.compared() {
			judged = append(judged, judge(valuesOf(samples, m.of))...)
		}
		t.add(m.group, m.title, judgedColumn(judged))
	}

	place := "column"
	if sw.vary.policy == "" {
		place = "column for that " + sw.vary.name
	}
	blocks := []string{seedsHeader(s, sw.vary.what()), t.String()}
	if text := leftOver(sw.samples); text != "" {
		blocks = append(blocks, text)
	}
	blocks = append(blocks, seedsLegend(len(s.results), place))
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

// table returns a table with a line for each value and policy.
func (sw *sweep) table() *table {
	width := len(sw.vary.name)
	for _, s := range sw.samples {
		width = max(width, len(s.value))
	}
	t := &table{corner: fmt.Sprintf("%-*s  policy", width, sw.vary.name)}
	for i, s := range sw.samples {
		value := s.value
		if i > 0 && value == sw.samples[i-1].value {
			value = ""
		}
		t.names = append(t.names, fmt.Sprintf("%-*s  %s", width, value, s.spec))
	}
	return t
}

// summary returns the sweep in JSON.
func (sw *sweep) summary() repetitionSummary {
	sum := newRepetitionSummary(sw.samples[0])
	sum.Vary = sw.vary.what()
	switch sw.vary.what() {
	case varyLoad:
		sum.Workload.Scaled = ""
	case varyError:
		sum.Estimates = ""
	}
	for _, samples := range sw.compared() {
		sum.Policies = append(sum.Policies, repeatedSummaries(samples)...)
	}
	return sum
}
