//go:build !ci

package cli

const thorough = false // see ci_test.go
