// Package stats says how sure one can be of a number that was measured: confidence
// intervals for means, for differences of pairs, and for ratios of means, all two-sided, at
// the level of Confidence, by Student's t.
//
// [Mean], [Difference] and [Ratio] are about a few independent repetitions. They hold for
// normally distributed values, and for others the better the more of them there are.
//
// [Resamples] and [Bootstrapped] are about one long series, whose neighbours depend on one
// another: the moving block bootstrap (Künsch, Annals of Statistics 1989), in the circular
// form of Politis and Romano (1992), with blocks of [BlockLength]. What is computed from the
// same resamples is paired. They hold where a block is long against the time over which
// values depend on one another, and where there are many blocks.
//
// A NaN among the values makes the interval NaN.
package stats
