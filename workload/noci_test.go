//go:build !ci

package workload

const thorough = false // see ci_test.go
