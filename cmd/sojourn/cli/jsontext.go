package cli

import (
	"encoding/json"
	"io"
	"math"
	"time"
)

// A real is a number in JSON, null where it is none.
type real float64

// MarshalJSON returns the shortest number that denotes r.
func (r real) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(r)) || math.IsInf(float64(r), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(r))
}

// A seconds is an exact number of seconds in JSON.
type seconds time.Duration

// MarshalJSON returns the shortest number that is exactly s.
func (s seconds) MarshalJSON() ([]byte, error) { return []byte(formatSeconds(time.Duration(s))), nil }

// writeJSON writes one value, indented, and a line end.
func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
