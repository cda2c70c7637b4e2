// Package input reads workloads and clusters. A [Source] names both and opens them: they
// are files, made by a generator, or built in. [ScaledLoad] brings a workload to a load.
// [Validate] says what is in a file.
//
// A [Workload] is in memory, or is read from its file each time.
package input
