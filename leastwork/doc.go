// Package leastwork is the policy to start with. It serves the job that has the least work
// left, keeps a few slots for short tasks, and needs no options:
//
//	p, err := leastwork.New(leastwork.Options{})
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
//     its pools;
//   - where no job may wait for ever: this policy does not promise that. A stream of short jobs
//     that fills the cluster keeps a long one waiting for as long as it lasts.
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
//	class   the mean of all tasks of the class: a minute before there are any
//
// All means are of logarithms. For each way a moving mean says by how many octaves (factors of
// two) it was off, of about the last 128 phases. Told times are used while told or ratio is less
// off than name and class, ratio while it is less off than told, and name while it is less off than
// class. A way is taken up when it is better by an eighth, and given up when it is worse by
// an eighth. Told times are exact while they are off by less than half an octave, noisy up to 1.6
// octaves, and useless beyond; they are taken to be better again at three quarters of that. The class
// remembers the 4096 names that voted last.
//
// # The reserve
//
// Package kit/reserve has the rule, here with 2 % of the slots of each class, rounded
// up, and none in classes of fewer than 25 slots. The level of a job is
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
// # What it costs
//
// An event or a decision takes O(log n) for n live jobs, and as many steps as the job has phases
// of the class ready; nothing is allocated but when a job arrives. When what is believed of a class
// changes, all its jobs are filed anew, in O(n log n): once at the first task that finishes, and
// seldom after that, by the hysteresis. A phase takes 104 bytes beside its account.
package leastwork
