//go:build !all

package cli

const thorough = false // see all_test.go
