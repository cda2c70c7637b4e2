package trace

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/workload"
)

// A drawnJob is one of a generated workload in milliseconds, as traces of Hadoop have it.
type drawnJob struct {
	at     int64
	phases [2][]int64 // how long each map, and each reduce, takes
}

// generated draws jobs with maps and reduces, which all arrive at different instants.
func generated(t *testing.T, jobs string) []drawnJob {
	t.Helper()
	g, err := workload.Lookup("hfsp-dev")
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := g.Jobs(1, map[string]string{"jobs": jobs})
	if err != nil {
		t.Fatal(err)
	}
	var list []drawnJob
	for j, err := range drawn {
		if err != nil {
			t.Fatal(err)
		}
		s := drawnJob{at: 1000 * int64(len(list)+1)}
		if len(list) > 0 {
			s.at = int64(j.At) / 1e6
			s.at = max(s.at, list[len(list)-1].at+1)
		}
		for i, p := range j.Phases {
			for k := range p.Tasks {
				s.phases[p.Class] = append(s.phases[p.Class], 1+int64(j.Times[i].Of(k))/1e6)
			}
		}
		list = append(list, s)
	}
	return list
}

// end returns when the last map ends, if all of them start at the arrival.
func (s *drawnJob) end() int64 { return s.at + slices.Max(s.phases[0]) }

// rumen writes a job as Rumen does.
func (s *drawnJob) rumen(w io.Writer, id int) {
	fmt.Fprintf(w, `{"jobID":"job_1_%d","submitTime":%d,"outcome":"SUCCESS","mapTasks":[`, id, s.at)
	for i, d := range s.phases[0] {
		fmt.Fprintf(w, `%s{"attempts":[{"result":"FAILED","startTime":%d,"finishTime":%d},{"result":"SUCCESS","startTime":%d,"finishTime":%d}]}`,
			comma(i), s.at, s.at+7, s.at, s.at+d)
	}
	fmt.Fprint(w, `],"reduceTasks":[`)
	for i, d := range s.phases[1] {
		fmt.Fprintf(w, `%s{"attempts":[{"result":"SUCCESS","startTime":%d,"shuffleFinished":%d,"finishTime":%d}]}`, comma(i), s.at, s.end(), s.end()+d)
	}
	fmt.Fprintln(w, "]}")
}

// sls writes a job as the YARN Scheduler Load Simulator reads it.
func (s *drawnJob) sls(w io.Writer, id int) {
	fmt.Fprintf(w, `{"job.id":"s%d","job.start.ms":%d,"job.user":"ann","job.queue.name":"q","job.tasks":[`, id, s.at)
	for class, times := range s.phases {
		for i, d := range times {
			fmt.Fprintf(w, `%s{"container.type":%q,"duration.ms":%d}`, comma(class+i), []string{"map", "reduce"}[class], d)
		}
	}
	fmt.Fprintln(w, "]}")
}

// jhist writes a job as a history of Hadoop.
func (s *drawnJob) jhist(w io.Writer, id int) {
	fmt.Fprint(w, "Avro-Json\n{\"type\":\"record\"}\n")
	event := func(kind, format string, args ...any) {
		fmt.Fprintf(w, `{"type":%q,"event":{"E":{`+format+"}}}\n", append([]any{kind}, args...)...)
	}
	event("JOB_SUBMITTED", `"jobid":"job_1_%d","jobName":"j","userName":"ann","submitTime":%d`, id, s.at)
	event("JOB_INITED", `"jobid":"job_1_%d","launchTime":%d,"totalMaps":%d,"totalReduces":%d`, id, s.at, len(s.phases[0]), len(s.phases[1]))
	for class, times := range s.phases {
		kind := []string{"MAP", "REDUCE"}[class]
		start := []int64{s.at, s.end()}[class]
		for i, d := range times {
			event("TASK_STARTED", `"taskid":"%s%d","taskType":%q,"startTime":%d,"splitLocations":""`, kind, i, kind, start)
			event(kind+"_ATTEMPT_STARTED", `"taskid":"%s%d","attemptId":"%[2]s%[3]d.0","startTime":%d`, kind, i, start)
			event(kind+"_ATTEMPT_FINISHED", `"taskid":"%s%d","attemptId":"%[2]s%[3]d.0","shuffleFinishTime":%d,"finishTime":%d`, kind, i, start, start+d)
		}
	}
	event("JOB_FINISHED", `"jobid":"job_1_%d","finishTime":%d`, id, s.end())
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// Some hundred jobs of a generator return from each format of Hadoop with their arrivals and the
// times of their tasks, as the public traces do in TestRealTraces.
func TestGeneratedHadoop(t *testing.T) {
	list := generated(t, "300")
	for _, tc := range []struct {
		name  string
		write func(s *drawnJob, w io.Writer, id int)
		read  reader
	}{{"rumen", (*drawnJob).rumen, readRumen}, {"sls", (*drawnJob).sls, readSLS}, {"jhist", (*drawnJob).jhist, readJHist}} {
		t.Run(tc.name, func(t *testing.T) {
			var text strings.Builder
			for i := range list {
				tc.write(&list[i], &text, i)
			}
			var stats Stats
			compareSamples(t, tc.read(strings.NewReader(text.String()), limits{}, &stats), list, func(got time.Duration, ms int64) bool {
				return got == time.Duration(ms)*time.Millisecond
			})
			if stats.Jobs != int64(len(list)) {
				t.Errorf("stats of %d jobs, want %d", stats.Jobs, len(list))
			}
		})
	}
}

// Some hundred jobs return from SWIM, which has bytes and no times, with their arrivals and the
// numbers of their tasks, as the public trace does in TestFacebookTraceHasTheKnownTasks.
func TestGeneratedSWIM(t *testing.T) {
	list := generated(t, "300")
	var text strings.Builder
	for i, s := range list {
		fmt.Fprintf(&text, "job%d\t%d.%03d\t0\t%d\t%d\t0\n", i, s.at/1000, s.at%1000, int64(len(s.phases[0]))<<27, int64(len(s.phases[1]))<<30)
	}
	list = slices.Clone(list)
	compareSamples(t, ReadSWIM(strings.NewReader(text.String()), SWIMOptions{}), list, func(time.Duration, int64) bool { return true })
}

// compareSamples compares jobs that were read with those that were written.
func compareSamples(t *testing.T, jobs iter.Seq2[*sim.Job, error], want []drawnJob, same func(got time.Duration, ms int64) bool) {
	t.Helper()
	got, err := collect(t, jobs)
	if err != nil || len(got) != len(want) || len(want) < 300 {
		t.Fatalf("%d jobs, error %v, want %d", len(got), err, len(want))
	}
	reduces := 0
	for i, j := range got {
		if err := j.Check(); err != nil {
			t.Error(err)
		}
		s := want[i]
		if at := sojourn.Time(s.at-want[0].at) * 1e6; j.At-got[0].At != at {
			t.Errorf("job %d arrives at %v, want %v", i, j.At-got[0].At, at)
		}
		n := 0
		for k, p := range j.Phases {
			times := s.phases[p.Class]
			n += p.Tasks
			if p.Class == sojourn.ReduceClass {
				reduces += p.Tasks
			}
			if p.Tasks != len(times) {
				t.Fatalf("job %d has %d tasks of class %d, want %d", i, p.Tasks, p.Class, len(times))
			}
			for m, ms := range times {
				if d := j.Times[k].Of(m); !same(d, ms) {
					t.Fatalf("job %d: task %d of class %d takes %v, want %d ms", i, m, p.Class, d, ms)
				}
			}
		}
		if n != len(s.phases[0])+len(s.phases[1]) {
			t.Errorf("job %d has %d tasks, want %d and %d", i, n, len(s.phases[0]), len(s.phases[1]))
		}
	}
	if reduces == 0 {
		t.Error("no job has reduces")
	}
}
