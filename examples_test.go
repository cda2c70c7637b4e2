package sojourn_test

import (
	"bytes"
	"os"
	"testing"
)

// The examples of package live are short: a reader sees each on two screens.
func TestExamplesAreShort(t *testing.T) {
	for _, name := range []string{"wordcount", "cifarm", "deadlines", "inference", "shadowrun", "quickstart", "restart"} {
		text, err := os.ReadFile("examples/" + name + "/main.go")
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > 100 {
			t.Errorf("examples/%s/main.go has %d lines, want at most 100", name, lines)
		}
	}
}
