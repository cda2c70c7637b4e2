//go:build !all

package pfsp_test

const thorough = false // see all_test.go
