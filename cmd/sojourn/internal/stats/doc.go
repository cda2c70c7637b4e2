// Package stats says how certain a measured number is. It has confidence intervals for
// means, for differences of pairs, and for ratios of means, all two-sided, at the level of
// Confidence, by Student's t.
//
// [Mean], [Difference] and [Ratio] are about a few independent repetitions. They hold for
// normally distributed values, and approximately for many values of any distribution.
//
// [Resamples] and [Bootstrapped] are about one long series, whose neighbours depend on one
// another: the moving block bootstrap (Künsch, Annals of Statistics 1989), in the circular
// form of Politis and Romano (1992), with blocks of [BlockLength]. What is computed from the
// same resamples is paired. They hold if a block is long compared with the distance over
// which values depend on one another, and if there are many blocks.
//
// A NaN among the values makes the interval NaN.
package stats
