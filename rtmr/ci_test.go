//go:build ci

package rtmr

// thorough says that the package is compiled with each mistake of mutants_test.go, as
// .ci/run asks for by the build tag ci.
const thorough = true
