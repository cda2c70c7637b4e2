//go:build !all

package workload

const thorough = false // see all_test.go
