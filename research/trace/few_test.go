//go:build !all

package trace

const thorough = false // see all_test.go
