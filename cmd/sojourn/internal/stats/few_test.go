//go:build !all

package stats

const thorough = false // see all_test.go
