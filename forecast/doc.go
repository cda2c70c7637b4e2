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
// Tier: kit.
//
// # How it is told
//
// Foresee runs the new policy on what is there now, many times, and no job arrives. Each time it draws what the tasks will
// take. An interval has the 5 %, 50 % and 95 % quantiles of these draws. The new policy continues from all that the one in charge has
// learned, if both can be saved and are alike ([sojourn.Snapshotter]); otherwise it is told the facts alone. Attempts fail as often
// as they did, at any moment of their run, and are repeated. Reading input and moving output take no time, and held tasks are not
// released. So a forecast is no promise: [sojourn.Admitter] is one.
//
// # What a task takes
//
// For a phase whose tasks are all told, the model is of the logarithm y of the ratio of the time to the estimate, and otherwise of the
// logarithm of the time:
//
//	y = b + a + v + e
//
//	b   what is usual for phases of its kind at that time. A kind is a place in the jobs of one name, and a class of slot. From
//	    job to job b may move by a random step. Kinds of one class are alike, and so are classes.
//	a   a deviation of the job, in all its phases
//	v   a deviation of the phase of the job
//	e   a deviation of the task, which is drawn from those that tasks of the kind had, and while they are few, also from those of
//	    other kinds and from a normal distribution
//
// The sizes of all deviations are unknown. So each draw is of everything that is unknown, from its distribution given what tasks took and
// how long others have run: a Gibbs sampler of a hierarchical model, with a bootstrap of e [GCSDVR13, chapters 5, 11 and 15; Efr79]. So
// few tasks make wide intervals. While no task has finished, the 90 % interval of a task with an estimate reaches from about a 2.4th of its
// estimate to 2.4 times as much; if estimates are wrong by more, intervals follow after some finishes
// (TestToldSizesAreBelievedAtFirst). If all estimates were exact, they count as exact. If all tasks of a kind took the same, another
// time is drawn with a probability of 1 over the number of tasks.
//
// # How good it is
//
// The 90 % interval holds 86 to 94 % of the finishes, in the mean over 200 random worlds of each of twelve kinds: sizes
// told or not, names or none, light and heavy load, times of tasks that differ by factors of exp(0.3) and exp(1), under fifo, fair
// and the default policy (TestCalibrationOfAll). The worlds are such that tasks take what the model says. [docs/forecast.md] has
// the numbers, those of other worlds, and what is known to be worse.
//
// # Of many jobs
//
// With [Question.MaxTasks], many jobs are no burden: the policy is locked for 1,024 jobs at a time, and otherwise for what runs. A new policy is
// told of all jobs, part by part, and those that it ranks first are kept, as many of each pool. The draws run with these, until a job would
// start behind which others are left out, or MaxTasks tasks have started. Until then a draw is that of all jobs, as far as
// the order among those that wait stays as it is now: an end may be later than said where one that was left out overtakes,
// as sizes are learned or priorities grow. Of a job that goes on then, and of which 20 tasks have ended, the end follows from how fast it went.
// The new policy is told the facts alone, also where what the one in charge has learned could be saved. How far finishes are from
// those of a forecast of all that is told the same facts, and from one with what was learned, in parts of the mean time until they are there (TestFirstJobsAgainstAll):
//
//	                                        the same facts   with what was learned
//	fifo, 29,500 jobs of a task                  0                0
//	fair, 5,973 jobs of 1 to 20 tasks            0                9.1 %
//	fair, 29,763 jobs of 1 or 2 tasks            0               75 %
//	default, 11,618 jobs of a heavy tail         0.2 %            1.2 %
//	fair, 30 jobs of 2,000 tasks                 3.3 %            3.3 %
//	one job of 50,000 tasks                      0.1 %            0.1 %
//	fair, 2,000 jobs of 30 tasks                 1.5 %            5.9 %
//
// Under fair, jobs that run as much as others take turns, and whose turn it is is no fact: of thousands of such jobs, those that have had theirs are foreseen too
// early, and the others too late.
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
// What tasks took is part of the snapshot of a Watch, so a journal around it keeps that over restarts (TestForecastAfterARestart).
//
// # Cost
//
// An event costs what it costs package account. The memory is that of an account, and of each of 1,000 kinds of phases what 16
// tasks of each of 32 jobs took; of a phase of a live job, what 1,000 tasks took. A forecast locks the policy while it copies the facts,
// of few jobs at a time if MaxTasks says so, and then simulates without the lock: each draw takes as many decisions as there are tasks left, and a pass over at most about
// 256 phases of former jobs. A Watch may be used by a driver in one goroutine while others ask.
//
// # References
//
//	[GCSDVR13] Gelman, Carlin, Stern, Dunson, Vehtari, Rubin: Bayesian Data Analysis, 3rd edition. CRC Press 2013.
//	[Efr79]    Efron: Bootstrap methods: another look at the jackknife. Annals of Statistics 7(1), 1979.
//
// [docs/forecast.md]: https://github.com/sojourn-sched/sojourn/blob/main/docs/forecast.md
package forecast
