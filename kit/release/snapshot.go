package release

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

var header = snapshot.Header{Policy: "release", Version: 1}

// inOrder returns the live jobs in the order in which they arrived.
func (p *policy) inOrder() []*ledger.Job[job] {
	return slices.SortedFunc(p.ledger.All(), func(a, b *ledger.Job[job]) int { return cmp.Compare(a.Seq(), b.Seq()) })
}

// AppendBinary implements [sojourn.Snapshotter]. If the policy inside is no Snapshotter, the error wraps
// [errors.ErrUnsupported].
func (p *policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, header, func(w *snapshot.Writer) {
		p.ledger.Save(w)
		for _, j := range p.inOrder() {
			w.Bool(j.Data.released)
		}
		inside.Save(w, p.in.Policy)
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *policy) UnmarshalBinary(data []byte) error {
	old, saved := *p, inside.Saved(nil)
	err := snapshot.Restore(p, data, header, p.reset, func(r *snapshot.Reader) {
		p.ledger.Restore(r)
		for _, j := range p.inOrder() {
			released := r.Bool()
			p.enter(j, released)
			r.Check(released || j.Running() == 0 && !j.Cancelled(), "a job waits that runs")
		}
		p.parkDue()
		r.Binary(&saved)
	})
	if err != nil {
		return err
	}
	if err = saved.Restore(p.in.Policy); err != nil {
		*p = old
	}
	return err
}
