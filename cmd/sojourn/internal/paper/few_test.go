//go:build !all

package paper

const thorough = false // see all_test.go
