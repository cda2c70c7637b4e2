//go:build all

package vqueue_test

// thorough says that drifts and years are tried at length, as .ci/run all asks for by
// the build tag all.
const thorough = true
