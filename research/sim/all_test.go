//go:build all

package sim_test

// thorough says that paths of queues are long, as .ci/run all asks for by the build tag all.
const thorough = true
