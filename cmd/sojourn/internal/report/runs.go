package report

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/recorded"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// WriteRuns runs policies in a scenario and writes their files into a folder, those of the
// i-th policy into the folder dir(i) in it. The folder is complete or stays as it was. If ctx ends, it gets the policies that have ended,
// if there are any, without a page: see [trial.Scenario.Run].
func WriteRuns(ctx context.Context, terminal io.Writer, s *trial.Scenario, specs []catalog.Spec, to *files.Folder, dir func(i int) string, by Invocation) ([]*sim.Result, error) {
	out, err := to.Create()
	if err != nil {
		return nil, err
	}
	defer out.Abandon()
	results, err := runInto(ctx, terminal, s, specs, out, dir, by)
	if stopped := (*trial.Interrupted)(nil); errors.As(err, &stopped) {
		if stopped.Done > 0 {
			err = cmp.Or(out.Failed(keep(out, dir, results)), err)
		}
		return results, err
	}
	if err != nil {
		return nil, out.Failed(err)
	}
	if err := recorded.WritePage(ctx, out.Temp); err != nil {
		return nil, out.Failed(err)
	}
	return results, out.Commit()
}

// keep moves an output to its place with the folders of the policies that have results.
func keep(out *files.Output, dir func(i int) string, results []*sim.Result) error {
	for i, res := range results {
		if res == nil {
			if err := os.RemoveAll(filepath.Join(out.Temp, dir(i))); err != nil {
				return err
			}
		}
	}
	return out.Commit()
}

// runInto runs the policies and writes their files into folders of out.
func runInto(ctx context.Context, terminal io.Writer, s *trial.Scenario, specs []catalog.Spec, out *files.Output, dir func(i int) string, by Invocation) ([]*sim.Result, error) {
	dirs := make([]string, len(specs))
	tasks := make([]*files.CSV, len(specs))
	histories := make([]*historyOutput, len(specs))
	jobs := make([]*files.SortedCSV, len(specs))
	boxes := make([]*batsim, len(specs))
	for i, spec := range specs {
		dirs[i] = filepath.Join(out.Temp, dir(i))
		if err := os.MkdirAll(dirs[i], 0o755); err != nil {
			return nil, err
		}
		var err error
		if tasks[i], err = files.CreateCSV(filepath.Join(dirs[i], files.Tasks), tasksHeader()); err != nil {
			return nil, err
		}
		defer tasks[i].File.Close()
		if histories[i], err = createHistory(filepath.Join(dirs[i], files.History)); err != nil {
			return nil, err
		}
		defer histories[i].file.Close()
		if jobs[i], err = files.NewSortedCSV(dirs[i]); err != nil {
			return nil, err
		}
		defer jobs[i].Spool.Remove()
		if by.Batsim {
			if boxes[i], err = createBatsim(dirs[i], s.Workload.Name); err != nil {
				return nil, err
			}
			defer boxes[i].File.Close()
		}
		histories[i].Header(trial.PolicyHeader, s.Made(spec).String())
		histories[i].Header("seed", strconv.FormatUint(s.Seed, 10))
	}
	results, err := s.Run(ctx, terminal, specs, func(i int) trial.RunHooks {
		return trial.RunHooks{
			Hooks: sim.Hooks{
				Attempt: func(r *sim.TaskRecord) {
					tasks[i].Write(taskRow(s.Cluster, r))
					boxes[i].attempt(r)
				},
				Event: func(ev sojourn.Event, err error) {
					histories[i].Event(ev, err)
					boxes[i].event(ev, err)
				},
				Assigned: histories[i].Assign,
			},
			Job: func(rank int, r *sim.JobRecord) {
				jobs[i].Write(rank, jobRow(r))
				boxes[i].job(r)
			},
			Ended: func(ctx context.Context) error {
				if err := cmp.Or(tasks[i].Close(), histories[i].close(), boxes[i].close()); err != nil {
					return err
				}
				return jobs[i].Create(ctx, filepath.Join(dirs[i], files.Jobs), jobsHeader())
			},
		}
	})
	for i, res := range results {
		if res != nil {
			if err := writeRun(filepath.Join(dirs[i], files.Run), s, specs[i], res, by); err != nil {
				return nil, err
			}
		}
	}
	return results, err
}

// A historyOutput is a history that is written as its run goes on. Its first
// error sticks.
type historyOutput struct {
	*history.Writer
	file *os.File
}

func createHistory(path string) (*historyOutput, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &historyOutput{history.NewWriter(file), file}, nil
}

func (h *historyOutput) close() error { return cmp.Or(h.Flush(), h.file.Close()) }

func tasksHeader() []string {
	return []string{"job", "phase", "index", "attempt", "node", "slot", "class", "start", "end", "outcome", "locality", "source"}
}

// taskRow returns the row of an attempt.
func taskRow(c *input.Cluster, r *sim.TaskRecord) []string {
	return []string{
		strconv.FormatUint(uint64(r.Task.Job), 10),
		strconv.FormatUint(uint64(r.Task.Phase), 10),
		strconv.FormatUint(uint64(r.Task.Index), 10),
		strconv.FormatUint(uint64(r.Attempt), 10),
		c.NodeName(r.Node),
		strconv.FormatUint(uint64(r.Slot), 10),
		c.ClassName(r.Class),
		format.Time(r.Start),
		format.Time(r.End),
		r.Outcome.String(),
		r.Locality.String(),
		c.NodeName(r.Source),
	}
}

func jobsHeader() []string {
	return []string{
		"id", "name", "pool", "arrival", "first_start", "finish", "sojourn", "slowdown",
		"ps_finish", "late_vs_ps", "deadline", "met", "outcome",
	}
}

// jobRow returns the row of a job in jobs.csv. Cells without a value are empty: what a
// job that did not finish lacks, lateness where there is no fluid schedule, and deadlines where there
// are none.
func jobRow(r *sim.JobRecord) []string {
	var firstStart, finish, sojourn, slowdown, psFinish, late, deadline, met string
	finished := r.Outcome == sim.Finished
	if finished || r.FirstStart > 0 {
		firstStart = format.Time(r.FirstStart)
	}
	if r.PSFinish > 0 {
		psFinish = format.Time(r.PSFinish)
	}
	if finished {
		finish = format.Time(r.Finish)
		sojourn = format.Duration(r.Sojourn())
		if r.Alone > 0 {
			slowdown = strconv.FormatFloat(r.Slowdown(), 'f', -1, 64)
		}
		if r.PSFinish > 0 {
			late = format.Duration(r.Finish.Sub(r.PSFinish))
		}
	}
	if r.Deadline > 0 {
		deadline = format.Time(r.Deadline)
		met = strconv.FormatBool(finished && r.Finish <= r.Deadline)
	}
	return []string{
		strconv.FormatUint(uint64(r.ID), 10), r.Name, r.Pool, format.Time(r.Arrival), firstStart, finish, sojourn, slowdown,
		psFinish, late, deadline, met, r.Outcome.String(),
	}
}

// A runSummary is what run.json holds: all that is needed to run it again, and
// what came out.
type runSummary struct {
	Version   string            `json:"version"`
	Command   string            `json:"command"`
	Policy    string            `json:"policy"`
	Flags     map[string]string `json:"flags"`
	Seed      uint64            `json:"seed"`
	Estimates string            `json:"estimates"`
	Input     workloadSummary   `json:"input"`
	Cluster   recorded.Cluster  `json:"cluster"`
	Result    Summary           `json:"result"`
	Schema    int               `json:"schema"`
}

// An Invocation says how the command was called.
type Invocation struct {
	Version, Command string
	Flags            map[string]string
	Batsim           bool // a file with the columns of Batsim's jobs is wanted as well
}

// writeRun writes run.json.
func writeRun(path string, s *trial.Scenario, spec catalog.Spec, res *sim.Result, by Invocation) error {
	common := (&Comparison{Scenario: s}).Summary()
	run := runSummary{
		Version:   by.Version,
		Command:   by.Command,
		Policy:    spec.String(),
		Flags:     by.Flags,
		Seed:      common.Seed,
		Estimates: common.Estimates,
		Input:     common.Workload,
		Cluster:   common.Cluster,
		Result:    newSummary(s, spec, res),
		Schema:    format.Schema,
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return cmp.Or(format.WriteJSON(file, run), file.Close())
}
