//go:build ci

package stats

// thorough says that tests of chance take many experiments, as .ci/run asks for by the build
// tag ci.
const thorough = true
