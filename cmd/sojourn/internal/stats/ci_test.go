//go:build ci

package stats

// thorough says that tests of chance make many experiments. The build tag ci sets it, and
// .ci/run sets the tag.
const thorough = true
