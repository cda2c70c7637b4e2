// Package report prints and writes the results of runs. Each report has a Write for people
// and a Summary for programs, which becomes JSON:
//
//	Comparison  of policies that were run once, for compare and run
//	Repetition  of policies that were run with several seeds
//	Sweep       of the values of what varies
//	Plans       of plans and their lower bound
//
// [WriteRuns] runs policies and writes their files: jobs.csv, tasks.csv, history.txt,
// run.json.
package report
