package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An edit replaces a text that stands once in a file of the library.
type edit struct{ file, old, new string }

// Rules of the default policy, and the edits that leave them out. The package comment of leastwork says what they are.
var ruleEdits = []struct {
	name  string
	edits []edit
}{
	{"none", nil},
	{"the reserve", []edit{{"leastwork/leastwork.go", "Share: 20_000", "Share: 0"}}},
	{"k is rounded up", []edit{{"leastwork/leastwork.go", "Up: true, ", ""}}},
	{"levels by told lengths", []edit{{"leastwork/work.go", "case used && doubt != useless && b.useRank:", "case used && doubt != useless && b.useRank && false:"}}},
	{"told times have to be good as a rank", []edit{{"leastwork/work.go", "doubt != useless && b.useRank:", "doubt != useless:"}}},
	{"wide jobs are known by their first task", []edit{{"leastwork/work.go", "3*u.Num < u.Den", "false && 3*u.Num < u.Den"}}},
	{"of tasks that run together, as many as run on", []edit{{"leastwork/leastwork.go", "ph.typical || ph.samples >= uint64(j.Phase(i).Running())", "true"}}},
	{"the last tasks, if nobody else waits", []edit{{"leastwork/work.go", "case p.unopposed(j, side) &&", "case false && p.unopposed(j, side) &&"}}},
	{"slots out of turn count for jobs that are due", []edit{{"leastwork/leastwork.go", ", Counted: true", ""}}},
	{"sqrt(r+1)", []edit{{"leastwork/leastwork.go", "weigh(work, side.Running(), spread, j.Weight())", "weigh(work, side.Running(), false && spread, j.Weight())"}}},
	{"p grows with the oldest task", []edit{{"leastwork/work.go", "return ph.samples == 0 && account.Running() > 0", "return false && ph.samples == 0 && account.Running() > 0"}}},
	{"what has finished corrects W", []edit{{"leastwork/work.go", "return scale(tasks, ph.took.Add(wide.From64(each)), sampled.Add(wide.From64(uint64(told))))", "_ = sampled\n\treturn scale(tasks, wide.From64(each), wide.From64(uint64(told)))"}}},
	{"finished phases correct the others", []edit{{"leastwork/leastwork.go", "j.Data.own.votes++", ""}, {"leastwork/leastwork.go", "j.Data.own.off += off", ""}}},
	{"names", []edit{{"leastwork/stats.go", "\tprefer(&b.useNames, b.off[byName], b.off[byClass])", "\tb.useNames = false"}, {"leastwork/stats.go", "min(b.off[byName], b.off[byClass])", "b.off[byClass]"}}},
	{"ratio", []edit{{"leastwork/stats.go", "b.useTold = b.useTold || b.off[byRatio]*9 < own*8", ""}, {"leastwork/stats.go", "prefer(&b.useRatio, b.off[byRatio], b.off[byTold])", ""}, {"leastwork/stats.go", "if !b.useTold || b.off[byRatio] >= own {", "{"}, {"leastwork/stats.go", "min(own, b.off[byRatio]*4/3)", "own"}}},
	{"names are judged by the first phase of each job", []edit{{"leastwork/stats.go", " && !corrected {", " {"}}},
	{"told times are used only while they are good", []edit{{"leastwork/work.go", "return b.doubt, ph.told && b.useTold", "return b.doubt, ph.told"}}},
	{"noisy, between exact and useless", []edit{{"leastwork/stats.go", "{octave / 2, octave * 8 / 5}", "{octave * 8 / 5, octave * 8 / 5}"}}},
	{"hysteresis of what is usual", []edit{{"leastwork/stats.go", "b.votes >= settling*b.settled && (mean-b.usual).abs() > octave*3/4", "true"}}},
}

// rules prints the geometric means of the cells without each rule.
func (b *bars) rules(w io.Writer) error {
	head(w, "without", "mean", "median", "p90", "slowdown, mean", "slowdown, p99")
	for _, r := range ruleEdits {
		v, err := b.without(r.edits)
		if err != nil {
			return err
		}
		if err := v.means(w, r.name); err != nil {
			return err
		}
	}
	return nil
}

// without returns bars with the command built anew, with edits.
func (b *bars) without(edits []edit) (*bars, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "edited")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, e.file)
		from := path
		if to := files[path]; to != "" {
			from = to
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		if n := strings.Count(string(text), e.old); n != 1 {
			return nil, fmt.Errorf("%q stands %d times in %s, want once", e.old, n, e.file)
		}
		files[path] = filepath.Join(dir, strings.ReplaceAll(e.file, "/", "-"))
		if err := os.WriteFile(files[path], []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o600); err != nil {
			return nil, err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		return nil, err
	}
	name, built := filepath.Join(dir, "overlay.json"), *b
	if err := os.WriteFile(name, overlay, 0o600); err != nil {
		return nil, err
	}
	built.sojourn = filepath.Join(dir, "sojourn")
	cmd := exec.Command("go", "build", "-overlay", name, "-o", built.sojourn, ".")
	cmd.Dir, cmd.Env = filepath.Join(root, "cmd/sojourn"), append(os.Environ(), "GOWORK="+filepath.Join(root, "go.work"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return &built, nil
}
