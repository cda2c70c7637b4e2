// Package input reads what policies are run on: a [Source] names a workload and a cluster,
// which are files, made by a generator, or built in, and opens them. [ScaledLoad] brings a
// workload to a load. [Validate] says what is in a file.
//
// A [Workload] lies in memory, or is read anew from its file each time.
package input
