// Package trial runs policies. A [Setup] describes the workload, the cluster, faults, and
// locality. [Setup.Open] reads them and returns a [Scenario], whose Run runs policies
// side by side. [Repeat] runs trials with many seeds. [Vary] makes the trials of a sweep.
//
// There are three other things to try on a workload: [MakePlans] plans it offline, [Fluid]
// serves it in the fluid model, and [Replay] makes the calls of a recorded history. A [Bound]
// says how good any schedule can be.
//
// Results do not depend on the number of processors. Package report prints them.
package trial
