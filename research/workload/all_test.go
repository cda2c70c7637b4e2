//go:build all

package workload

// thorough says that moments are those of all seeds, as .ci/run all asks for by the build tag
// all.
const thorough = true
