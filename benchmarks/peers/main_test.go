package main

import "testing"

// Each row makes as many decisions as it says, and ends.
func TestRows(t *testing.T) {
	for _, r := range rows() {
		r.run(1000)
	}
}
