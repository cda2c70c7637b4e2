package gpstest

import (
	"time"

	"pgregory.net/rapid"
)

// A Ranges draws numbers for tests of virtual clusters: small ones, which cause
// coincidences, and numbers from the whole range.
type Ranges struct {
	Works   *rapid.Generator[uint64] // in slot-nanoseconds
	Weights *rapid.Generator[uint64] // in units of 2^-16
	Slots   *rapid.Generator[int]
	Steps   *rapid.Generator[int64] // of time, in nanoseconds
}

// AllRanges returns the Ranges.
func AllRanges() Ranges {
	const one = 1 << 16
	return Ranges{
		Works: rapid.OneOf(
			rapid.Uint64Range(0, 20),
			rapid.Uint64Range(1, 1<<40),
			rapid.Uint64Range(1, 1<<63),
		),
		Weights: rapid.OneOf(
			rapid.Just[uint64](one),
			rapid.Uint64Range(1, 4*one),
			rapid.Uint64Range(1<<40, 1<<48),
			rapid.SampledFrom([]uint64{1, 3 * one, 1 << 48}),
		),
		Slots: rapid.OneOf(rapid.IntRange(0, 8), rapid.IntRange(1, 1_000_000)),
		Steps: rapid.OneOf(
			rapid.Int64Range(0, 30),
			rapid.Int64Range(1, 1<<40),
			rapid.Int64Range(1, int64(365*24*time.Hour)),
		),
	}
}
