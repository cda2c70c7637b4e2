//go:build !ci

package pfsp_test

const thorough = false // see ci_test.go
