package account

import (
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn"
)

// Why an account refuses every event: see [Account.Err].
var (
	// ErrNotNew: something was reported to the policy before.
	ErrNotNew = errors.New("the policy is not new")
	// ErrJournalInside: a journal is inside. It would not be told what the next process has to know.
	ErrJournalInside = errors.New("a journal is inside: journal.Open goes around all other wrappers")
)

// Err returns why the account refuses every event, nil if it does not: the policy is not new, as far as the accounts and the
// [sojourn.Explainer] in it tell, or a journal is in it. The error wraps [ErrNotNew] or [ErrJournalInside]. The policy is then
// told nothing, and Unwrap does not return it.
//
// Test: TestOrders of package journal.
func (a *Account) Err() error {
	if r, ok := a.p.(refuser); ok {
		return r.err
	}
	return nil
}

// misfit returns why an account of p would not be true.
func misfit(p sojourn.Policy) error {
	for range sojourn.All[durable](p) {
		return fmt.Errorf("account: %w", ErrJournalInside)
	}
	for a := range sojourn.All[*Account](p) {
		if err := a.Err(); err != nil {
			return err
		}
		for range a.Slots() {
			return fmt.Errorf("account: %w: it has slots", ErrNotNew)
		}
		if a.Live() > 0 || a.Now() > 0 {
			return fmt.Errorf("account: %w: it has %d jobs at %v", ErrNotNew, a.Live(), a.Now())
		}
	}
	for id := range sojourn.Ranking(p) {
		return fmt.Errorf("account: %w: it has job %d", ErrNotNew, id)
	}
	return nil
}

// durable is what a journal is.
type durable interface {
	sojourn.Policy
	Account() *Account
	Wait(pos int64) error
}

// A refuser stands in the place of a policy that does not fit.
type refuser struct{ err error }

func (r refuser) Observe(ev sojourn.Event) error {
	return &sojourn.EventError{Event: ev, Err: r.err}
}

func (r refuser) Assign(sojourn.SlotID) (sojourn.Assignment, bool) {
	return sojourn.Assignment{}, false
}
