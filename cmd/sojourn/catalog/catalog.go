package catalog

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// An Entry is a policy that can be asked for by name. [NewEntry] makes one
// from a constructor.
type Entry struct {
	Name    string // lower case letters, digits and hyphens
	Summary string // one line for a list of policies
	Package string // that declares it

	options reflect.Type // a struct
	make    func(options reflect.Value) (sojourn.Policy, error)
}

// NewEntry returns the entry of a constructor, which may refuse its options. It
// panics if the name could not be asked for or O is not a struct.
func NewEntry[O any, P sojourn.Policy](name, summary string, make func(O) (P, error)) Entry {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || name == "" {
		panic(fmt.Sprintf("the name of a policy is %q: want lower case letters, digits and hyphens", name))
	}
	if kind := reflect.TypeFor[O]().Kind(); kind != reflect.Struct {
		panic(fmt.Sprintf("policy %s: options of kind %v: want a struct", name, kind))
	}
	return Entry{
		Name:    name,
		Summary: summary,
		Package: reflect.TypeFor[O]().PkgPath(),
		options: reflect.TypeFor[O](),
		make: func(options reflect.Value) (sojourn.Policy, error) {
			p, err := make(options.Interface().(O))
			if err != nil {
				return nil, err
			}
			return p, nil
		},
	}
}

// Options returns the names of the options of the entry, in the order of the
// fields. An option that is a map from strings is listed as "name.KEY": each
// key is set by itself, as in "fair:pools.etl=3,pools.web=1".
func (e *Entry) Options() []string {
	var names []string
	for _, f := range reflect.VisibleFields(e.options) {
		if name, ok := optionName(f); ok {
			names = append(names, name)
		}
	}
	return names
}

// A Catalog is a list of entries with distinct names.
type Catalog []Entry

// With returns the catalog with more entries. One takes the place of an entry of
// the same name.
func (c Catalog) With(more ...Entry) Catalog {
	c = slices.Clone(c)
	for _, e := range more {
		if i := slices.IndexFunc(c, func(old Entry) bool { return old.Name == e.Name }); i >= 0 {
			c[i] = e
		} else {
			c = append(c, e)
		}
	}
	return c
}

// Names returns the names of the entries, in their order.
func (c Catalog) Names() []string {
	names := make([]string, len(c))
	for i := range c {
		names[i] = c[i].Name
	}
	return names
}

// Find returns the entry of a name. The error for an unknown name lists the known ones.
func (c Catalog) Find(name string) (*Entry, error) {
	i := slices.IndexFunc(c, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown policy %q; known policies: %s%s", name, strings.Join(c.Names(), ", "), visible.Meant(name, c.Names()))
	}
	return &c[i], nil
}

// New makes a policy. If the name or an option is unknown, the error lists the known ones;
// if a value is wrong, the error says which.
func (c Catalog) New(s Spec) (sojourn.Policy, error) {
	e, err := c.Find(s.Name)
	if err != nil {
		return nil, err
	}
	options, err := e.read(s)
	if err != nil {
		return nil, err
	}
	p, err := e.make(options)
	if err != nil {
		return nil, visible.Errorf("policy %s: %w", s, e.named(err))
	}
	return p, nil
}

// read returns the options of a spec.
func (e *Entry) read(s Spec) (options reflect.Value, err error) {
	options = reflect.New(e.options).Elem()
	for _, o := range s.Options {
		if err := e.set(options, o); err != nil {
			return options, err
		}
	}
	return options, nil
}

// named returns an error about the value of a field with the name of the option that sets
// the field, and other errors as they are.
func (e *Entry) named(err error) error {
	var bad interface {
		Field() string
		Problem() string
	} // of internal/option
	if !errors.As(err, &bad) {
		return err
	}
	names := map[string]string{}
	for _, f := range reflect.VisibleFields(e.options) {
		if name, ok := optionName(f); ok {
			names[f.Name] = strings.TrimSuffix(name, mapSuffix)
		}
	}
	field := bad.Field()
	field = field[strings.LastIndex(field, ".")+1:]
	if names[field] == "" {
		return err
	}
	// Not wrapped: a policy that contains this one has other options, and must not
	// translate the name again.
	return errors.New("option " + translated(field+bad.Problem(), names))
}

// Make makes the policy that a text names, such as "hfsp:node-delay=3s". See [Parse] and
// [Catalog.New].
func (c Catalog) Make(text string) (sojourn.Policy, error) {
	spec, err := parseOne(text)
	if err != nil {
		return nil, err
	}
	return c.New(spec)
}

// Constructor returns a function that makes the policy that a text names, a new one at
// each call. It makes one at once, so that errors show here.
func (c Catalog) Constructor(text string) (func() sojourn.Policy, error) {
	spec, err := parseOne(text)
	if err != nil {
		return nil, err
	}
	if _, err := c.New(spec); err != nil {
		return nil, err
	}
	return func() sojourn.Policy {
		p, err := c.New(spec)
		if err != nil {
			panic(err) // Constructor has made it once
		}
		return p
	}, nil
}

// set assigns one option to its field.
func (e *Entry) set(options reflect.Value, o Option) error {
	for _, f := range reflect.VisibleFields(e.options) {
		name, ok := optionName(f)
		if !ok {
			continue
		}
		v := options.FieldByIndex(f.Index)
		var err error
		if prefix, isMap := strings.CutSuffix(name, mapSuffix); isMap {
			key, found := strings.CutPrefix(o.Name, prefix+".")
			if !found || key == "" {
				continue
			}
			err = setKey(v, key, o.Value)
		} else {
			if name != o.Name {
				continue
			}
			err = setText(v, o.Value)
		}
		if err != nil {
			return visible.Errorf("policy %s: option %s: %w", e.Name, o.Name, err)
		}
		return nil
	}
	known := strings.Join(e.Options(), ", ")
	if known == "" {
		return visible.Errorf("policy %s has no options, so %q is unknown", e.Name, o.Name)
	}
	return visible.Errorf("policy %s has no option %q; known options: %s%s", e.Name, o.Name, known, visible.Meant(o.Name, e.Options()))
}
