package journal

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// inOrder serves jobs in the order of arrival.
type inOrder struct{ *queue.Jobs[struct{}, uint64] }

func newFIFO(testing.TB) *inOrder {
	p := new(inOrder)
	p.reset()
	return p
}

func (p *inOrder) reset() {
	p.Jobs = queue.NewJobs(queue.JobOrder[struct{}, uint64]{
		Key:      func(j *ledger.Job[struct{}]) uint64 { return j.Seq() },
		Less:     func(a, b uint64) bool { return a < b },
		Supports: sojourn.FeatureNeeds | sojourn.FeatureHeld | sojourn.FeatureAttempts,
	})
}

func (p *inOrder) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	p.File(&ev, p.Apply(&ev))
	return nil
}

func (p *inOrder) header() snapshot.Header { return snapshot.Header{Policy: "in order", Version: 1} }

func (p *inOrder) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, p.header(), func(w *snapshot.Writer) { p.Save(w, nil) })
}

func (p *inOrder) UnmarshalBinary(data []byte) error {
	return snapshot.Restore(p, data, p.header(), p.reset, func(r *snapshot.Reader) { p.Restore(r, nil) })
}
