package catalog_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	spec := func(name string, options ...string) catalog.Spec {
		s := catalog.Spec{Name: name}
		for _, o := range options {
			name, value, _ := strings.Cut(o, "=")
			s.Options = append(s.Options, catalog.Option{name, value})
		}
		return s
	}
	tests := []struct {
		list string
		want []catalog.Spec
	}{
		{"fifo", []catalog.Spec{spec("fifo")}},
		{"fifo,fair", []catalog.Spec{spec("fifo"), spec("fair")}},
		{" fifo , fair ", []catalog.Spec{spec("fifo"), spec("fair")}},
		{"fifo,fifo", []catalog.Spec{spec("fifo"), spec("fifo")}},
		{"td:l=0.7,h=1.3", []catalog.Spec{spec("td", "l=0.7", "h=1.3")}},
		{"fifo,td:l=0.7,h=1.3,fair", []catalog.Spec{spec("fifo"), spec("td", "l=0.7", "h=1.3"), spec("fair")}},
		{"a:x=1,b:y=2,z=3", []catalog.Spec{spec("a", "x=1"), spec("b", "y=2", "z=3")}},
		{"fifo,x=1", []catalog.Spec{spec("fifo", "x=1")}},                  // the first option may follow a comma, too
		{"a:x=", []catalog.Spec{spec("a", "x=")}},                          // an empty value
		{"a:x=y=z", []catalog.Spec{spec("a", "x=y=z")}},                    // the value is all after the first "="
		{"a:x=1,file=c:/d", []catalog.Spec{spec("a", "x=1", "file=c:/d")}}, // a ":" after the "=" belongs to the value
	}
	for _, tc := range tests {
		got, err := catalog.Parse(tc.list)
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("Parse(%q) = %v, %v, want %v", tc.list, got, err, tc.want)
		}
	}
}

func TestParseError(t *testing.T) {
	tests := []struct{ list, want string }{
		{"", `empty policy in ""`},
		{"fifo,", `empty policy in "fifo,"`},
		{"fifo,,fair", `empty policy in "fifo,,fair"`},
		{"x=1", `option "x=1" stands before any policy in "x=1"`},
		{":x=1", `policy without a name: ":x=1"`},
		{"fifo:", `policy fifo: want option=value, got ""`},
		{"fifo:x", `policy fifo: want option=value, got "x"`},
		{"fifo:=1", `policy fifo: want option=value, got "=1"`},
		{"fifo:x=1,=2", `policy fifo: want option=value, got "=2"`},
		{"fifo:x=1,x=2", `policy fifo: option x is given twice`},
	}
	for _, tc := range tests {
		if got, err := catalog.Parse(tc.list); err == nil || err.Error() != tc.want {
			t.Errorf("Parse(%q) = %v, %v, want error %q", tc.list, got, err, tc.want)
		}
	}
}

// Parse reads what String writes. Lists are joined by commas.
func TestParseReadsString(t *testing.T) {
	word := rapid.StringMatching(`[a-z][a-z0-9-]{0,5}`)
	option := rapid.Custom(func(t *rapid.T) catalog.Option {
		return catalog.Option{word.Draw(t, "option"), rapid.StringMatching(`([!-+\--~]{0,6})`).Draw(t, "value")}
	})
	specs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) catalog.Spec {
		options := rapid.SliceOfNDistinct(option, 0, 3, func(o catalog.Option) string { return o.Name }).Draw(t, "options")
		if len(options) == 0 {
			options = nil
		}
		return catalog.Spec{word.Draw(t, "policy"), options}
	}), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		want := specs.Draw(t, "specs")
		var items []string
		for _, s := range want {
			items = append(items, s.String())
		}
		list := strings.Join(items, ",")
		if got, err := catalog.Parse(list); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("Parse(%q) = %v, %v, want %v", list, got, err, want)
		}
	})
}

// An option has the name of its field, in lower case with hyphens between words.
func TestOptionNames(t *testing.T) {
	type options struct {
		Order, NoGate, DefaultTaskTime, L, L2, MTBF, MTBFScale, UseMTBF, Level2Delay int
	}
	e := catalog.NewEntry("p", "", func(options) (sojourn.Policy, error) { return nil, nil })
	want := []string{"order", "no-gate", "default-task-time", "l", "l2", "mtbf", "mtbf-scale", "use-mtbf", "level2-delay"}
	if got := e.Options(); !slices.Equal(got, want) {
		t.Errorf("Options() = %q, want %q", got, want)
	}
}

type color uint8

func (c *color) UnmarshalText(text []byte) error {
	switch string(text) {
	case "red":
		*c = 1
	case "green":
		*c = 2
	default:
		return fmt.Errorf("unknown color %q", text)
	}
	return nil
}

// options has a field of each kind, and some fields that no text can set.
type options struct {
	NoGate    bool
	FairLimit *int
	Small     int8
	Count     uint16
	Alpha     float64
	Rate      float32
	Label     string
	Delay     time.Duration
	Color     color
	Maybe     *color
	Weights   map[string]float64
	Delays    map[string]*time.Duration

	hidden  int
	List    []int
	Func    func()
	ByCount map[int]float64
}

// none is a policy that keeps its options and does nothing.
type none struct{ options options }

func (none) Observe(sojourn.Event) error                      { return nil }
func (none) Assign(sojourn.SlotID) (sojourn.Assignment, bool) { return sojourn.Assignment{}, false }

func testCatalog() catalog.Catalog {
	return catalog.Catalog{
		catalog.NewEntry("full", "", func(o options) (none, error) {
			_ = o.hidden
			if o.Label == "refuse" {
				return none{}, errors.New("full: no such label")
			}
			return none{o}, nil
		}),
		catalog.NewEntry("plain", "", func(struct{}) (none, error) { return none{}, nil }),
	}
}

// build makes the policy of a list with one spec.
func build(t *testing.T, list string) (sojourn.Policy, error) {
	t.Helper()
	specs, err := catalog.Parse(list)
	if err != nil || len(specs) != 1 {
		t.Fatalf("Parse(%q) = %v, %v, want one spec", list, specs, err)
	}
	return testCatalog().New(specs[0])
}

func TestNewSetsOptions(t *testing.T) {
	two, green, second := 2, color(2), time.Second
	tests := []struct {
		list string
		want options
	}{
		{"full", options{}},
		{"full:no-gate=true", options{NoGate: true}},
		{"full:fair-limit=2", options{FairLimit: &two}},
		{"full:small=-128,count=65535", options{Small: -128, Count: 65535}},
		{"full:alpha=0.25,rate=-1e3", options{Alpha: 0.25, Rate: -1000}},
		{"full:label=", options{}},
		{"full:label=a b", options{Label: "a b"}},
		{"full:delay=1m30s", options{Delay: 90 * time.Second}},
		{"full:color=green,maybe=green", options{Color: green, Maybe: &green}},
		{"full:weights.etl=2,weights.a.b=0.5", options{Weights: map[string]float64{"etl": 2, "a.b": 0.5}}},
		{"full:delays.x=1s", options{Delays: map[string]*time.Duration{"x": &second}}},
	}
	for _, tc := range tests {
		p, err := build(t, tc.list)
		if err != nil {
			t.Errorf("New(%q): %v", tc.list, err)
		} else if got := p.(none).options; !reflect.DeepEqual(got, tc.want) {
			t.Errorf("New(%q) has options %+v, want %+v", tc.list, got, tc.want)
		}
	}
}

func TestNewError(t *testing.T) {
	const known = "no-gate, fair-limit, small, count, alpha, rate, label, delay, color, maybe, weights.KEY, delays.KEY"
	tests := []struct{ list, want string }{
		{"none", `unknown policy "none"; known policies: full, plain`},
		{"plain:x=1", `policy plain has no options, so "x" is unknown`},
		{"full:x=1", `policy full has no option "x"; known options: ` + known},
		{"full:NoGate=true", `policy full has no option "NoGate"; known options: ` + known},
		{"full:hidden=1", `policy full has no option "hidden"; known options: ` + known},
		{"full:list=1", `policy full has no option "list"; known options: ` + known},
		{"full:weights=1", `policy full has no option "weights"; known options: ` + known},
		{"full:weights.=1", `policy full has no option "weights."; known options: ` + known},
		{"full:no-gate=maybe", `policy full: option no-gate: want true or false, got "maybe"`},
		{"full:fair-limit=two", `policy full: option fair-limit: want an integer, got "two"`},
		{"full:small=128", `policy full: option small: 128 is out of range`},
		{"full:count=-1", `policy full: option count: want an integer that is not negative, got "-1"`},
		{"full:count=65536", `policy full: option count: 65536 is out of range`},
		{"full:alpha=x", `policy full: option alpha: want a finite number, got "x"`},
		{"full:alpha=NaN", `policy full: option alpha: want a finite number, got "NaN"`},
		{"full:alpha=inf", `policy full: option alpha: want a finite number, got "inf"`},
		{"full:alpha=1e999", `policy full: option alpha: 1e999 is out of range`},
		{"full:delay=5", `policy full: option delay: want a duration such as 5s or 1m30s, got "5"`},
		{"full:color=blue", `policy full: option color: unknown color "blue"`},
		{"full:weights.etl=x", `policy full: option weights.etl: want a finite number, got "x"`},
		{"full:label=refuse", `policy full:label=refuse: full: no such label`},
	}
	for _, tc := range tests {
		if p, err := build(t, tc.list); err == nil || err.Error() != tc.want {
			t.Errorf("New(%q) = %v, %v, want error %q", tc.list, p, err, tc.want)
		}
	}
}

// An error about a value out of range names the option, even if the reason names another
// option, and if the policy is one of a pool.
func TestNewNamesOptions(t *testing.T) {
	tests := []struct{ text, want string }{
		{"hfsp:training-tasks=-1", "policy hfsp:training-tasks=-1: option training-tasks is -1: want 0 to 2147483647"},
		{"hfsp:sigma=-1", "policy hfsp:sigma=-1: option sigma is -1: want 0 to 1.7976931348623157e+308"},
		{"td:l=2", "policy td:l=2: option l is 2: want above 0 to 1, or 0 for 0.7"},
		{"td:self-tune=true,as-printed=true", "policy td:self-tune=true,as-printed=true: option self-tune is true: want false with as-printed"},
		{"rtmr:delta=1s", "policy rtmr:delta=1s: option delta is 1s: want 0 without feedback"},
		{"fair:rack-delay=3s", "policy fair:rack-delay=3s: option rack-delay is 3s: want at least 0s, and 0s without delay"},
		{"fair:min-timeout=-5s", "policy fair:min-timeout=-5s: option min-timeout is -5s: want at least 0s"},
		{"fair:pools.etl=0", "policy fair:pools.etl=0: option pools.etl is 0: want 2^-16 to below 2^32"},
		{"fair:pools.etl=1e-7", "policy fair:pools.etl=1e-7: option pools.etl is 1e-07: want 2^-16 to below 2^32"},
		{"fair:pools.team/etl.max=1", `policy fair:pools.team/etl.max=1: option pools.team/etl.max would be the weight of a pool "team/etl.max": a weight is written pools.team/etl=3, and all else is in a file, as are pools with such names: 'sojourn help pools'`},
		{"fair:pools.a.Max-Jobs.map=1", `policy fair:pools.a.Max-Jobs.map=1: option pools.a.Max-Jobs.map would be the weight of a pool "a.Max-Jobs.map": a weight is written pools.a=3, and all else is in a file, as are pools with such names: 'sojourn help pools'`},
		{"fair:inner=hfsp:xi=0.5", "policy fair:inner=hfsp:xi=0.5: option inner: policy hfsp:xi=0.5: option xi is 0.5: want 1 to below 2^32, or 0 for 1"},
	}
	for _, tc := range tests {
		if p, err := catalog.Builtin().Make(tc.text); err == nil || err.Error() != tc.want {
			t.Errorf("Make(%q) = %v, %v, want error %q", tc.text, p, err, tc.want)
		}
	}
}

// Policies share nothing: each New makes options of its own.
func TestNewIsFresh(t *testing.T) {
	c := testCatalog()
	a, _ := c.New(catalog.Spec{"full", []catalog.Option{{"weights.x", "1"}, {"fair-limit", "3"}}})
	b, _ := c.New(catalog.Spec{Name: "full"})
	if got := b.(none).options; got.Weights != nil || got.FairLimit != nil {
		t.Errorf("after New with options, New without them has %+v", got)
	}
	if got := a.(none).options.Weights["x"]; got != 1 {
		t.Errorf("weight = %v, want 1", got)
	}
}

// Options take the numbers that strconv prints.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "alpha")
		small := rapid.Int8().Draw(t, "small")
		p, err := testCatalog().New(catalog.Spec{"full", []catalog.Option{{"alpha", fmt.Sprint(want)}, {"small", fmt.Sprint(small)}}})
		if err != nil {
			t.Fatalf("alpha=%v,small=%v: %v", want, small, err)
		}
		if got := p.(none).options; got.Alpha != want || got.Small != small {
			t.Fatalf("alpha=%v,small=%v are set as %v, %v", want, small, got.Alpha, got.Small)
		}
	})
}

func TestNames(t *testing.T) {
	if got, want := testCatalog().Names(), []string{"full", "plain"}; !slices.Equal(got, want) {
		t.Errorf("names = %v, want %v", got, want)
	}
}
