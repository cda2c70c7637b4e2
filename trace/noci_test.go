//go:build !ci

package trace

const thorough = false // see ci_test.go
