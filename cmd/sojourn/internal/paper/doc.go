// Package paper repeats the experiments of papers and says how near the numbers come. [All]
// lists them. An [Experiment] is data: workloads, policies, what the paper says of each
// number, and how far off counts as reproduced. [Experiment.Run] runs what its rows need, each
// policy once on each workload with every seed, and judge, the same for all, finds the
// verdict of each row.
//
// Each paper has files of its own: hfsp, pfsp, td, rtmr and mars, whose planners are in
// planner.go.
package paper
