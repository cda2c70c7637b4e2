package catalog

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Docs holds the comments of Go declarations: of a field as "path/to/package.Type.Field",
// and of each of the constants that are the values of a type as
// "path/to/package.Type=Constant".
type Docs map[string]string

// A Description explains one option, or several that are explained together.
type Description struct {
	Options []Described
	Text    string // meaning, unit, default; "" if there is no comment
}

// A Described is an option with its values.
type Described struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`             // of value, such as "duration"; "choice" among Values
	Values []Choice `json:"values,omitempty"` // the first is the default
	Text   string   `json:"text"`             // the text of the Description, if it has one option
}

// A Choice is a value that has a name.
type Choice struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
}

// Describe describes the options of the entry, in order. The text is the comment of the
// field, with names of options in place of Go names, or its tag doc:"...". A field that
// has neither belongs to the field before it.
func (e *Entry) Describe(docs Docs) []Description {
	var (
		all   []Description
		names = map[string]string{} // by the identifiers of Go
	)
	for _, f := range reflect.VisibleFields(e.options) {
		name, ok := optionName(f)
		if !ok {
			continue
		}
		key := owner(e.options, f) + "." + f.Name
		text := docs[key]
		if tag, ok := f.Tag.Lookup("doc"); ok {
			text = tag
		}
		names[f.Name] = strings.TrimSuffix(name, mapSuffix)
		o := Described{Name: name, Kind: kindOf(f.Type)}
		t := valueType(f)
		for _, value := range values(t) {
			choice := Choice{Name: value}
			if constants := strings.Fields(docs[typeName(t)]); len(o.Values) < len(constants) {
				constant := constants[len(o.Values)]
				names[constant] = value
				choice.Text = strings.TrimLeft(strings.TrimPrefix(docs[typeName(t)+"="+constant], constant), ": ")
			}
			o.Values = append(o.Values, choice)
		}
		if n := len(all); n > 0 && text == "" && all[n-1].Text != "" {
			all[n-1].Options = append(all[n-1].Options, o)
			continue
		}
		all = append(all, Description{[]Described{o}, text})
	}
	for i := range all {
		all[i].Text = translated(all[i].Text, names)
		for k := range all[i].Options {
			for v := range all[i].Options[k].Values {
				choice := &all[i].Options[k].Values[v]
				choice.Text = translated(choice.Text, names)
			}
		}
	}
	return all
}

// Explained returns the options of the entry, each with its text. Options that are described together have the same.
func (e *Entry) Explained(docs Docs) []Described {
	all := []Described{}
	for _, d := range e.Describe(docs) {
		for _, o := range d.Options {
			o.Text = d.Text
			all = append(all, o)
		}
	}
	return all
}

// Types returns the types of the options of the entry: the structs that declare them, and
// those whose values have names.
func (e *Entry) Types() []reflect.Type {
	var types []reflect.Type
	for _, f := range reflect.VisibleFields(e.options) {
		if _, ok := optionName(f); !ok {
			continue
		}
		types = append(types, declaring(e.options, f))
		if t := valueType(f); t.Kind() == reflect.Uint8 && len(values(t)) > 0 {
			types = append(types, t)
		}
	}
	return types
}

// declaring returns the struct that declares a field of t, which may be embedded in it.
func declaring(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return t
}

// valueType returns the type of the value that text sets, behind pointers and keys.
func valueType(f reflect.StructField) reflect.Type {
	t := f.Type
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

func owner(t reflect.Type, f reflect.StructField) string { return typeName(declaring(t, f)) }

func typeName(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// values returns the names of the values of a type. The type lists them itself, or reads
// and prints names for the numbers from 0 on.
func values(t reflect.Type) []string {
	if lister, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
		return lister.Values()
	}
	var names []string
	if t.Kind() != reflect.Uint8 || !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) ||
		!t.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return nil
	}
	for v := reflect.New(t).Elem(); ; v.SetUint(v.Uint() + 1) {
		name := v.Interface().(fmt.Stringer).String()
		again := reflect.New(t)
		if err := again.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(name)); err != nil || again.Elem().Uint() != v.Uint() {
			return names
		}
		names = append(names, name)
	}
}

// kindBool is the kind of truth values.
const kindBool = "true or false"

// kindOf returns a word for the texts that set a value of type t.
func kindOf(t reflect.Type) string {
	switch {
	case len(values(t)) > 0:
		return "choice"
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Map:
		return kindOf(t.Elem())
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t.Kind() == reflect.Bool:
		return kindBool
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		return "integer"
	}
	return "text"
}

var (
	identifier = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*`)
	docLink    = regexp.MustCompile(`\[([A-Za-z.]+)\]`)
)

// translated returns a comment in one line, without links, and with other names for some
// identifiers.
func translated(text string, names map[string]string) string {
	text = docLink.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1")
	text = strings.ReplaceAll(text, "Nil means", "Not given means")
	return identifier.ReplaceAllStringFunc(text, func(word string) string {
		if name, ok := names[word]; ok {
			return name
		}
		return word
	})
}
