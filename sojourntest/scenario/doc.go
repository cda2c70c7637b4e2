// Package scenario checks small schedules that are written as stories: text files that say
// what happens in a cluster, and below a line what the policy did. Use it for examples that
// people should read, such as those of a paper, and to see what a change does to them:
//
//	func TestScenarios(t *testing.T) { scenario.Run(t, "testdata/*.txt", newPolicy, *update) }
//
// Tier: kit.
//
// This is such a file:
//
//	# Two jobs, one slot. The short one arrives later and overtakes.
//	slots 1
//	arrive 1 at=0s tasks=2 est=50s
//	arrive 2 at=10s tasks=1 est=5s
//	run
//	----
//	@0s SlotAdded 1
//	@0s JobArrived 1 | 2x50s
//	@0s Assign 1 -> 1/0/0#1
//	@10s JobArrived 2 | 1x5s
//	@50s TaskFinished 1/0/0#1 slot=1 service=50s
//	@50s Assign 1 -> 2/0/0#1
//	...
//
// Below the line stands a history as package history describes it, without its
// first line. [Run] compares it, or writes it anew, and checks that it keeps the
// contract.
//
// # Commands
//
// Commands come in the order of time, one a line. What follows a # is a comment.
//
//	slots N [at=T] [class=C]    N slots are added; their IDs count from 1
//	arrive ID at=T tasks=N      a job of one phase arrives
//	    [est=D]                 the estimate of each of its tasks
//	    [time=D]                how long each really takes; without it, as estimated
//	    [name=] [pool=] [weight=] [deadline=] [class=]
//	@T EVENT                    any event, as in a history
//	run [until=T]               ends the story
//
// The policy is driven by the rules of package sim. At one instant attempts end
// first, in the order of their start, then what the story says happens, then the
// policy gets a Tick if it asked for one, and then free slots are offered, those
// that a [sojourn.Seeker] names, or each once in the order of ID. Attempts that a
// [sojourn.Preemptor] lists then are killed, and slots are offered again.
//
// An attempt lasts as long as its task takes, unless the story ends it before. An
// event that does not fit is part of the story: its refusal is written down.
package scenario
