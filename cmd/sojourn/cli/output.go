package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/sim"
)

// writeRuns runs policies in a scenario and writes their files into a folder, those of the
// i-th policy into the folder dir(i) in it. The folder is complete or stays as it was.
func writeRuns(ctx context.Context, terminal io.Writer, s *scenario, specs []catalog.Spec, to *folder, dir func(i int) string, by invocation) ([]*sim.Result, error) {
	out, err := to.create()
	if err != nil {
		return nil, err
	}
	defer out.abandon()
	results, err := runInto(ctx, terminal, s, specs, out, dir, by)
	if err != nil {
		return nil, out.failed(err)
	}
	return results, out.commit()
}

// runInto runs the policies and writes their files into folders of out.
func runInto(ctx context.Context, terminal io.Writer, s *scenario, specs []catalog.Spec, out *output, dir func(i int) string, by invocation) ([]*sim.Result, error) {
	dirs := make([]string, len(specs))
	tasks := make([]*csvFile, len(specs))
	histories := make([]*historyOutput, len(specs))
	jobs := make([]*sortedCSV, len(specs))
	for i, spec := range specs {
		dirs[i] = filepath.Join(out.temp, dir(i))
		if err := os.MkdirAll(dirs[i], 0o755); err != nil {
			return nil, err
		}
		var err error
		if tasks[i], err = createCSV(filepath.Join(dirs[i], tasksFile), tasksHeader()); err != nil {
			return nil, err
		}
		defer tasks[i].file.Close()
		if histories[i], err = createHistory(filepath.Join(dirs[i], historyFile)); err != nil {
			return nil, err
		}
		defer histories[i].file.Close()
		if jobs[i], err = newSortedCSV(dirs[i]); err != nil {
			return nil, err
		}
		defer jobs[i].spool.remove()
		histories[i].Header(policyHeader, seeded(spec, s.seed).String())
		histories[i].Header("seed", strconv.FormatUint(s.seed, 10))
	}
	results, err := s.run(ctx, terminal, specs, func(i int) runHooks {
		return runHooks{
			Hooks: sim.Hooks{
				Attempt:  func(r *sim.TaskRecord) { tasks[i].write(taskRow(s.cluster, r)) },
				Event:    histories[i].Event,
				Assigned: histories[i].Assign,
			},
			job: func(rank int, r *sim.JobRecord) { jobs[i].write(rank, jobRow(r)) },
		}
	})
	if err != nil {
		return nil, err
	}
	for i, res := range results {
		if err := cmp.Or(tasks[i].close(), histories[i].close()); err != nil {
			return nil, err
		}
		if err := jobs[i].create(filepath.Join(dirs[i], jobsFile), jobsHeader()); err != nil {
			return nil, err
		}
		if err := writeRun(filepath.Join(dirs[i], runFile), s, specs[i], res, by); err != nil {
			return nil, err
		}
	}
	return results, nil
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
	return []string{"job", "phase", "index", "attempt", "node", "slot", "start", "end", "outcome", "locality", "source"}
}

// taskRow returns the row of an attempt.
func taskRow(c *cluster, r *sim.TaskRecord) []string {
	return []string{
		strconv.FormatUint(uint64(r.Task.Job), 10),
		strconv.FormatUint(uint64(r.Task.Phase), 10),
		strconv.FormatUint(uint64(r.Task.Index), 10),
		strconv.FormatUint(uint64(r.Attempt), 10),
		c.nodeName(r.Node),
		strconv.FormatUint(uint64(r.Slot), 10),
		formatTime(r.Start),
		formatTime(r.End),
		r.Outcome.String(),
		r.Locality.String(),
		c.nodeName(r.Source),
	}
}

func jobsHeader() []string {
	return []string{
		"id", "name", "pool", "arrival", "first_start", "finish", "sojourn", "slowdown",
		"ps_finish", "late_vs_ps", "deadline", "met", "outcome",
	}
}

// jobRow returns the row of a job in jobs.csv. Cells without a value are empty: what a
// job that did not finish lacks, and deadlines where there are none.
func jobRow(r *sim.JobRecord) []string {
	var firstStart, finish, sojourn, slowdown, psFinish, late, deadline, met string
	finished := r.Outcome == sim.Finished
	if finished || r.FirstStart > 0 {
		firstStart = formatTime(r.FirstStart)
	}
	if r.PSFinish > 0 {
		psFinish = formatTime(r.PSFinish)
	}
	if finished {
		finish = formatTime(r.Finish)
		sojourn = formatSeconds(r.Sojourn())
		if r.Alone > 0 {
			slowdown = strconv.FormatFloat(r.Slowdown(), 'f', -1, 64)
		}
		late = formatSeconds(r.Finish.Sub(r.PSFinish))
	}
	if r.Deadline > 0 {
		deadline = formatTime(r.Deadline)
		met = strconv.FormatBool(finished && r.Finish <= r.Deadline)
	}
	return []string{
		strconv.FormatUint(uint64(r.ID), 10), r.Name, r.Pool, formatTime(r.Arrival), firstStart, finish, sojourn, slowdown,
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
	Cluster   clusterSummary    `json:"cluster"`
	Result    summary           `json:"result"`
}

// An invocation says how the command was called.
type invocation struct {
	version, command string
	flags            map[string]string
}

// writeRun writes run.json.
func writeRun(path string, s *scenario, spec catalog.Spec, res *sim.Result, by invocation) error {
	common := newComparison(s, nil, nil)
	run := runSummary{
		Version:   by.version,
		Command:   by.command,
		Policy:    spec.String(),
		Flags:     by.flags,
		Seed:      common.Seed,
		Estimates: common.Estimates,
		Input:     common.Workload,
		Cluster:   common.Cluster,
		Result:    newSummary(s, spec, res),
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return cmp.Or(writeJSON(file, run), file.Close())
}
