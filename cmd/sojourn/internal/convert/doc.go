// Package convert turns traces of other formats into workloads. A [Conversion] says how; its
// Write writes all of the workload, or nothing if the trace has a fault.
package convert
