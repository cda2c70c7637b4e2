//go:build ci

package pfsp_test

// thorough says that bounds, oracles and years are tried at length, as .ci/run asks for by
// the build tag ci.
const thorough = true
