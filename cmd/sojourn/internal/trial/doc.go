// Package trial runs policies. A [Setup] says in what: the workload, the cluster, faults,
// locality. [Setup.Open] reads them and gives a [Scenario]; its Run runs policies side by
// side, and [Repeat] runs trials with many seeds. [Vary] makes the trials of a sweep.
//
// Besides simulations there are three other things to try on a workload: [MakePlans] plans
// it offline, [Fluid] serves it in the fluid model, and [Replay] makes the calls of a recorded
// history. A [Bound] says how good any schedule can be.
//
// What comes out is the same whatever the number of processors. Package report prints it.
package trial
