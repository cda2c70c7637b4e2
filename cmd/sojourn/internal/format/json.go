package format

import (
	"encoding/json"
	"io"
	"math"
	"time"
)

// A Real is a number in JSON, null where it is none.
type Real float64

// MarshalJSON returns the shortest number that denotes r.
func (r Real) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(r)) || math.IsInf(float64(r), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(r))
}

// A Seconds is an exact number of seconds in JSON.
type Seconds time.Duration

// MarshalJSON returns the shortest number that is exactly s.
func (s Seconds) MarshalJSON() ([]byte, error) { return []byte(Duration(time.Duration(s))), nil }

// WriteJSON writes one value, indented, and a line end.
func WriteJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
