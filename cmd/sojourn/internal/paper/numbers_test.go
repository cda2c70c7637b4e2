package paper

import "testing"

// ofNumbers skips a test of what comes out of many runs where experiments do not run in
// full. That they run at all is for TestExperimentsRun and the scripts.
func ofNumbers(t *testing.T) {
	t.Helper()
	if !thorough {
		t.Skip("compares numbers of many runs; .ci/run does, with the build tag ci")
	}
}
