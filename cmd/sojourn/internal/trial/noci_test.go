//go:build !ci

package trial

const thorough = false // see ci_test.go
