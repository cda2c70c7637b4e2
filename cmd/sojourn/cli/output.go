package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The files of a run.
const (
	jobsFile    = "jobs.csv"
	tasksFile   = "tasks.csv"
	historyFile = "history.txt"
	runFile     = "run.json"
	planFile    = "plan.json"
)

// outputFiles are all of them.
var outputFiles = []string{jobsFile, tasksFile, historyFile, runFile, planFile}

// outputFlags name the folder that files go to.
type outputFlags struct {
	dir   string
	force bool
}

func (f *outputFlags) register(flags *pflag.FlagSet) {
	flags.StringVarP(&f.dir, "output", "o", "", "write jobs.csv, tasks.csv, history.txt and run.json into the folder `DIR`, which must be empty or absent")
	flags.BoolVar(&f.force, "force", false, "let -o replace what an earlier run wrote")
}

// check returns an error if the folder is in use: if it holds anything, or with
// --force, anything that no run wrote.
func (f *outputFlags) check() error {
	if f.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !f.force {
			return fmt.Errorf("folder %s is not empty; --force replaces what an earlier run wrote there", f.dir)
		}
		if foreign := foreignEntry(f.dir, e); foreign != "" {
			return fmt.Errorf("folder %s holds %s, which no run of sojourn wrote; choose another folder", f.dir, foreign)
		}
	}
	return nil
}

// foreignEntry returns the path within dir of what is not the work of a run: e itself,
// or something in it; "" if all of it is.
func foreignEntry(dir string, e fs.DirEntry) string {
	if !e.IsDir() {
		if e.Type().IsRegular() && slices.Contains(outputFiles, e.Name()) {
			return ""
		}
		return e.Name()
	}
	entries, err := os.ReadDir(filepath.Join(dir, e.Name()))
	if err != nil {
		return e.Name()
	}
	if !slices.ContainsFunc(entries, func(in fs.DirEntry) bool { return in.Name() == runFile }) {
		return e.Name()
	}
	for _, in := range entries { // a run of one policy makes no folders
		if in.IsDir() || foreignEntry("", in) != "" {
			return filepath.Join(e.Name(), in.Name())
		}
	}
	return ""
}

// An output is a folder in the making. It is written beside its place under
// another name, so that what is in its place is always complete.
type output struct {
	flags *outputFlags
	dir   string // its place
	temp  string // where it is until commit, "" after that
}

// create starts an output.
func (f *outputFlags) create() (*output, error) {
	dir, err := filepath.Abs(f.dir) // "." has to be renamed by its name
	if err != nil {
		return nil, err
	}
	parent, base := filepath.Dir(dir), filepath.Base(dir)
	if parent == dir {
		return nil, usagef("-o %s: a file system cannot be replaced", f.dir)
	}
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(parent, "."+base+"-*")
	if err != nil {
		return nil, fmt.Errorf("-o %s: %w", f.dir, cause(err))
	}
	return &output{f, dir, temp}, os.Chmod(temp, 0o755)
}

// commit moves the output to its place, unless that has come into use meanwhile.
func (o *output) commit() error {
	if err := o.flags.check(); err != nil {
		return err
	}
	old := o.temp + "-old"
	err := os.Rename(o.dir, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(o.temp, o.dir); err != nil {
		return errors.Join(err, os.Rename(old, o.dir))
	}
	o.temp = ""
	return os.RemoveAll(old)
}

// failed returns an error of writing the output: what is wrong, with the place where
// the file would have come to lie.
func (o *output) failed(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		if rest, within := strings.CutPrefix(path.Path, o.temp); within {
			return fmt.Errorf("%s: %w", filepath.Join(o.flags.dir, rest), path.Err)
		}
	}
	return err
}

// cause returns what is wrong without the path that it is wrong with.
func cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// abandon removes the output unless it is in its place.
func (o *output) abandon() {
	if o.temp != "" {
		os.RemoveAll(o.temp)
	}
}

// runInto runs the policies and writes their files into folders of out.
func (s *scenario) runInto(ctx context.Context, out *output, cmd *cobra.Command, specs []catalog.Spec, dir func(int, catalog.Spec) string) ([]*sim.Result, error) {
	dirs := make([]string, len(specs))
	tasks := make([]*csvFile, len(specs))
	histories := make([]*historyOutput, len(specs))
	jobs := make([]*sortedCSV, len(specs))
	for i, spec := range specs {
		dirs[i] = filepath.Join(out.temp, dir(i, spec))
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
	results, err := s.run(ctx, cmd.ErrOrStderr(), specs, func(i int) runHooks {
		return runHooks{
			Hooks: sim.Hooks{
				Attempt:  func(r *sim.TaskRecord) { tasks[i].write(s.taskRow(r)) },
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
		if err := s.writeRun(filepath.Join(dirs[i], runFile), cmd, specs[i], res); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// A csvFile is a CSV file that is written row by row. Its first error sticks.
type csvFile struct {
	file *os.File
	buf  *bufio.Writer
	csv  *csv.Writer
}

func createCSV(path string, header []string) (*csvFile, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	buf := bufio.NewWriterSize(file, 1<<16)
	f := &csvFile{file, buf, csv.NewWriter(buf)}
	f.write(header)
	return f, nil
}

func (f *csvFile) write(row []string) { f.csv.Write(row) }

func (f *csvFile) close() error {
	f.csv.Flush()
	return cmp.Or(f.csv.Error(), f.buf.Flush(), f.file.Close())
}

// A sortedCSV takes the rows of a CSV file in any order, each with its rank from 0. They
// lie in a temporary file; of each 8 bytes are in memory.
type sortedCSV struct {
	spool   *spool
	out     *bufio.Writer
	row     bytes.Buffer
	csv     *csv.Writer // to row
	size    int64
	offsets []int64 // by rank: where a row lies, after its length
}

func newSortedCSV(dir string) (*sortedCSV, error) {
	spool, err := newSpool(dir)
	if err != nil {
		return nil, err
	}
	f := &sortedCSV{spool: spool, out: bufio.NewWriterSize(spool, 1<<16)}
	f.csv = csv.NewWriter(&f.row)
	return f, nil
}

// write takes a row. An error sticks.
func (f *sortedCSV) write(rank int, row []string) {
	f.row.Reset()
	f.csv.Write(row)
	f.csv.Flush()
	f.out.Write(binary.LittleEndian.AppendUint32(nil, uint32(f.row.Len())))
	f.out.Write(f.row.Bytes())
	for len(f.offsets) <= rank {
		f.offsets = append(f.offsets, -1)
	}
	f.offsets[rank] = f.size
	f.size += 4 + int64(f.row.Len())
}

// create writes the file.
func (f *sortedCSV) create(path string, header []string) error {
	if err := f.out.Flush(); err != nil {
		return err
	}
	to, err := createCSV(path, header)
	if err != nil {
		return err
	}
	defer to.file.Close()
	to.csv.Flush()
	buf := make([]byte, 1<<12)
	window, start := buf[:0], int64(0) // what was read last, as rows are nearly in order
	for _, at := range f.offsets {
		if at < 0 {
			continue
		}
		n := 4
		for range 2 { // the length, and then the row
			if at < start || at+int64(n) > start+int64(len(window)) {
				if buf = buf[:cap(buf)]; len(buf) < n {
					buf = make([]byte, n)
				}
				got, err := f.spool.ReadAt(buf, at)
				if window, start = buf[:got], at; got < n {
					return fmt.Errorf("a temporary file: %w", cause(err))
				}
			}
			n = 4 + int(binary.LittleEndian.Uint32(window[at-start:]))
		}
		to.buf.Write(window[at-start+4 : at-start+int64(n)])
	}
	return to.close()
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

// replaceFile writes a file under another name beside its place, so that what is in its
// place is always complete. What is there but is no regular file is written to.
func replaceFile(name string, write func(io.Writer) error) (err error) {
	var file *os.File
	if info, missing := os.Lstat(name); missing == nil && !info.Mode().IsRegular() {
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	} else {
		file, err = os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	beside := file.Name() != name
	out := bufio.NewWriter(file)
	err = cmp.Or(write(out), out.Flush())
	if beside {
		err = cmp.Or(err, file.Chmod(0o644))
	}
	err = cmp.Or(err, file.Close())
	if beside && err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		if beside {
			os.Remove(file.Name())
		}
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	return nil
}

func tasksHeader() []string {
	return []string{"job", "phase", "index", "attempt", "node", "slot", "start", "end", "outcome", "locality", "source"}
}

// taskRow returns the row of an attempt.
func (s *scenario) taskRow(r *sim.TaskRecord) []string {
	return []string{
		strconv.FormatUint(uint64(r.Task.Job), 10),
		strconv.FormatUint(uint64(r.Task.Phase), 10),
		strconv.FormatUint(uint64(r.Task.Index), 10),
		strconv.FormatUint(uint64(r.Attempt), 10),
		s.cluster.nodeName(r.Node),
		strconv.FormatUint(uint64(r.Slot), 10),
		formatTime(r.Start),
		formatTime(r.End),
		r.Outcome.String(),
		r.Locality.String(),
		s.cluster.nodeName(r.Source),
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

// writeRun writes run.json. Flags that say only where results go are left out,
// so that the same run makes the same file anywhere.
func (s *scenario) writeRun(path string, cmd *cobra.Command, spec catalog.Spec, res *sim.Result) error {
	common := comparison(s, nil, nil)
	run := runSummary{
		Version:   version(),
		Command:   cmd.Name(),
		Policy:    spec.String(),
		Flags:     map[string]string{},
		Seed:      common.Seed,
		Estimates: common.Estimates,
		Input:     common.Workload,
		Cluster:   common.Cluster,
		Result:    newSummary(s, spec, res),
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "output", "force", "json", "quiet":
		default:
			run.Flags[f.Name] = f.Value.String()
		}
	})
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return cmp.Or(writeJSON(file, run), file.Close())
}
