//go:build !all

package trial

const thorough = false // see all_test.go
