//go:build all

package rtmr

// thorough says that the package is compiled with each mistake of mutants_test.go. The
// build tag all sets it, and .ci/run all sets the tag. manyHistories is the number of hostile
// histories for each policy. The laws get one check of rapid in share.
const (
	thorough      = true
	manyHistories = 1000
	share         = 1
)
