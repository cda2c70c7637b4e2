//go:build !ci

package stats

const thorough = false // see ci_test.go
