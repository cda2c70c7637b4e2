//go:build all

package forecast_test

import "testing"

// Of a million jobs, the first are foreseen, and a driver does not wait longer than with fewer.
//
//	go test -tags all -run TestFirstOfAMillion -v ./forecast
func TestFirstOfAMillion(t *testing.T) {
	firstOf(t, &load{"1,000,000 jobs", least, 1_000_000, oneOf(always(1))}, 2000)
}
