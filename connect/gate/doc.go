// Package gate puts a policy in charge of a queue that somebody else wrote: asynq, River, NATS, or a
// table of your own. Use it if the queue can hold a task back and let it go later.
//
// Tier: kit.
//
// Tasks enter the queue held. The gate lets go as many as there are free workers, and the policy
// says which ones. So the order of the queue does not matter any more. Workers, retries and
// storage stay as they are.
//
//	g, err := gate.New(policy, backend, gate.Options{})
//	...
//	err = g.Run(ctx) // until ctx ends
//
// A [Backend] connects a queue. Modules connect/gate/asynq, connect/gate/river and connect/gate/nats have one each. A backend that is a
// [Fleet] tells which servers live, so that slots come and go with them; for another one Options.Workers says how many
// tasks run at a time.
//
// # What it costs
//
// Each task takes one more way to the queue and back before it starts, and its worker is idle for so
// long. Let a task last at least ten times as long as that. Options.Ahead lets some tasks go before a
// worker is free. Workers then are not idle, and the order is wrong by as many tasks.
//
// # Nothing is lost
//
// The queue holds the truth, and the gate only a copy. If the gate dies, held tasks wait, and those
// that were let go run. The next gate asks the queue for all tasks and goes on. It counts what was let
// go as running. If a note about the end of a task is lost, the gate finds out when it next compares its
// copy with the queue, after Options.Compare. It does not end a task, or let it go for a second
// time, on a guess.
//
// # Several machines
//
// Start as many servers as you like, and two gates. One gate decides, and the other one waits; a rolling deployment may
// overlap. If the first one dies, or is stopped, the other one takes over within seconds, and corrects its books by what
// the queue says. One that was stopped and goes on finds that it has lost the lock, and waits (TestTwoGates). That
// needs a backend that is a [Locker]. With another one, one gate must run at a time.
//
// A server that dies takes its workers with it. Its tasks stay as they are until the queue itself finds them, which may be an
// hour; until then they take none of the workers that are left, or that come (TestServers).
package gate
