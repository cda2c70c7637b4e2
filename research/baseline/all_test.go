//go:build all

package baseline_test

// thorough says that the bound is tried on many instances, as .ci/run all asks for by the build
// tag all.
const thorough = true
