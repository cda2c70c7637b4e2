// Package shadow lets a second policy watch the one in charge, before you trust it with the
// cluster. Use it to answer three questions about production: how often the other policy decides
// differently, where it does so first, and what it would gain.
//
// Tier: research.
//
//	s, err := shadow.New(active, candidate, shadow.Options{Policy: byName})
//	...
//	pool, err := live.New(s, live.Options{}) // s is a Policy that decides as active does
//	...
//	r := s.Report()
//	fmt.Println(r.SameJob, "of", r.Decisions, "starts are of the same job; the first other one:", r.First)
//	g, err := s.Predict(ctx, newActive, newCandidate)
//	...
//	err = s.Swap("leastwork") // what byName makes of that name takes over, while jobs are live
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
// [Shadow.Swap] tells all facts to another policy, which Options.Policy makes of its name, and lets it
// decide from then on. Package account says what a fact is. What a policy has learned is not one.
//
// What was inside of the policy before is told nothing more: a forecast there returns ErrSwapped, and an account shows what
// was true at the swap. Put them around the shadow. Test: TestSwapEndsForecast of package journal.
//
// A journal keeps the name of the policy that took over, and its state. The next process makes the shadow with the policy of its code, and
// journal.Open exchanges that for the one of the name, by Options.Policy; so does a standby. If Options.Policy does not know the name, Open returns an error
// that says so: let it make the policy for as long as a journal may name it, or go back to the policy of the code by Swap("") before a release that drops it.
// A swap is durable when a Flush of the journal has returned nil after it. Without a journal it lasts as long as the process.
// Tests: TestSwapIsSaved, TestSwapPowerLoss, TestSwapFollow of package journal.
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
