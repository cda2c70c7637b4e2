//go:build ci

package sim_test

// thorough says that paths of queues are long, as .ci/run asks for by the build tag ci.
const thorough = true
