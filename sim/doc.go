// Package sim runs a policy on a simulated cluster.
package sim
