//go:build !all

package cli

const thorough = false // see all_test.go

// widths of terminals in TestOutputFits.
var widths = [...]string{"60"}
