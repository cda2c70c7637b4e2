package history_test

import (
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

func ExampleNewRecorder() {
	w := history.NewWriter(os.Stdout)
	w.Header("policy", "fifo")
	fifo, err := fifo.New(fifo.Options{})
	if err != nil {
		log.Fatal(err)
	}
	p := history.NewRecorder(fifo, w)

	p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0}})
	p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
		ID: 1, Phases: []sojourn.Phase{{Tasks: 2, Estimate: 10 * time.Second}}}})
	a, _ := p.Assign(0)
	p.Observe(sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(9 * time.Second), Task: a.Task, Attempt: a.Attempt,
		Slot: sojourn.Slot{ID: 0}, Service: 9 * time.Second})
	p.Observe(sojourn.Event{Kind: sojourn.Tick})
	p.Assign(0)
	w.Flush()
	// Output:
	// sojourn history 1
	// policy: fifo
	// @0s SlotAdded 0
	// @0s JobArrived 1 | 2x10s
	// @0s Assign 0 -> 1/0/0#1
	// @9s TaskFinished 1/0/0#1 slot=0 service=9s
	// @0s Tick !ErrTimeReversed
	// @9s Assign 0 -> 1/0/1#1
}

func ExampleReplay() {
	const recorded = `sojourn history 1
policy: fifo
@0s SlotAdded 0
@0s JobArrived 1 | 1x100s
@0s JobArrived 2 | 1x5s      # overtakes, if sizes count
@0s Assign 0 -> 1/0/0#1
`
	srpt, err := baseline.NewSRPT(baseline.SRPTOptions{})
	if err != nil {
		log.Fatal(err)
	}
	entries := history.Check(history.Read(strings.NewReader(recorded), "history.txt"))
	fmt.Println(history.Replay(srpt, entries))
	// Output:
	// history.txt:6: recorded "@0s Assign 0 -> 1/0/0#1", replayed "@0s Assign 0 -> 2/0/0#1"
}
