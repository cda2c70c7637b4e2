package kit_test

import (
	"cmp"
	"fmt"
	"log"
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// An edf serves the job with the earliest deadline first. It is a [sojourn.Policy]; Assign,
// Seek, Admit, AppendRanking and Explain are those of the queue.
type edf struct {
	*queue.Jobs[struct{}, due] // nothing has to be kept of a job
}

// A due ranks jobs by deadline, those without one last, and then by arrival.
type due struct {
	deadline sojourn.Time
	seq      uint64
}

func newEDF() *edf {
	p := new(edf)
	p.reset()
	return p
}

func (p *edf) reset() {
	p.Jobs = queue.NewJobs(queue.JobOrder[struct{}, due]{
		Key: func(j *ledger.Job[struct{}]) due {
			return due{cmp.Or(j.Spec().Deadline, math.MaxInt64), j.Seq()}
		},
		Less: func(a, b due) bool {
			return cmp.Or(cmp.Compare(a.deadline, b.deadline), cmp.Compare(a.seq, b.seq)) < 0
		},
	})
}

// Observe implements [sojourn.Policy].
func (p *edf) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	p.File(&ev, p.Apply(&ev))
	return nil
}

func (p *edf) header() snapshot.Header { return snapshot.Header{Policy: "edf", Version: 1} }

// AppendBinary implements [sojourn.Snapshotter].
func (p *edf) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) { p.Save(w, nil) })
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *edf) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) { p.Restore(r, nil) })
}

// A complete policy: earliest deadline first.
func Example() {
	p := newEDF()
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	for id, deadline := range []sojourn.Time{0, 50, 20} { // 0 is none
		job := &sojourn.Job{ID: sojourn.JobID(id + 1), Deadline: deadline, Phases: []sojourn.Phase{{Tasks: 2}}}
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	}
	for slot := range sojourn.SlotID(5) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
		if a, ok := p.Assign(slot); ok {
			fmt.Println("slot", slot, "runs", a.Task)
		}
	}
	fmt.Println("next:", p.AppendRanking(nil))
	// Output:
	// slot 0 runs 3/0/0
	// slot 1 runs 3/0/1
	// slot 2 runs 2/0/0
	// slot 3 runs 2/0/1
	// slot 4 runs 1/0/0
	// next: [3 2 1]
}
