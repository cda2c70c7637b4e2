//go:build ci

package trace

// thorough says that limits of the default size are tried, and traces cut off at each
// byte. The build tag ci sets it, and .ci/run sets the tag.
const thorough = true
