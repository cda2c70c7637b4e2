//go:build ci

package trace

// thorough says that limits of the default size and traces cut off at each byte are tried,
// as .ci/run asks for by the build tag ci.
const thorough = true
