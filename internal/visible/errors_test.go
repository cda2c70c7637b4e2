package visible_test

import (
	"io"
	"iter"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
	"github.com/sojourn-sched/sojourn/research/workload"
)

// No error about text of others has a character that terminals obey, wherever in the text or in the name of its file one stands.
// Only ends of lines that the error itself has are left out.
func TestErrors(t *testing.T) {
	const file = "f\x1b]0;x\a\u202e\n\x00\u0085\xff"
	jobs := func(read func(io.Reader) iter.Seq2[*sim.Job, error]) func(string) error {
		return func(text string) error { return last(read(strings.NewReader(text))) }
	}
	o := trace.ReadOptions{File: file}
	for _, r := range []struct {
		name, text string
		read       func(text string) error
	}{
		{"workload", `{"id":1,"name":"wc","at":12.5,"pool":"etl","phases":[{"class":"map","tasks":1,"time":[10.2],"nodes":[["n1"]]}]}`,
			jobs(func(r io.Reader) iter.Seq2[*sim.Job, error] { return trace.Read(r, o) })},
		{"cluster", `{"classes":["map"],"nodes":[{"name":"n1","rack":"r","slots":[2],"speed":1}]}`, func(text string) error {
			_, err := trace.ReadCluster(strings.NewReader(text), file)
			return err
		}},
		{"topology", `{"name":"root","children":[{"name":"rack","children":[{"name":"host","children":null}]}]}`, func(text string) error {
			_, err := trace.ReadTopology(strings.NewReader(text), trace.TopologyOptions{File: file})
			return err
		}},
		{"swim", "job0\t1\t2\t3\t4\t5\n", jobs(func(r io.Reader) iter.Seq2[*sim.Job, error] { return trace.ReadSWIM(r, trace.SWIMOptions{File: file}) })},
		{"swf", "; Version: 2.2\n1 0 5 10 2 -1 -1 2 60 -1 1 3 4 5 6 7 -1 -1\n", jobs(func(r io.Reader) iter.Seq2[*sim.Job, error] { return trace.ReadSWF(r, o) })},
		{"rumen", `{"jobID":"job_1_1","submitTime":1,"launchTime":2,"finishTime":9,"outcome":"SUCCESS","mapTasks":[{"taskID":"t","attempts":[{"attemptID":"a","result":"SUCCESS","startTime":2,"finishTime":4}]}]}`,
			jobs(func(r io.Reader) iter.Seq2[*sim.Job, error] { return trace.ReadRumen(r, o) })},
		{"sls", `{"am.type":"mapreduce","job.start.ms":0,"job.end.ms":9,"job.id":"j","job.tasks":[{"container.start.ms":1,"container.end.ms":3,"container.type":"map"}]}`,
			jobs(func(r io.Reader) iter.Seq2[*sim.Job, error] { return trace.ReadSLS(r, o) })},
		{"jhist", "Avro-Json\n" + `{"type":"record"}` + "\n\n" + `{"type":"JOB_SUBMITTED","event":{"x":{"jobid":"job_1_1","submitTime":1}}}` + "\n",
			jobs(func(r io.Reader) iter.Seq2[*sim.Job, error] { return trace.ReadJHist(r, o) })},
		{"alibaba", "M1,2,j_1,1,Terminated,10,20,100,0.5\nR2_1,1,j_1,1,Terminated,20,30,100,0.5\n",
			jobs(func(r io.Reader) iter.Seq2[*sim.Job, error] { return trace.ReadAlibaba(r, o) })},
		{"alibaba's jobs in turn", "M1,2,j\u202e,1,Terminated,10,20,100,0.5\nM1,2,k,1,Terminated,10,20,100,0.5\nM1,2,j\u202e,1,Terminated,10,20,100,0.5\n",
			jobs(func(r io.Reader) iter.Seq2[*sim.Job, error] { return trace.ReadAlibaba(r, o) })},
		{"wfcommons", `{"name":"w","schemaVersion":"1.5","workflow":{"specification":{"tasks":[{"id":"a","children":[],"parents":[]}]},"execution":{"tasks":[{"id":"a","runtimeInSeconds":1}]}}}`,
			jobs(func(r io.Reader) iter.Seq2[*sim.Job, error] { return trace.ReadWfCommons(r, o) })},
		{"history", "policy fifo\n0 SlotAdded slot=0 class=0 node=1\n1 JobArrived job=1 name=\"x\" pool=p phases=1x5\n1 assign 0 1/0/0 attempt=1\n", func(text string) error {
			return last(history.Read(strings.NewReader(text), file))
		}},
		{"workload's name and options", "bursty", func(text string) error {
			if _, err := workload.Lookup(text); err != nil {
				return err
			}
			g, err := workload.Lookup("bursty")
			if err == nil {
				if _, err = g.Jobs(1, map[string]string{"jobs": text}); err == nil {
					_, err = g.Jobs(1, map[string]string{text: "1"})
				}
			}
			return err
		}},
	} {
		failed := 0
		for i := range len(r.text) + 1 {
			evil := []string{"\x1b[2J", "\u202e", "\a", "\r", "\u0085", "\x00", "\ufeff", "\u2028", "\xff", "\n"}[i%10]
			for _, text := range []string{r.text[:i] + evil + r.text[i:], r.text[:i] + evil} {
				err := r.read(text)
				if err == nil {
					continue
				}
				failed++
				if got := err.Error(); strings.ContainsFunc(got, obeyed) || !utf8.ValidString(got) {
					t.Errorf("%s: %q: error %q", r.name, text, got)
				}
			}
		}
		if failed < 3 {
			t.Errorf("%s: %d errors", r.name, failed)
		}
	}
}

func last[T any](all iter.Seq2[T, error]) (err error) {
	for _, err = range all {
	}
	return err
}

func obeyed(r rune) bool {
	return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 || r == 0xfeff || unicode.Is(unicode.Bidi_Control, r)
}
