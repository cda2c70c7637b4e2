//go:build ci

package trial

// thorough says that experiments of papers run in full. The build tag ci sets it, and
// .ci/run sets the tag.
const thorough = true
