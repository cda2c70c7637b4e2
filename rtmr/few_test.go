//go:build !all

package rtmr

// See all_test.go.
const (
	thorough      = false
	manyHistories = 100
	share         = 3
)
