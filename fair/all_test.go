//go:build all

package fair_test

import "testing"

// Above a million runs: go test -tags all -run ExhaustiveLonger -v ./fair
func TestServiceExhaustiveLonger(t *testing.T) { exhaust(t, 9, 0, 1, 4) }
