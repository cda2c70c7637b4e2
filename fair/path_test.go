package fair

import (
	"slices"
	"strings"
	"testing"
)

// A path has at most maxDepth elements, and the last one has the rest; to read it allocates nothing.
func TestSplit(t *testing.T) {
	for _, path := range []string{"", "a", "a/b", "/", "//", "a/", strings.Repeat("x/", 14) + "y", strings.Repeat("x/", 15) + "y", strings.Repeat("x/", 16) + "y", strings.Repeat("/", 99)} {
		if got, want := slices.Collect(split(path)), strings.SplitN(path, "/", maxDepth); !slices.Equal(got, want) {
			t.Errorf("split(%q) = %q, want %q", path, got, want)
		}
	}
	n := 0
	if allocs := testing.AllocsPerRun(10, func() {
		for name := range split("a/b/c") {
			n += len(name)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
	for range split("a/b") { // stops when it is told to
		break
	}
}
