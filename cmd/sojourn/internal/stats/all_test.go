//go:build all

package stats

// thorough says that tests of chance make many experiments. The build tag all sets it, and
// .ci/run all sets the tag.
const thorough = true
