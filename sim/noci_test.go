//go:build !ci

package sim_test

const thorough = false // see ci_test.go
