//go:build all

package flow_test

import "testing"

// Above a million runs.
func TestBoundExhaustiveLonger(t *testing.T) { exhaust(t, 1) }
