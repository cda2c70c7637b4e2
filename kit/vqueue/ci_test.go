//go:build ci

package vqueue_test

// thorough says that drifts and years are tried at length, as .ci/run asks for by
// the build tag ci.
const thorough = true
