//go:build !ci

package rtmr

// See ci_test.go.
const (
	thorough      = false
	manyHistories = 100
	share         = 3
)
