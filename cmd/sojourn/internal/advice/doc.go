// Package advice says which policy to use on a workload. [Run] runs the candidates at several
// loads. [Study.Evaluate] ranks them by an objective and says how certain the ranking is. An
// [Advice] has a Write for people and a Summary for programs. A [Table] has a line for each
// of several workloads.
//
// For each load, policies are compared by a number for all jobs, such as their mean sojourn
// time. Over loads they are compared by the mean of its logarithm, so that ratios are
// geometric means. For deadlines, the number is the share of the jobs that miss theirs, and
// differences replace ratios.
//
// Intervals come from a moving block bootstrap over the jobs in the order of arrival (package
// stats). All policies and loads have the same blocks, so that the common effects of a stretch
// of the trace cancel out. A block is twice as long as the longest that the rule of Politis
// and White gives for any policy at any load, but there are at least ten blocks. A policy is
// tied with the best one if the interval of their ratio contains 1.
package advice
