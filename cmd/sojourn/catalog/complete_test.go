package catalog_test

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// The completions of a list, as a user would type it.
func TestComplete(t *testing.T) {
	known := []catalog.Named{
		{Name: "fifo"},
		{Name: "fair", Options: []catalog.Described{
			{Name: "order", Kind: "choice", Values: []catalog.Choice{{Name: "share"}, {Name: "deficit"}}},
			{Name: "out", Kind: "number"},
			{Name: "strict", Kind: "true or false"},
			{Name: "pools.KEY", Kind: "integer"},
		}},
		{Name: "td", Options: []catalog.Described{{Name: "l", Kind: "number"}, {Name: "fair-limit", Kind: "integer"}}},
	}
	for _, tc := range []struct {
		list string
		one  bool
		want []string
	}{
		{"", false, []string{"fifo", "fair", "td"}},
		{"f", false, []string{"fifo", "fair"}},
		{"fair", false, []string{"fair"}},
		{"x", false, nil},
		{"fair:", false, []string{"fair:order=", "fair:out=", "fair:strict=", "fair:pools."}},
		{"fair:o", false, []string{"fair:order=", "fair:out="}},
		{"fair:order=", false, []string{"fair:order=share", "fair:order=deficit"}},
		{"fair:order=d", false, []string{"fair:order=deficit"}},
		{"fair:out=", false, nil}, // any number
		{"fair:strict=", false, []string{"fair:strict=false", "fair:strict=true"}},
		{"fair:pools.etl=", false, nil},
		{"fifo:", false, nil},
		{"x:", false, nil},
		{"=", false, nil},
		{":", false, nil},

		// After a comma comes the next policy, or what else can be chosen about the one
		// before it.
		{"td,f", false, []string{"td,fifo", "td,fair"}},
		{"td,", false, []string{"td,fifo", "td,fair", "td,td"}},
		{"td,fair:order=s", false, []string{"td,fair:order=share"}},
		{"td:l=1,f", false, []string{"td:l=1,fifo", "td:l=1,fair", "td:l=1,fair-limit="}},
		{"fifo,td:l=1,fair-limit=2,", false, []string{"fifo,td:l=1,fair-limit=2,fifo", "fifo,td:l=1,fair-limit=2,fair", "fifo,td:l=1,fair-limit=2,td"}},
		{"fair:out=1,order=d", false, []string{"fair:out=1,order=deficit"}},
		{"fair:pools.a=1,p", false, []string{"fair:pools.a=1,pools."}},
		{"fair:order=share,order=", false, nil}, // given twice
		{"order=", false, nil},                  // before any policy
		{"td,,", false, nil},
		{"fair:order=a,order=b,", false, nil},

		// One name, and options behind it.
		{"", true, []string{"fifo", "fair", "td"}},
		{"fair:o", true, []string{"fair:order=", "fair:out="}},
		{"fair:order=share,", true, []string{"fair:order=share,out=", "fair:order=share,strict=", "fair:order=share,pools."}},
		{"fair:out=1,2,order=", true, []string{"fair:out=1,2,order=share", "fair:out=1,2,order=deficit"}},
		{"fair:out=1,2,o", true, []string{"fair:out=1,2,order="}},
		{"fair:out=1,td", true, nil},
		{"fair:out=1,td:", true, nil},
		{"fair,", true, nil},
	} {
		var got []string
		for _, c := range catalog.Complete(tc.list, known, tc.one) {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("Complete(%q, one %v) = %q, want %q", tc.list, tc.one, got, tc.want)
		}
	}
}
