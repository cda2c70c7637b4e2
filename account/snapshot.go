package account

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

func (a *Account) header() snapshot.Header {
	return snapshot.Header{Policy: "account", Version: 2, Options: []snapshot.Option{snapshot.Opt("policy", a.p != nil)}}
}

// AppendBinary implements [sojourn.Snapshotter]. It saves the account and the policy inside. If that
// is no Snapshotter, the error wraps [errors.ErrUnsupported].
func (a *Account) AppendBinary(dst []byte) ([]byte, error) {
	return snapshot.Append(dst, a.header(), func(w *snapshot.Writer) {
		a.ledger.Save(w)
		for j := range a.ledger.All() {
			w.Int(int64(j.Data.arrived))
		}
		w.Len(len(a.before))
		for s := range a.ledger.Attempts() {
			if d := a.before[s.ID]; d > 0 {
				w.Uint(uint64(s.ID))
				w.Duration(d)
			}
		}
		w.Pools(slices.Collect(a.Pools()))
		if a.p != nil {
			inside.Save(w, a.p)
		}
	})
}

// UnmarshalBinary implements [sojourn.Snapshotter]. The policy inside is restored last, so that it
// stays as it was if the account is damaged.
func (a *Account) UnmarshalBinary(data []byte) error {
	old, saved := *a, inside.Saved(nil)
	err := snapshot.Restore(a, data, a.header(), func() { a.reset(a.p) }, func(r *snapshot.Reader) {
		a.ledger.Restore(r)
		for j := range a.ledger.All() {
			j.Data.arrived = sojourn.Time(r.Int())
			r.Check(j.Data.arrived <= a.Now(), "a job arrives later")
		}
		a.restoreBefore(r)
		for _, p := range r.Pools() {
			a.changePool(p)
		}
		if a.p != nil {
			r.Binary(&saved)
		}
	})
	if err != nil || a.p == nil {
		return err
	}
	if err = saved.Restore(a.p); err != nil {
		*a = old
	}
	return err
}

// Restore makes a the account of the given facts, as [Account.Facts] told them, and restores the
// policy inside from its own snapshot, taken at the same instant. The policy is not told the facts. If
// there is an error, a is of no use, and the policy is as it was.
func (a *Account) Restore(facts iter.Seq[sojourn.Event], policy []byte) error {
	a.reset(a.p)
	for ev := range facts {
		if err := a.ledger.Check(&ev); err != nil {
			return fmt.Errorf("account: %w", err)
		}
		a.apply(&ev)
	}
	if err := inside.Saved(policy).Restore(a.p); err != nil {
		return fmt.Errorf("account: %w", err)
	}
	return nil
}

// restoreBefore reads how long attempts had been running when they were adopted.
func (a *Account) restoreBefore(r *snapshot.Reader) {
	next := uint64(0)
	for range r.Len() {
		id, d := r.Below(sojourn.MaxSlots), r.Duration()
		_, busy := a.ledger.Busy(sojourn.SlotID(id))
		if r.Err() != nil || !r.Check(busy && id >= next && d > 0, "nothing was adopted there") {
			return
		}
		next = id + 1
		if a.before == nil {
			a.before = map[sojourn.SlotID]time.Duration{}
		}
		a.before[sojourn.SlotID(id)] = d
	}
}
