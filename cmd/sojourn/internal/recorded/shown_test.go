package recorded

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

// A table for the terminal becomes one that is sorted by the numbers with which cells begin, of 1,000 rows at most, and says of how many. Names of
// 50 kB with markup are cut and stay text.
func TestTableOf(t *testing.T) {
	small := &format.Table{Corner: "job", Names: []string{"1", "2"}}
	small.Add("wait", "s", []string{"1,234.5 to 7", "-"})
	small.AddMinor("", "why", []string{"rank", "\x1b[2J"})
	got := TableOf("x", "X", "", small)
	if len(got.Columns) != 3 || got.Columns[1].Name != "wait s" || !got.Columns[1].Number || got.Columns[2].Number || got.Of != "" {
		t.Errorf("columns %+v, of %q", got.Columns, got.Of)
	}
	if c := got.Rows[0][1]; c.Sort != 1234.5 || c.Text != "1,234.5 to 7" || !math.IsNaN(got.Rows[1][1].Sort) || strings.Contains(got.Rows[1][2].Text, "\x1b") {
		t.Errorf("rows %+v", got.Rows)
	}

	big := &format.Table{Corner: "job"}
	big.Add("", "name", nil)
	for i := range 20_001 {
		big.Row(fmt.Sprint(i), "<script>alert(1)</script>\u202e"+strings.Repeat("x", 50_000))
	}
	shown := TableOf("x", "X", "", big)
	if len(shown.Rows) != 1000 || shown.Of != "20,001" {
		t.Errorf("%d rows of %q", len(shown.Rows), shown.Of)
	}
	var out bytes.Buffer
	if err := (&page.Report{Title: "t", Tables: []page.Table{shown}}).Write(&out); err != nil {
		t.Fatal(err)
	}
	if n := out.Len(); n > 1<<20 || strings.Contains(out.String(), "<script>alert") || strings.Contains(out.String(), "\u202e") {
		t.Errorf("a page of %d bytes", n)
	}
	if got, want := CommandLine("explain", []string{"my run", "-"}, map[string]string{"policy": "fair:a=b,c=d", "at": "3 h"}), `sojourn explain 'my run' - --at='3 h' --policy=fair:a=b,c=d`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
