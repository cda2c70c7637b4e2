package recorded

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// A run is what the folder of a run says.
type run struct {
	dir  string
	info runInfo

	jobs []job // in the order of the workload
	byID map[string][]int

	boxes   sampler
	slots   map[int]string    // names of the slots that ran something
	busy    *meter            // slots that ran something
	classes map[string]*meter // the same, by class
	live    *meter            // jobs in the system
}

// A runInfo has the fields of run.json and plan.json that pages use.
type runInfo struct {
	Version string            `json:"version"`
	Command string            `json:"command"`
	Policy  string            `json:"policy"`
	Flags   map[string]string `json:"flags"`
	Seed    uint64            `json:"seed"`
	Told    string            `json:"estimates"`
	Input   Workload          `json:"input"`
	Cluster Cluster           `json:"cluster"`
	Result  *result           `json:"result"`
}

// A Workload says in JSON what was run.
type Workload struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256,omitempty"` // none if made by a generator
	Scaled string `json:"scaled,omitempty"`
	Jobs   int    `json:"jobs"`
	Tasks  int    `json:"tasks"`
}

// A Cluster says in JSON on what.
type Cluster struct {
	Name  string         `json:"name"`
	Nodes int            `json:"nodes"`
	Slots map[string]int `json:"slots"`
}

// classes returns the classes that have slots, those with the most first.
func (c *Cluster) classes() []string {
	var list []string
	for class, n := range c.Slots {
		if n > 0 {
			list = append(list, class)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(c.Slots[b], c.Slots[a]), cmp.Compare(a, b)) })
	return list
}

// total returns the number of slots.
func (c *Cluster) total() int {
	n := 0
	for _, k := range c.Slots {
		n += k
	}
	return n
}

type result struct {
	Finished    int                 `json:"finished"`
	BeyondBound int                 `json:"beyond_bound"`
	Phases      int                 `json:"phases"`
	Makespan    float64             `json:"makespan"`
	Utilisation map[string]*float64 `json:"utilisation"`
	Attempts    int                 `json:"attempts"`
	Unfinished  int                 `json:"unfinished"`
	Late        struct {
		Jobs int     `json:"jobs"`
		Max  float64 `json:"max"`
	} `json:"late_vs_ps"`
}

// A job is a row of jobs.csv, and what it used. Times are in seconds; what it has none of is NaN.
type job struct {
	id, name, pool                         string
	arrival, start, finish, slowdown, late float64
	work                                   float64 // slot-seconds of all its attempts
}

func (j *job) sojourn() float64 { return j.finish - j.arrival }

// readRun reads the folder of a run.
func readRun(dir string) (*run, error) {
	r := &run{dir: dir, byID: map[string][]int{}, slots: map[int]string{}}
	if err := readJSON(filepath.Join(dir, files.Run), &r.info); err != nil {
		return nil, err
	}
	if r.info.Policy == "" || r.info.Result == nil || r.info.Input.Jobs == 0 || r.info.Cluster.total() == 0 {
		return nil, r.foreign(files.Run, "it does not name a policy, a workload, a cluster and a result")
	}
	if err := r.readJobs(); err != nil {
		return nil, err
	}
	if len(r.jobs) != r.info.Input.Jobs {
		return nil, fmt.Errorf("%s: %s, but the run has %s: the folder is not complete", filepath.Join(dir, files.Jobs),
			format.Count(len(r.jobs), "job"), format.Thousands(r.info.Input.Jobs))
	}
	n, err := r.readTasks()
	if err != nil {
		return nil, err
	}
	// What runs for ever, as a reduce that has the slot of the maps that it waits for, has no end and no row.
	if lost := r.info.Result.Attempts - n; lost < 0 || lost > r.info.Cluster.total() || lost > 0 && r.info.Result.Unfinished == 0 {
		return nil, fmt.Errorf("%s: %s, but the run has %s: the folder is not complete", filepath.Join(dir, files.Tasks),
			format.Count(n, "attempt"), format.Thousands(r.info.Result.Attempts))
	}
	return r, nil
}

// foreign returns the error of a file that has not the form that this version writes.
func (r *run) foreign(name, what string) error {
	by := ""
	if r.info.Version != "" {
		by = fmt.Sprintf(" (sojourn %s wrote it)", r.info.Version)
	}
	return fmt.Errorf("%s%s: this version of sojourn cannot read it: %s", filepath.Join(r.dir, name), by, what)
}

// readJSON reads one JSON value, which must be all that a file holds.
func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return plain(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("%s: byte %d: %w; is the file complete?", path, syntax.Offset, err)
		}
		return fmt.Errorf("%s: this version of sojourn cannot read it: %w", path, err)
	}
	return nil
}

// plain returns an error of a file without the name of a system call.
func plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}

// rows calls row for each row of a CSV file of the run, with its cells in the order of columns.
func (r *run) rows(name string, columns []string, row func(cells []string) error) error {
	path := filepath.Join(r.dir, name)
	file, err := os.Open(path)
	if err != nil {
		return plain(err)
	}
	defer file.Close()
	in := csv.NewReader(bufio.NewReaderSize(file, 1<<18))
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		return fmt.Errorf("%s: no header; the folder is not complete", path)
	}
	place := map[string]int{}
	for i, name := range header {
		place[name] = i
	}
	at := make([]int, len(columns))
	for i, c := range columns {
		k, ok := place[c]
		if !ok {
			return r.foreign(name, fmt.Sprintf("there is no column %s", c))
		}
		at[i] = k
	}
	cells := make([]string, len(columns))
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w; is the file complete?", path, err)
		}
		for i, k := range at {
			cells[i] = record[k]
		}
		if err := row(cells); err != nil {
			line, _ := in.FieldPos(0)
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
}

// number reads a cell, NaN if it is empty.
func number(cell string) (float64, error) {
	if cell == "" {
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no number", cell)
	}
	return v, nil
}

// numbers reads cells into places.
func numbers(cells []string, into ...*float64) (err error) {
	for i, p := range into {
		if *p, err = number(cells[i]); err != nil {
			return err
		}
	}
	return nil
}

// readJobs reads jobs.csv.
func (r *run) readJobs() error {
	last := 0.0
	err := r.rows(files.Jobs, []string{"id", "name", "pool", "arrival", "first_start", "finish", "slowdown", "late_vs_ps"}, func(cells []string) error {
		j := job{id: bounded(cells[0]), name: bounded(cells[1]), pool: bounded(cells[2])}
		if err := numbers(cells[3:], &j.arrival, &j.start, &j.finish, &j.slowdown, &j.late); err != nil {
			return err
		}
		if math.IsNaN(j.arrival) {
			return fmt.Errorf("job %s has no arrival", j.id)
		}
		for _, t := range []float64{j.arrival, j.start, j.finish} {
			if t > last {
				last = t
			}
		}
		r.byID[j.id] = append(r.byID[j.id], len(r.jobs))
		r.jobs = append(r.jobs, j)
		return nil
	})
	if err != nil || len(r.jobs) == 0 {
		return err
	}
	start := r.jobs[0].arrival
	r.busy, r.live, r.classes = newMeter(start, last), newMeter(start, last), map[string]*meter{}
	for class := range r.info.Cluster.Slots {
		r.classes[class] = newMeter(start, last)
	}
	for i := range r.jobs {
		end := r.jobs[i].finish
		if math.IsNaN(end) {
			if end = last; math.IsNaN(r.jobs[i].start) { // it was rejected, or never ran
				continue
			}
		}
		r.live.add(r.jobs[i].arrival, end)
	}
	return nil
}

// find returns the place of the job with an ID that was in the system at an instant, -1 if
// there is none. IDs may be used again.
func (r *run) find(id string, at float64) int {
	best := -1
	for _, i := range r.byID[id] {
		if best < 0 || r.jobs[i].arrival <= at {
			best = i
		}
	}
	return best
}

var localities = map[string]int{"node": 1, "rack": 2, "remote": 3}

// readTasks reads tasks.csv and returns the number of attempts that started.
func (r *run) readTasks() (n int, err error) {
	err = r.rows(files.Tasks, []string{"job", "node", "slot", "start", "end", "outcome", "locality", "class"}, func(cells []string) error {
		var b struct{ slot, start, end float64 }
		if err := numbers(cells[2:], &b.slot, &b.start, &b.end); err != nil {
			return err
		}
		if !(b.slot >= 0 && b.slot <= math.MaxInt32 && b.start >= 0 && b.end >= b.start) {
			return fmt.Errorf("slot %s from %s to %s is no attempt", cells[2], cells[3], cells[4])
		}
		if cells[5] == "refused" { // it never started, and no count of attempts has it
			return nil
		}
		n++
		j := r.find(bounded(cells[0]), b.start)
		if j < 0 {
			return fmt.Errorf("job %s is not in %s", cells[0], files.Jobs)
		}
		r.jobs[j].work += b.end - b.start
		r.busy.add(b.start, b.end)
		class := r.classes[cells[7]]
		if class == nil {
			return fmt.Errorf("class %s is not in %s", strconv.Quote(bounded(cells[7])), files.Run)
		}
		class.add(b.start, b.end)
		slot, outcome := int(b.slot), 0
		if _, known := r.slots[slot]; !known {
			r.slots[slot] = bounded(cells[1]) + "/" + cells[2]
		}
		if cells[5] != "finished" {
			outcome = 1
		}
		r.boxes.add(slot, b.start, b.end, j, localities[cells[6]], outcome)
		return nil
	})
	return n, err
}
