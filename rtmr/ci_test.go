//go:build ci

package rtmr

// thorough says that the package is compiled with each mistake of mutants_test.go. The
// build tag ci sets it, and .ci/run sets the tag. manyHistories is the number of hostile
// histories for each policy. The laws get one check of rapid in share.
const (
	thorough      = true
	manyHistories = 1000
	share         = 1
)
