//go:build ci

package paper

// thorough says that experiments of papers run in full, as .ci/run asks for by the build
// tag ci.
const thorough = true
