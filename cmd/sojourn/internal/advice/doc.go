// Package advice says which policy to use on a workload. [Run] runs the candidates at several
// loads; [Study.Evaluate] ranks them by an objective and says how sure that is. An [Advice]
// has a Write for people and a Summary for programs; [Table] is a line for each of several
// workloads.
//
// What is compared is, for each load, a number of all jobs, such as their mean sojourn time;
// over loads, the mean of its logarithm, so that ratios are geometric means. For deadlines it
// is the share of the jobs that miss theirs, and differences take the place of ratios.
//
// Intervals are those of a moving block bootstrap over the jobs in the order of arrival
// (package stats): the same blocks for all policies and loads, so that what a stretch of the
// trace does to all of them cancels out. A block is twice as long as the longest that the rule
// of Politis and White gives for any policy at any load, but so that there are at least ten
// blocks. Policies whose ratio to the best may be 1 are said to be tied with it.
package advice
