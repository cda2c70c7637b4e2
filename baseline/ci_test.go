//go:build ci

package baseline_test

// thorough says that the bound is tried on many instances, as .ci/run asks for by the build
// tag ci.
const thorough = true
