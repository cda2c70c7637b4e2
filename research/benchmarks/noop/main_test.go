package main

import "testing"

// Each row runs as many tasks as it says, and ends.
func TestRows(t *testing.T) {
	for _, r := range rows() {
		r.run(2, 10)
	}
}
