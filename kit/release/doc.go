// Package release lets any policy serve jobs that may not start yet. Use it if jobs are submitted before
// their time, or if some jobs may not run beside each other:
//
//	p := release.New(policy) // and p takes the place of policy
//
//	sojourn.Job{ID: 1, Release: at, ...}             // no task starts before the instant at
//	sojourn.Job{ID: 2, Sequence: "account 7", ...}   // runs alone among the jobs of that Sequence
//
// or if several limits hold at a time, such as two jobs of each tenant and five licences of one program for all:
//
//	p := release.New(policy,
//		release.Limit{Max: 2, Of: func(j *sojourn.Job) string { return j.Pool }},
//		release.Limit{Max: 5, Of: func(j *sojourn.Job) string { if j.Name == "matlab" { return "licence" }; return "" }})
//
// A job is released when its [sojourn.Job.Release] has come (TestRelease) and all jobs of its [sojourn.Job.Sequence]
// that arrived before it have ended (TestSequence). Only then does the policy inside learn of it, as if it had arrived
// at that instant (TestFacts). So it gains no age while it waits, gets no share, and takes no slot. A job that
// waits for its release time holds back the later ones of its Sequence; so does one that waits for a retry.
//
// With limits, a job also needs room in each [Limit] that applies to it, in all at once (TestLimits). So no two jobs wait for each
// other's room, and who waits for a licence keeps no place of its tenant. It counts from its release until it has ended, also while it
// waits inside for a slot: name all limits here, and not some of them as pools of the policy inside, or jobs that may not start there
// keep licences that others could use. Which of the jobs that wait is released follows from their arrival, and not from the policy.
//
// If the policy inside refuses jobs, it is asked when a job arrives, as if the job were released at once. A job that
// was accepted is not refused later: if the policy inside refuses it when it is released, the policy adopts it, and
// [sojourn.Promiser] says that the promise is void (TestPromise). A job that has to wait is refused with
// [sojourn.ErrUnsupported] if the policy inside is no [sojourn.Admitter] (TestNoAdmitter).
//
// A task that was adopted with [sojourn.TaskAdopted] releases its job, since it runs already. A revision that
// changes Release after the job was released changes nothing.
//
// A journal goes around it: journal.Open(store, release.New(policy), options). Then what waits is durable, too.
//
// Costs: the account of slots and jobs is kept twice. Besides, an event takes O(log n) for n jobs that wait, and a
// release what the arrival of the job takes. Jobs that wait for room in the same bounds, such as those of a tenant that also need a
// licence, stand in one line. Where room comes, the event looks at the first of each line that waits there: so O(log n) is for each of
// these lines. Besides, a job goes to another line at most once for each of its limits (TestLooks). The end of a job takes
// as long while 100,000 jobs wait for both of two limits as while 1,000 do: go test ./kit/release -run '^$' -bench WaitForBoth
//
// Tier: kit.
package release
