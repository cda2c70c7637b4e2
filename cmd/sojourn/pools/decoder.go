package pools

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A fault is what is wrong at a place of the text.
type fault struct {
	off    int
	reason string
}

func (f *fault) Error() string { return f.reason }

func faultf(off int, format string, args ...any) error {
	return &fault{off, fmt.Sprintf(format, args...)}
}

// A decoder reads the tokens of a text and knows where they are.
type decoder struct {
	data   []byte
	json   *json.Decoder
	policy func(spec string) (func() sojourn.Policy, error)
}

// next returns the next token, and where it begins.
func (d *decoder) next() (json.Token, int, error) {
	off := int(d.json.InputOffset())
	for off < len(d.data) && strings.IndexByte(" \t\r\n,:", d.data[off]) >= 0 {
		off++
	}
	token, err := d.json.Token()
	return token, off, err
}

// syntax returns what keeps data from being one JSON value.
func syntax(data []byte) error {
	var value json.RawMessage
	err := json.Unmarshal(data, &value)
	var bad *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &bad):
		return faultf(0, "invalid JSON: %v", err)
	case bad.Error() == "unexpected end of JSON input":
		return faultf(len(data), "invalid JSON: it ends too early")
	}
	return faultf(max(int(bad.Offset)-1, 0), "invalid JSON: %v", bad)
}

// object reads an object. It calls field for each key, which reads the value.
func (d *decoder) object(what string, field func(key string, off int) error) (off int, err error) {
	token, off, err := d.next()
	if err != nil {
		return off, err
	}
	if token != json.Delim('{') {
		return off, faultf(off, "%s: want an object, found %s", what, found(token))
	}
	seen := map[string]bool{}
	for {
		token, at, err := d.next()
		if err != nil {
			return off, err
		}
		key, ok := token.(string)
		if !ok {
			return off, nil
		}
		if seen[key] {
			return off, faultf(at, "duplicate key %.40q", key)
		}
		seen[key] = true
		if err := field(key, at); err != nil {
			return off, err
		}
	}
}

// found says what a token begins.
func found(token json.Token) string {
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return strconv.FormatBool(token)
	}
	return "null"
}

func unknown(key string, off int) error { return faultf(off, "unknown key %.40q", key) }

func (d *decoder) text(what string) (string, int, error) {
	token, off, err := d.next()
	if err != nil {
		return "", off, err
	}
	s, ok := token.(string)
	if !ok {
		return "", off, faultf(off, "%s: want a string, found %s", what, found(token))
	}
	return s, off, nil
}

func (d *decoder) truth(what string) (bool, error) {
	token, off, err := d.next()
	if err != nil {
		return false, err
	}
	b, ok := token.(bool)
	if !ok {
		return false, faultf(off, "%s: want true or false, found %s", what, found(token))
	}
	return b, nil
}

func (d *decoder) number(what string) (float64, int, error) {
	token, off, err := d.next()
	if err != nil {
		return 0, off, err
	}
	n, ok := token.(json.Number)
	if !ok {
		return 0, off, faultf(off, "%s: want a number, found %s", what, found(token))
	}
	f, err := n.Float64()
	if err != nil {
		return 0, off, faultf(off, "%s: %.40s is out of range", what, n)
	}
	return f, off, nil
}

// count reads an integer from least on.
func (d *decoder) count(what string, least, most int) (int, error) {
	f, off, err := d.number(what)
	if err != nil {
		return 0, err
	}
	if f != math.Trunc(f) || f < float64(least) || f > float64(most) {
		return 0, faultf(off, "%s: want an integer from %d to %d, found %v", what, least, most, f)
	}
	return int(f), nil
}

func (d *decoder) seconds(what string) (time.Duration, error) {
	f, off, err := d.number(what)
	if err != nil {
		return 0, err
	}
	if !(f > 0 && f <= 1e9) {
		return 0, faultf(off, "%s: want seconds above 0 and up to 1e9, found %v", what, f)
	}
	return time.Duration(math.Floor(float64(f*1e9) + 0.5)), nil
}
