// Package td is the throughput-driven task scheduler.
package td
