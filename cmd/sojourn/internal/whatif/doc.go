// Package whatif answers questions about one recorded run. [Explain] says why a job waited:
// which jobs went before it, by which quantities of the policy, and what would have let it start
// sooner, found by running the jobs again. The package takes calls of a history and writes
// to an io.Writer; it knows no files and no flags.
package whatif
