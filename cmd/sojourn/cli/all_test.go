//go:build all

package cli

// thorough says that experiments of papers run in full. The build tag all sets it, and
// .ci/run all sets the tag.
const thorough = true

// widths of terminals in TestOutputFits.
var widths = [...]string{"60", "80"}
