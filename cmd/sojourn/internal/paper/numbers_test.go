package paper

import "testing"

// ofNumbers skips a test that needs the results of many runs, where experiments do not
// run in full. TestExperimentsRun and the scripts check that experiments run at all.
func ofNumbers(t *testing.T) {
	t.Helper()
	if !thorough {
		t.Skip("compares numbers of many runs; .ci/run all does, with the build tag all")
	}
}
