package release

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

var header = snapshot.Header{Policy: "release", Version: 1}

// inOrder returns the live jobs in the order in which they arrived.
func (p *Policy) inOrder() []*ledger.Job[job] {
	return slices.SortedFunc(p.ledger.All(), func(a, b *ledger.Job[job]) int { return cmp.Compare(a.Seq(), b.Seq()) })
}

// AppendBinary implements [sojourn.Snapshotter]. If the policy inside is no Snapshotter, the error wraps
// [errors.ErrUnsupported].
func (p *Policy) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, header, func(w *snapshot.Writer) {
		p.ledger.Save(w)
		for _, j := range p.inOrder() {
			w.Bool(j.Data.released)
		}
		if s, ok := sojourn.As[sojourn.Snapshotter](p.in); ok {
			w.Binary(s)
		} else {
			w.Fail(fmt.Errorf("%w: a %T cannot be saved", errors.ErrUnsupported, p.in))
		}
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter].
func (p *Policy) UnmarshalBinary(data []byte) error {
	old, inside := *p, saved(nil)
	err := snapshot.Restore(p, data, header, p.reset, func(r *snapshot.Reader) {
		p.ledger.Restore(r)
		for _, j := range p.inOrder() {
			released := r.Bool()
			p.enter(j)
			r.Check(released || !j.Data.released, "a job waits for nothing")
			r.Check(released || j.Running() == 0 && !j.Cancelled(), "a job waits that runs")
			j.Data.released = released
			p.file(j)
		}
		r.Binary(&inside)
	})
	if err != nil {
		return err
	}
	if s, ok := sojourn.As[sojourn.Snapshotter](p.in); !ok {
		err = fmt.Errorf("%w: a %T cannot be restored", errors.ErrUnsupported, p.in)
	} else {
		err = s.UnmarshalBinary(inside)
	}
	if err != nil {
		*p = old
	}
	return err
}

// saved is the snapshot of the policy inside.
type saved []byte

// UnmarshalBinary keeps a copy of the bytes.
func (s *saved) UnmarshalBinary(data []byte) error {
	*s = slices.Clone(data)
	return nil
}
