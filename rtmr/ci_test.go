//go:build ci

package rtmr

// thorough says that the package is compiled with each mistake of mutants_test.go, as
// .ci/run asks for by the build tag ci. manyHistories are hostile ones for each policy.
const (
	thorough      = true
	manyHistories = 1000
)
