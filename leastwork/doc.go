// Package leastwork is the policy to start with. It serves the job that has the least work
// left, keeps a few slots for short tasks, and needs no options:
//
//	p, err := leastwork.New(leastwork.Options{})
//
// Tier: stable.
//
// Use it where nothing says that another is better. It takes what jobs say of the lengths of
// their tasks ([sojourn.Phase].Estimate), finds out how good that is, and does without it where
// it is bad or missing. On the traces KTH (100 slots), lublin (320) and FB-2009 (60 map and 30
// reduce slots), at loads from 0.5 to 1.1, told exact sizes or none, it is below fair sharing
// among jobs in the mean, median and 90th percentile of the sojourn time, and in the mean and 99th
// percentile of the slowdown (sojourn compare -p fair:ties=arrival,default --load 0.9, and so on).
// Other traces may differ: sojourn advise tries yours. Another policy is better
//
//   - where accepted deadlines must be kept: package rtmr;
//   - where no job may end later than under fair sharing, and sizes are exact: package pfsp;
//   - where groups of users have a right to their share: package fair, with this policy inside
//     its pools.
//
// # An example
//
// A cluster of 100 slots runs tasks of an hour. A job of two tasks of ten seconds comes. It has
// the least work left, so that it is first in the order, but no task is interrupted: if all 100
// slots are taken, it waits until an hour is over. So the policy does not let the tasks of an hour
// have all slots. Two of the 100 stay free until a job comes whose tasks are short, or of which
// no task runs yet. The ten-second job starts at once.
//
// # The order
//
// Each class of slot has an order of its own. There a job comes before another if its work left
// over its weight is less, and else by arrival. The work left of a phase is
//
//	W = n (p + S) / (t + T)
//
// where n is the told time of its tasks that neither run nor have finished, p how long a task is
// thought to take before any has finished, S how long those took that have finished, and t and T
// the told times of the same: t of the mean task, T of those that have finished. So what has
// finished corrects what was told. Where nothing is told, each task counts as 1 in n, t and T.
// While nothing has finished, p is at least as long as the oldest task has run. The work of a job
// is that of all its phases of the class.
//
// Where r tasks of the job run in the class, W is multiplied by sqrt(r+1) while little is known of
// it: while none of its tasks has finished and nothing good was told, or if what is told is noisy.
// That spreads slots over jobs whose order is a guess.
//
// # What is believed
//
// The first task of each phase that finishes shows how good four predictions of it were:
//
//	told    the told time, times what all told times of the class are off
//	ratio   the told time, times what told times were off under the name of its job
//	name    the mean of tasks under that name; later ones weigh more
//	class   the mean of all tasks of the class, to a whole octave: a minute before there are any. It
//	        changes when it is off by 3/4 of an octave and rests on four times as many tasks as before
//
// All means are of logarithms. For each way a moving mean says by how many octaves (factors of
// two) it was off, of about the last 128 phases. Told times are used while told or ratio is less
// off than name and class, ratio while it is less off than told, and name while it is less off than
// class. A way is taken up when it is better by an eighth, and given up when it is worse by
// an eighth. Told times are exact while they are off by less than half an octave, noisy up to 1.6
// octaves, and useless beyond; they are taken to be better again at three quarters of that. The class
// remembers the 4096 names that voted last.
//
// # Wrong sizes
//
// Sizes may be wrong in any way. What that costs is bounded by three rules.
//
// Told times are used only while they are good. All four moving means weigh the errors of the same
// phases alike, if all phases are told. So as long as told times are used, what they are off is at most
// 9/8 of what the mean of the class is off, in the same weights, up to rounding; both begin with an
// error that counts as much as 16 votes: none for told times, and 1.25 octaves for the class.
//
// While they are not used, each decision is the same as if nothing were told, for jobs that join
// meanwhile: the key, the level in the reserve and D, of below, do not rest on told times then.
//
// The theorem on late jobs holds for any told times. It is then about the work that was told: a job
// whose told times are ten times too long is late ten times later.
//
// # The reserve
//
// Package kit/reserve has the rule, here with 2 % of the slots of each class, rounded
// up, and none in classes of fewer than 25 slots. In a pool of package fair it is the reserve of fair
// that counts: by default there is none. The level of a job is
//
//	0, or 15 if r > 0               where nothing is told, or what is told is not used
//	0, or as below if r > 0         where it is used and useless
//	floor(8.999 x(u+r)/(1+xr))      else, with x = min(1, (u/(1-u))^2)
//
// where u is the rank of the phase among the phases that have arrived, by its longest told task.
// So a job of unknown length starts its first task on the last free slot, and its others only while
// 2 % of the slots are free. A job of known length leaves about 1 % at most, and almost nothing if its
// tasks are shorter than those of most.
//
// A job whose last tasks fit may start them, though slots are reserved: its level is 0 if nobody else
// has anything to start in the class, if it runs at least four times as many tasks as it can still
// start, if as many slots are free as that, and if its tasks are not told to be among the longest quarter
// (u <= 3/4, where what is told is used). Otherwise the last tasks of a job that fills the cluster would wait
// until its first ones end, and it would take twice its time. Like any level, this one is computed at
// the events of the job. In a pool of package fair the rule does not hold, since the policy does not see
// what waits in other pools.
//
// # Late jobs
//
// A stream of short jobs that fills the cluster would keep a long one waiting for as long as it
// lasts. So a job that has waited for long is late, and a sixteenth of the slot time is for late
// jobs, whatever the order and the reserve say.
//
// Each class has a clock, which shows the slot time that the class has offered, used or not: with N
// slots it goes N times as fast as time. A job joins the class when it arrives, and again when its
// next phase there can start. Let A be what the clock shows then, W the work that the job has left
// there, w its weight, and e how many octaves the prediction is off that W rests on: its moving mean
// of above, rounded, and at most 10. The job is late when the clock shows
//
//	D = A + 512 * 2^e * W/w
//
// D stays as it is when more is known of W. It is computed anew, from the same A, when the job
// is revised. If an attempt fails, 512/w times the time for which it held its slot is added when the
// next attempt of the job in the class has ended: see [sojourn.Cause] for what is charged.
//
// As long as tasks that were started because they were late hold less than a sixteenth of the slots,
// a free slot goes to the late job with the least D, or to none if no job is late that has something
// to start. A class of fewer than 16 slots has one such task at a time. When it has held its slot
// for time p, and is charged, the next one starts when the clock shows at least 16 p more than this one was due at: than
// its D, or than what the one before it made it wait for. NextWake says when the next job will be late
// that could start then, since only the reserve keeps slots free.
//
// Where sizes are guessed, many long jobs seem small, and thus late. That is why late jobs do not get
// more than their part, and why a guess gives them more time.
//
// # No job starves
//
// Let a job be late on the slots of a class at t, after the events of that instant, and have a task to
// start there. Let p be the longest time for which an attempt in this class holds its slot, and X the slot
// time of all tasks in the class that have not started at t and belong to the job, or to jobs that come before
// it by D and then by arrival. These are finitely many, since each had joined by t: no job is late
// before it joins. Of the time after t, suppose that
//
//   - the class has N slots, and the driver offers free ones after each event, and sends Tick at NextWake;
//   - no job that had joined by t is revised, and no attempt of those jobs fails or is lost, nor an output;
//   - no further phase of the job can start in this class, and none of its tasks is held.
//
// Theorem. The job has started all its tasks in the class when the clock shows 16 X + (N+16) p more
// than at t.
//
// So the class offers at most 512 * 2^e times the work of a job over its weight before the job is late, and
// then 16 times the work of those that came before, however many come later. A job waits so long
// for each of its phases that join.
//
// Proof. D of a job moves if the job is revised, joins again, or fails. If it joins after t, its D is beyond what
// the clock shows at t. If it fails, its D grows. So no other job comes before the job than those that do at
// t. While it waits, all tasks that start because they are late belong to it or to those. Call them old. They
// take at most X. Let v be what the clock shows at t. What started because it was late before t, while there were fewer
// than 16 slots, makes an old task wait until the clock shows v + 16 p at most.
//
// Let N be at least 16, and m the least integer that is not below N/16. From then on, each slot whose attempt ends
// goes to an old task, until m slots hold tasks that started because they were late. That is after time
// p at most, when each slot has had an attempt that ended. From then on it is always m, since the slot that
// such a task leaves goes to an old one, and all m are old, since what began before t has ended. They
// do X in time X/m, in which the clock goes on by 16 X at most.
//
// Let N be below 16. Let b(i) = v + 16 p + 16 (p(1) + ... + p(i)), where p(i) is the time for which the
// i-th old task holds its slot. By the rule the next one may start when the clock shows b(i), or
// earlier, since all D of old tasks are at most v. Old task i starts when it shows b(i-1) + N p
// at most, by induction: either it waits until it may start, and then for the first slot whose attempt ends, which is
// within time p; or it may start when old task i-1 ends, and gets its slot. The clock then shows at most
// b(i-2) + N p + N p(i-1), which is less than b(i-1) + N p.
//
// Without slots the clock stands still. From the last change of slots on, the theorem holds anew. If attempts of
// other jobs fail for ever, their D grows every other time, until these jobs come after the job: they delay it,
// and do not starve it. In a pool of package fair, N is the number of slots that the pool holds, so that its
// clock goes by what the pool gets.
//
// A job that is adopted with its age joins as if it had come then, and the class had had the slots that
// it has now. So do its phases that open because a task is told to be done: when they opened is not known. So a job
// does not begin to wait anew whenever a process starts anew, if the driver tells it the slots first, as
// package account does. The theorem holds from the last adoption on. In a pool of package fair that has no slots
// yet, the age does not count.
//
// # What it costs
//
// An event or a decision takes O(log n) for n live jobs, and as many steps as the job has phases
// of the class ready; nothing is allocated but when a job arrives. When what is believed of a class
// changes, all its jobs are filed anew, in O(n log n): once at the first task that finishes, and
// seldom after that, by the hysteresis. A phase takes 112 bytes beside its account.
package leastwork
