//go:build ci

package workload

// thorough says that moments are those of all seeds, as .ci/run asks for by the build tag
// ci.
const thorough = true
