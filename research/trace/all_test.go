//go:build all

package trace

// thorough says that limits of the default size are tried, and traces cut off at each
// byte. The build tag all sets it, and .ci/run all sets the tag.
const thorough = true
