// Package stats says how sure one can be of a number that was measured in a few
// independent repetitions: confidence intervals for means, for differences of
// pairs, and for ratios of means. All are two-sided, at the level of Confidence,
// by Student's t: they hold for normally distributed values, and for others the
// better the more of them there are.
//
// A NaN among the values makes the interval NaN.
package stats
