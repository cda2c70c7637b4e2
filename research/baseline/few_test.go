//go:build !all

package baseline_test

const thorough = false // see all_test.go
