//go:build !ci

package baseline_test

const thorough = false // see ci_test.go
