//go:build !ci

package rtmr

const thorough = false // see ci_test.go
