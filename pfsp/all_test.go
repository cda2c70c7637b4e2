//go:build all

package pfsp_test

// thorough says that bounds, oracles and years are tried at length, as .ci/run all asks for by
// the build tag all.
const thorough = true
