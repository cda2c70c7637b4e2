package format

import (
	"math"
	"strings"
	"testing"
)

// A row has the keys of JSON, in their order; lists are left out, and a row may lack a column
// of another.
func TestWriteCSV(t *testing.T) {
	type inner struct {
		Mean Real   `json:"mean"`
		Max  Real   `json:"max"`
		CI   []Real `json:"ci"`
	}
	type row struct {
		Policy string         `json:"policy"`
		Time   inner          `json:"time"`
		Slots  map[string]int `json:"slots"`
		List   []inner        `json:"list"`
		Some   *int           `json:"some,omitempty"`
		Last   bool           `json:"last"`
	}
	one := 1
	var b strings.Builder
	err := WriteCSV(&b, []row{
		{"hfsp:a=1,b=2", inner{1.25, Real(math.NaN()), []Real{1, 2.5}}, map[string]int{"reduce": 2, "map": 1}, []inner{{1, 2, nil}}, nil, true},
		{"fifo", inner{1e21, 3, []Real{-1, 7}}, map[string]int{}, []inner{}, &one, false},
	})
	want := `schema,policy,time_mean,time_max,time_low,time_high,slots_map,slots_reduce,last,some
1,"hfsp:a=1,b=2",1.25,,1,2.5,1,2,true,
1,fifo,1e+21,3,-1,7,,,false,1
`
	if got := b.String(); err != nil || got != want {
		t.Errorf("%v, %s\nwant %s", err, got, want)
	}
}
