//go:build !ci

package paper

const thorough = false // see ci_test.go
