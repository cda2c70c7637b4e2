package format

import (
	"bytes"
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

// WriteJSON writes one value, indented, and a line end. A terminal may show it.
func WriteJSON(w io.Writer, value any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		return err
	}
	_, err := io.WriteString(w, VisibleLines(text.String()))
	return err
}
