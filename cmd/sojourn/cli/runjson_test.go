package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// runJSON runs a command and reads what it prints.
func runJSON(t *testing.T, into any, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := Run(args, strings.NewReader(""), &stdout, &stderr); status != 0 {
		t.Fatalf("sojourn %v: status %d, %s", args, status, &stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		t.Fatalf("sojourn %v: %v", args, err)
	}
}
