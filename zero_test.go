package sojourn_test

import "testing"

// The zero options of a policy are never wrong.
func TestZeroOptions(t *testing.T) {
	for _, m := range makers {
		if _, err := m.make(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
