// Package leastwork is the policy to start with. It serves the job that has the least work
// left, keeps a few slots for short tasks, lets no job wait for ever, and needs no options.
//
// Tier: stable.
//
// Use it where nothing says that another is better. It uses the estimates of
// task times that jobs bring ([sojourn.Phase].Estimate), measures how good they are, and does without
// them where they are bad or missing.
//
//	p, err := leastwork.New(leastwork.Options{})
//	...
//	err = p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
//	err = p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: phases}})
//	a, ok := p.Assign(1) // what the free slot 1 runs next
//
// # Example
//
// A cluster of 100 slots runs 1,000 tasks of an hour, which came as one job. It lets 98 of them run at a time: two
// slots stay free for a job whose tasks are short, or of which no task runs yet. A job of two tasks of ten seconds
// comes, starts at once, and ends after 20 s at most; if all slots were taken, it would wait for an hour. The batch
// ends after 11 hours, where it would take 10 (TestShortJobBesideABatch).
//
// # What is promised
//
//   - No job waits for ever, however much comes later and however wrong sizes are: after 512 times its work over its weight,
//     nothing that comes later is before it. See "No job starves" for the bound (TestNoJobStarves, TestNoJobStarvesOverRestarts).
//   - A job whose attempts fail or are refused for ever delays others, and does not starve them (TestFailuresStarveNobody).
//   - Estimates are used only while their mean error is at most 9/8 of that of its own predictions (TestToldTimesAreUsedWhileTheyAreGood).
//     While they are not used, they change nothing (TestUselessTimesChangeNothing).
//   - No more than 2 % of the slots, rounded up, stay free while work waits, and none in classes of fewer than 10 slots (TestExtremes).
//   - The rules below are what it does (TestAgainstTheRule), and Explain says which of them decides (TestExplainSaysWhichRuleDecides).
//
// # What it costs
//
// An event or a decision takes O(log n) for n live jobs, and as many steps as the job has phases
// of the class ready; nothing is allocated but when a job arrives. When the predictions of a class
// change, all its jobs are filed anew: once at the first task that finishes, and seldom after that, by the
// hysteresis. Each end of a task files up to 2,048 of them, so that no call takes long (TestPace). A phase takes 112
// bytes beside its account.
//
// # When it is wrong
//
//   - Most jobs have one task, and the 90th percentile of the sojourn time counts. Fair sharing among jobs is then the order of
//     arrival, which no order by size beats there: it may be a third higher here. See docs/default.md.
//   - Short jobs come faster than they can be served, for days. A long job then waits until it is due: a task of half an
//     hour for ten days. Options.Patience bounds that: see docs/default.md, "Floods".
//   - Accepted deadlines must be kept: package rtmr.
//   - No job may end later than under fair sharing, and sizes are exact: package pfsp.
//   - Groups of users have a right to their share: package fair, with this policy inside its pools.
//
// sojourn advise tries your trace.
//
// # The order
//
// Each class of slot has an order of its own. There a job comes before another if its due date is earlier, and else by
// arrival. Its due date is
//
//	D = A + 512 max(W/w, F - V)
//
// where 512 is Options.Patience, and
//
//	A  is when the job came
//	W  is the work that it has left in the class, as predicted now
//	w  is its weight
//	F  is for how long those attempts of it held slots of the class that are charged, at least a nanosecond each: an attempt
//	   that failed, when the next one ends that is not lost; one that was refused, if another of the job was before and
//	   none has finished since. See [sojourn.Cause]
//	V  is W and what its finished attempts took
//
// So of jobs that came at about the same time the one with the least work is first. A job that waits is passed by
// others for 512 times its work at most. What its attempts lose counts as far as it is more than its own work,
// whatever its weight. The work left of a phase is
//
//	W = n (p + S) / (t + T)
//
// where
//
//	n  is the sum of the estimates of its tasks that neither run nor have finished
//	p  is the predicted time of a task, before any has finished
//	t  is the estimate of the mean task
//	S  is how long the finished tasks took
//	T  is the sum of their estimates
//
// So finished tasks correct the estimates. Without estimates, each task counts as 1 in n, t and T.
// While no task has finished, p is at least as long as the oldest task has run.
//
// Estimates of a job are often wrong by the same factor in all phases: its input was larger than thought. So where they are used,
// and the first tasks of m other phases of the job have finished, p is multiplied by f^(1/(m+1)) while S is 0, where f is the product of how
// many times as long as estimated these m tasks took, and of the ratio (below) if that is used
// (TestFinishedPhasesCorrectTheEstimatesOfOthers). After estimates are revised, m is 0. The work of a job
// is that of all its phases of the class. Predictions are those of the moment when the job was filed last: where more than
// 2,048 jobs live, some are filed anew only at the next ends of tasks (TestNoJobIsLeftOut).
//
// Where r tasks of the job run in the class, W is multiplied by sqrt(r+1) while its size is uncertain:
// while no estimates of it are used and none of its tasks has finished, or if they are used and are noisy.
// That spreads slots over jobs whose order is a guess.
//
// # What is predicted
//
// The first task of each phase that finishes is a sample. It shows how good four predictions of it were:
//
//	plain   the estimate, times the mean error of all estimates of the class
//	ratio   the estimate, times the mean error of estimates under the name of its job. Where other phases of the
//	        job correct the estimate, its error counts as that of plain (TestNamesAreJudgedByTheFirstPhaseOfAJob)
//	name    the mean of tasks under that name; later ones weigh more
//	class   the mean of all tasks of the class, to a whole octave: a minute before there are any. It
//	        changes when it is off by 3/4 of an octave and has four times as many samples as before
//
// All means are of logarithms. For each predictor there is the moving mean of its errors over about the
// last 128 phases, in octaves (factors of two). A predictor is used while its error is less than that of others:
//
//	used                               while its error is less than that of               taken up         given up
//	estimates                          the better one of name and class: plain is         8/9 of it        9/8 of it
//	                                   or ratio is                                        8/9 of it        when no better
//	ratio, in place of plain           plain                                              8/9 of it        9/8 of it
//	plain, as the rank in the reserve  name, class, and 4/3 of ratio                      8/9 of them      9/8 of them
//	name, in place of class            class                                              8/9 of it        9/8 of it
//
// (TestWhatIsUsedFollowsFromErrors). The rank has a line of its own because many users request the same few limits for all jobs:
// names may correct such estimates, but they do not say which jobs are long. Estimates are exact while their mean error is less than half an octave, noisy up to 1.6
// octaves, and useless beyond. They count as better again at three quarters of these bounds. A class
// keeps statistics for the 4,096 names whose tasks finished most recently.
//
// # Wrong sizes
//
// Sizes may be wrong in any way. What that costs is bounded by three rules.
//
// Estimates are used only while they are good. If all phases have estimates, all four moving means weigh
// the errors of the same phases alike. So while estimates are used, their mean error is at most 9/8 of that
// of the class mean, up to rounding. Both means begin with an error that counts as much as 16 samples:
// 0 for estimates, and 1.25 octaves for the class.
//
// While estimates are not used, each decision about jobs that come meanwhile is the same as without them:
// neither the due date nor the level in the reserve (below) depends on them
// (TestUselessTimesChangeNothing, TestLevelsRestOnGoodRanks).
//
// The theorem below holds for any estimates. It then counts estimated work: the due date of a job whose
// estimates are ten times too long may be ten times as far away.
//
// # The reserve
//
// Package kit/reserve has the rule, here with 2 % of the slots of each class, rounded
// up, and none in classes of fewer than 10 slots. In a pool of package fair it is the reserve of fair
// that counts: by default there is none. The level of a job is
//
//	0, or 15 if r > 0               without estimates, or if they are not used, useless, or no good as a rank
//	floor(8.999 x(u+r)/(1+xr))      else, with x = min(1, (u/(1-u))^2)
//
// where u is the rank of the phase among the phases that have arrived, by the longest estimate of a task.
// So a job of unknown length starts its first task on the last free slot, and its others only while
// 2 % of the slots are free. A job of known length leaves about 1 % at most, and almost nothing if its
// tasks are shorter than those of most.
//
// A phase of unknown length is known once a task of it has ended and no more of its tasks run than have finished: the first to end of many are
// the shortest (TestTheShortestTasksOfManyAreNotTypical). u is then the part of the samples that took less than the mean
// task of the phase, where those of its octave count half, and the second line holds if u < 1/3. Without that, a wide job of short
// tasks goes on one task at a time while long ones hold the other slots. With u < 1/2, phases of middling tasks fill the reserve,
// and jobs of several short tasks find it taken (TestAWideJobIsKnownByItsFirstTask).
//
// Nothing is reserved against the only live job while its phase has fewer than 8 times as many tasks as the class has
// slots, since a wave more would cost it much: that is a rule of package kit/reserve. From 8 waves of equal tasks on,
// a batch that is alone takes one wave longer, at most an eighth.
//
// The level is 0, too, if all of this holds:
//
//   - no other job has anything to start in the class;
//   - the job runs at least four times as many tasks as it can still start;
//   - as many slots are free as it can still start tasks;
//   - its estimates, where they are used, are not among the longest quarter (u <= 3/4).
//
// Like any level, this one is computed at
// the events of the job. In a pool of package fair that does not hold, since the policy does not see
// what waits in other pools.
//
// A job is due from its due date on: whatever comes later is behind it. While the first job of the order is due and
// is not allowed to start, what starts is out of turn, and the slots that this takes count as free for the first job
// that is due: it starts if more slots are free or held out of turn than it has to leave.
//
// # Gangs
//
// With Options.Gangs, tasks are gangs of package gang, which exist as classes of slots by their width. Then
//
//   - no slots are reserved: a gang slot that stays free waits in vain;
//   - the first job of all classes has its turn: places are reserved for it at once if limits say when it will fit, and else
//     when others have taken eight times as many places as it needs ([Policy.Turn]);
//   - 512 becomes 6 for a job whose lengths are not told, or whose estimates are not used or not exact. Narrow gangs fit into any hole, and a wide one
//     whose length is guessed would wait while others, whose lengths are guessed to be shorter, take the places that it needs.
//
// So once a job is due, nothing that comes later is before it, and each gang that is before it, and it, starts within the bound
// of package gang after it became the first. docs/gangs.md has the measurements.
//
// # No job starves
//
// Let a job have tasks to start in a class from t on, and let its due date be at most D, now and later: that is so with
// the greatest W, times sqrt(r+1), and the greatest F - V that it ever has there. Of the time after max(t, D) suppose
// that the class has N slots, of which k are reserved, that the driver offers free ones after each event, and that no
// attempt there holds its slot for longer than p. Let X be the slot time of all tasks of the class that have not
// started then, of the job and of the jobs that came before D, and of their further attempts.
//
// Theorem. The job has started all tasks that it can start by max(t, D) + (X + N p)/(N-k).
//
// k is 0 for N < 10, and at most N/10. So a job waits at most 512 times its work over its weight, and then about as
// long as the cluster takes for what came before, however much comes later.
//
// docs/theory/leastwork.md has the proof, and what jobs add whose attempts fail for ever.
//
// In a pool of package fair with a reserve, the theorem does not hold: what is held out of turn is known to fair alone.
//
// A job that is adopted with its age has come then. So it does not begin to wait anew whenever a process starts anew.
package leastwork
