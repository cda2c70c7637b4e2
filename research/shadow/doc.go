// Package shadow lets a second policy watch the one in charge, before you trust it with the
// cluster. Use it to answer three questions about production: how often the other policy decides
// differently, where it does so first, and what it would gain.
//
// Tier: research.
//
//	s, err := shadow.New(active, candidate, shadow.Options{})
//	...
//	pool, err := live.New(s, live.Options{}) // s is a Policy that decides as active does
//	...
//	r := s.Report()
//	fmt.Println(r.SameJob, "of", r.Decisions, "starts are of the same job; the first other one:", r.First)
//	g, err := s.Predict(ctx, newActive, newCandidate)
//	...
//	err = s.Swap(next) // next takes over, while jobs are live
//
// # What is compared
//
// The candidate is told every event that the active policy accepted. When the active policy starts
// an attempt, the candidate is offered the same slot. If it chooses something else, or nothing, it
// is told that its choice was refused and what runs instead. It therefore compares each
// decision from the same facts: one other choice does not make the next ones differ.
//
// Only starts are compared. A slot that the active policy leaves idle and the candidate would use
// is not seen, and neither is an attempt that the candidate would preempt. The simulations of
// [Shadow.Predict] see the first. They have no preemption.
//
// A job that the candidate refuses is no job to it. A slot that runs such a job is away until the
// attempt has ended. A job that the active policy refuses never reaches the candidate.
//
// # What the candidate cannot do
//
// It runs on a goroutine of its own, behind a queue. If it panics, or refuses an event that is
// not an arrival, or is too far behind, it is told nothing more, and [Report].Err says why. The active policy
// decides as it would alone. The two share only the processor.
//
// The goroutine is there only while events wait for the candidate, so nothing has to be closed. A candidate
// that never returns keeps it.
//
// # The swap
//
// [Shadow.Swap] tells all facts to another policy, which must have observed nothing, and lets it
// decide from then on. Package account says what a fact is. What a policy has learned is not one.
//
// What was inside of the policy before is told nothing more: a forecast there returns ErrSwapped, and an account shows what
// was true at the swap. Put them around the shadow. Test: TestSwapEndsForecast of package journal.
//
// A swap lasts as long as the process. Let the next process begin with the policy that took over. A journal keeps that
// policy's state; if the next process begins with the policy before, Restored of the journal says that it was made anew by
// the facts. Test: TestSwapIsSaved of package journal.
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
// # Cost
//
// An event costs what it costs in package account, and a place in the queue. The candidate
// costs what it would cost in charge, and two accounts.
package shadow
