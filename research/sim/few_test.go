//go:build !all

package sim_test

const thorough = false // see all_test.go
