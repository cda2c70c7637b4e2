package files

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Rows come out in the order of their ranks, in whatever order they go in, with any
// content. This also holds for rows longer than a block of reading.
func TestSortedCSV(t *testing.T) {
	f, err := NewSortedCSV("")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Spool.Remove()
	const n = 3000
	want := "n,text\n"
	var rows [][]string
	for i := range n {
		text := strings.Repeat("x", i%50)
		switch i {
		case 17:
			text = strings.Repeat("long ", 30_000)
		case 2000:
			text = ""
		}
		rows = append(rows, []string{fmt.Sprint(i), text})
		want += fmt.Sprintf("%d,%s\n", i, text)
	}
	rows[5][1], want = "a\n\"b\"", strings.Replace(want, "\n5,xxxxx\n", "\n5,\"a\n\"\"b\"\"\"\n", 1)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		f.Write(i, rows[i])
	}
	name := filepath.Join(t.TempDir(), "t.csv")
	if err := f.Create(t.Context(), name, []string{"n", "text"}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%v; %d bytes, want %d", err, len(got), len(want))
	}
}
