package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"
)

// The events of Spark that count: core/src/main/scala/org/apache/spark/util/JsonProtocol.scala. Times are in
// milliseconds since 1970.
type sparkEvent struct {
	Event string

	Name string `json:"App Name"`
	User string

	Job        int             `json:"Job ID"`
	Submitted  int64           `json:"Submission Time"`
	Stages     []sparkStage    `json:"Stage Infos"`
	Properties json.RawMessage // of other shapes in other events

	Stage    int `json:"Stage ID"`
	TaskInfo *struct {
		ID       int64 `json:"Task ID"`
		Index    *int64
		Launched int64 `json:"Launch Time"`
		Finished int64 `json:"Finish Time"`
		Failed   bool
		Killed   bool
	} `json:"Task Info"`
	Reason struct {
		Reason string
	} `json:"Task End Reason"`
}

type sparkStage struct {
	ID      int   `json:"Stage ID"`
	Tasks   int   `json:"Number of Tasks"`
	Parents []int `json:"Parent IDs"`
}

// A sparkApp is an application in the making. Its log may be several files, of which only the first begins an application.
type sparkApp struct {
	start        sparkEvent
	order        []*sparkJob
	jobs, stages map[int]*sparkJob
}

// A sparkJob is a job in the making.
type sparkJob struct {
	*logged
	stages []sparkStage
	tasks  map[int]map[int64]time.Duration // of each stage, by index
	ended  bool
}

// Lines that have none of these words are about nothing that counts.
var sparkEvents = [][]byte{
	[]byte(`"SparkListenerApplicationStart"`), []byte(`"SparkListenerJobStart"`), []byte(`"SparkListenerJobEnd"`), []byte(`"SparkListenerTaskEnd"`),
}

// maxSparkTime is the latest time that counts, in milliseconds: half the range of nanoseconds.
const maxSparkTime = 1 << 62 / 1_000_000

// inOrder sorts the files of a rolled log, which are called events_1_APP, events_2_APP and so on: a shell names the tenth before the second.
func inOrder(in []Input) {
	number := func(f Input) (n int, ok bool) {
		_, err := fmt.Sscanf(filepath.Base(f.Name), "events_%d_", &n)
		return n, err == nil
	}
	for len(in) > 0 {
		k := 0
		for k < len(in) && filepath.Dir(in[k].Name) == filepath.Dir(in[0].Name) {
			if _, ok := number(in[k]); !ok {
				break
			}
			k++
		}
		slices.SortStableFunc(in[:k], func(a, b Input) int {
			x, _ := number(a)
			y, _ := number(b)
			return x - y
		})
		in = in[max(k, 1):]
	}
}

// readSpark reads an event log of Spark: a job becomes a job, a stage that ran tasks a phase that needs the
// stages before, and the first success of a task its time.
func (r *tableReader) readSpark(from io.Reader, file string) error {
	text, err := unzipped(from)
	if err != nil {
		return in(file, &placed{1, 1, err})
	}
	l := &lines{in: text}
	r.table, r.file = &table{}, file
	if r.app.jobs == nil {
		r.app = newSparkApp()
	}
	for {
		line, err := l.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return in(file, err)
		}
		app := &r.app
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		fault := func(format string, args ...any) error { return in(file, &placed{l.n, 1, fmt.Errorf(format, args...)}) }
		if l.n == 1 && !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
			return fault("want an event log of Spark, an object in JSON in each line: spark.eventLog.enabled=true writes it to spark.eventLog.dir")
		}
		if !slices.ContainsFunc(sparkEvents, func(word []byte) bool { return bytes.Contains(line, word) }) {
			continue
		}
		var e sparkEvent
		if err := json.Unmarshal(line, &e); err != nil {
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) && l.open && l.n > 1 && !r.options.Strict {
				r.dropped[cutOff]++
				continue
			}
			if errors.As(err, &syntax) {
				return in(file, &placed{l.n, int(max(syntax.Offset, 1)), fmt.Errorf("invalid JSON: %w", err)})
			}
			return fault("want an event of Spark: %v", err)
		}
		switch e.Event {
		case "SparkListenerApplicationStart":
			if err := r.endSpark(); err != nil {
				return err
			}
			app.start = e
		case "SparkListenerJobStart":
			if app.jobs[e.Job] != nil {
				return fault("job %d starts a second time: the log of an application begins with SparkListenerApplicationStart", e.Job)
			}
			if len(e.Stages) > 1<<16 {
				return fault("more than %d stages in a job", 1<<16)
			}
			if e.Submitted > maxSparkTime || e.Submitted < 0 {
				return fault("Submission Time %d is out of range", e.Submitted)
			}
			j := &sparkJob{logged: &logged{arrival: e.Submitted * 1e6, file: file, line: l.n}, stages: e.Stages, tasks: map[int]map[int64]time.Duration{}}
			var p struct {
				Pool  string `json:"spark.scheduler.pool"`
				Group string `json:"spark.jobGroup.id"`
				Text  string `json:"spark.job.description"`
				Site  string `json:"callSite.short"`
			}
			json.Unmarshal(e.Properties, &p) // what is of another kind says nothing
			j.name = app.start.Name
			for _, text := range []string{p.Text, p.Site} {
				if text != "" && utf8.ValidString(text) {
					j.name = app.start.Name + "/" + short(text)
					break
				}
			}
			j.pool = map[string]string{"queue": p.Pool, "user": app.start.User, "group": p.Group}[r.options.Pool]
			app.jobs[e.Job] = j
			app.order = append(app.order, j)
			for _, s := range e.Stages {
				if app.stages[s.ID] == nil {
					app.stages[s.ID] = j // a later job that needs the stage finds its output
				}
			}
		case "SparkListenerJobEnd":
			if j := app.jobs[e.Job]; j != nil {
				j.ended = true
			}
		case "SparkListenerTaskEnd":
			if err := r.sparkTask(&e, app.stages[e.Stage]); err != nil {
				return fault("%v", err)
			}
		}
	}
}

func newSparkApp() sparkApp { return sparkApp{jobs: map[int]*sparkJob{}, stages: map[int]*sparkJob{}} }

// endSpark adds the jobs of an application.
func (r *tableReader) endSpark() error {
	for _, j := range r.app.order {
		if err := r.addSpark(j); err != nil {
			return err
		}
	}
	r.app = newSparkApp()
	return nil
}

// sparkTask takes the end of an attempt at a task.
func (r *tableReader) sparkTask(e *sparkEvent, j *sparkJob) error {
	t := e.TaskInfo
	if j == nil || t == nil {
		r.counts[attemptsUnknown]++
		return nil
	}
	if t.Failed || t.Killed || e.Reason.Reason != "" && e.Reason.Reason != "Success" {
		r.counts[attemptsFailed]++
		return nil
	}
	if t.Launched < 0 || t.Finished < t.Launched || t.Finished > maxSparkTime {
		return fmt.Errorf("task %d of stage %d: Launch Time %d, Finish Time %d", t.ID, e.Stage, t.Launched, t.Finished)
	}
	index := t.ID
	if t.Index != nil {
		index = *t.Index
	}
	if j.tasks[e.Stage] == nil {
		j.tasks[e.Stage] = map[int64]time.Duration{}
	}
	if _, ok := j.tasks[e.Stage][index]; ok {
		r.counts[attemptsFailed]++
		return nil
	}
	took := time.Duration(t.Finished-t.Launched) * time.Millisecond
	j.tasks[e.Stage][index] = took
	r.busy.add(&times{start: t.Launched * 1e6, took: took, started: true}, 1)
	return nil
}

// addSpark adds a job, if it ran.
func (r *tableReader) addSpark(j *sparkJob) error {
	why := kept
	switch {
	case !j.ended:
		why = stillRuns
	case len(j.tasks) == 0:
		why = neverRan
	}
	if why != kept {
		r.dropped[why]++
		if r.options.Strict {
			return j.fault("--strict: " + dropTexts[why][len("rows dropped, "):] + "; without --strict such jobs are dropped and counted")
		}
		return nil
	}
	slices.SortFunc(j.stages, func(a, b sparkStage) int { return a.ID - b.ID }) // parents have lower numbers
	phase := map[int]int{}
	j.needs = [][]int{}
	for _, s := range j.stages {
		tasks := j.tasks[s.ID]
		if len(tasks) == 0 || phase[s.ID] != 0 {
			continue // its output was there already
		}
		needs := []int{}
		for _, parent := range s.Parents {
			if p, ok := phase[parent]; ok {
				needs = append(needs, p-1)
			}
		}
		slices.Sort(needs)
		phase[s.ID] = len(j.needs) + 1
		j.needs = append(j.needs, slices.Compact(needs))
		indices := make([]int64, 0, len(tasks))
		for i := range tasks {
			indices = append(indices, i)
		}
		slices.Sort(indices)
		for _, i := range indices {
			j.parts = append(j.parts, part{took: tasks[i], tasks: 1, phase: int32(len(j.needs) - 1)})
		}
		if n := s.Tasks - len(tasks); n > 0 {
			r.counts[tasksMissing] += int64(n)
		}
	}
	r.jobs = append(r.jobs, j.logged)
	return nil
}
