// Package forecast says when the jobs that are there will start and finish, as intervals. Use it on a status page, to
// tell a user how long to wait, or to ask what one more slot would change:
//
//	w := forecast.New(policy) // a Policy that does what policy does, and sees how long tasks take
//	pool, err := live.New(w, live.Options{Slots: 8})
//	...
//	f, err := w.Foresee(ctx, forecast.Question{Policy: another}) // another returns a new policy of the same kind
//	for _, j := range f.Jobs {
//		fmt.Println(j.ID, "finishes between", j.Finish.Low, "and", j.Finish.High)
//	}
//
// # How it is told
//
// Foresee runs the new policy on what is there now, many times, and no job arrives. What a task will take is drawn from
// what tasks took before, each with the same probability: its estimate times how much longer or shorter than its estimate
// a task was that had one; without an estimate, as long as a task of its phase, else of the same phase of a job of
// the same name, else as any task. A task that has run longer than all of these takes as long again as it has run. An
// interval has the 5 %, 50 % and 95 % quantiles of the draws.
//
// The new policy is told the facts, and nothing of what the one in charge has learned. Reading input and moving output
// take no time, attempts do not fail, and held tasks are not released. So a forecast is no promise: [sojourn.Admitter] is one.
//
// # In which order
//
// A journal goes around all other wrappers, and a forecast around a shadow. p is a policy, such as fair with its pools:
//
//	journal(forecast(shadow(p)))          works, also with any of them left out
//	journal(shadow(forecast(p)))          works; after a Swap the forecast has ended: forecast.ErrSwapped
//	shadow(journal(p))                    shadow.New returns account.ErrJournalInside
//	forecast(journal(p))                  the same error, from live.New or the first event
//	sojourn.NewLocked(journal(p))         works under a driver of your own; live.New returns live.ErrHidden
//	each of the three, if p is in use   account.ErrNotNew, in the same places
//
// A sojourn.Locked may stand anywhere inside. Tests: TestOrders, TestNotNew of package journal.
//
// What tasks took is not part of a snapshot: after a restart a forecast knows nothing of it until tasks end.
//
// # Cost
//
// An event costs what it costs package account. The memory is that of an account, and that of at most 20,000 times of
// tasks and 100 for each of 1,000 phases of named jobs, besides those of live jobs. A forecast locks the policy while it copies the facts,
// and then simulates without the lock: each draw takes as many decisions as there are tasks left. A Watch may be
// used by a driver in one goroutine while others ask.
package forecast
