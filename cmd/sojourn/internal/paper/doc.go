// Package paper repeats the experiments of papers and says how close the numbers are. [All]
// lists them. An [Experiment] is data: workloads, policies, the paper's statement about each
// number, and the tolerance for "reproduced". [Experiment.Run] runs each policy that its rows
// need once on each workload with every seed. The function judge, the same for all
// experiments, finds the verdict of each row.
//
// Each paper has files of its own: hfsp, pfsp, td, rtmr and mars, whose planners are in
// planner.go.
package paper
