package catalog

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// mapSuffix ends the name of an option that is a map, in lists.
const mapSuffix = ".KEY"

// optionName returns the name of the option that sets a field, which a tag such as
// option:"name" may give, and reports whether there is one: the field is exported
// and of a kind that text can set.
func optionName(f reflect.StructField) (string, bool) {
	name := kebab(f.Name)
	if tag, ok := f.Tag.Lookup("option"); ok {
		name = tag
	}
	switch {
	case !f.IsExported() || f.Anonymous:
		return "", false
	case settable(f.Type):
		return name, true
	case f.Type.Kind() == reflect.Map && f.Type.Key().Kind() == reflect.String && settable(f.Type.Elem()):
		return name + mapSuffix, true
	}
	return "", false
}

// kebab turns the name of a Go field into lower case words with hyphens between
// them. A word starts at a capital after a small letter or digit, and at the
// last capital of several before a small letter: NoGate, MTBFScale and L2 are
// no-gate, mtbf-scale and l2.
func kebab(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// settable reports whether setText can set a value of type t.
func settable(t reflect.Type) bool {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer:
		return settable(t.Elem())
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// setText sets v, which is settable, to what text denotes.
func setText(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return setText(v.Elem(), text)
	case v.Type() == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("want a duration such as 5s or 1m30s, got %q", text)
		}
		v.SetInt(int64(d))
		return nil
	case v.Kind() == reflect.String:
		v.SetString(text)
		return nil
	case v.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("want true or false, got %q", text)
		}
		v.SetBool(b)
		return nil
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if err != nil {
			return numberError("an integer", text, err)
		}
		v.SetInt(n)
		return nil
	case v.CanUint():
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		if err != nil {
			return numberError("an integer that is not negative", text, err)
		}
		v.SetUint(n)
		return nil
	default:
		f, err := strconv.ParseFloat(text, v.Type().Bits())
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return numberError("a finite number", text, err)
		}
		v.SetFloat(f)
		return nil
	}
}

func numberError(want, text string, err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s is out of range", text)
	}
	return fmt.Errorf("want %s, got %q", want, text)
}

// setKey sets one key of a map.
func setKey(m reflect.Value, key, text string) error {
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	v := reflect.New(m.Type().Elem()).Elem()
	if err := setText(v, text); err != nil {
		return err
	}
	m.SetMapIndex(reflect.ValueOf(key).Convert(m.Type().Key()), v)
	return nil
}
