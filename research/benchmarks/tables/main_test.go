package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The tables of docs/cost.md are those of the results.
func TestCostPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := tables(&b, "../results"); err != nil {
		t.Fatal(err)
	}
	for table := range strings.SplitSeq(strings.TrimSpace(b.String()), "\n\n") {
		if !strings.Contains(string(page), "\n"+table+"\n") {
			t.Errorf("docs/cost.md lacks\n%s", table)
		}
	}
	for _, file := range []string{"steady.txt", "peers.txt", "curves.txt", "datacentre.txt", "noop.txt", "shards.txt"} {
		text, err := os.ReadFile("../results/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"commit ", "command ", "machine "} {
			if !strings.Contains("\n"+string(text), "\n"+what) {
				t.Errorf("results/%s does not say the %s", file, what)
			}
		}
	}
}

// README says the least and the greatest time of a finish and a decision in microseconds, and the greatest of
// pfsp, which is apart.
func TestReadme(t *testing.T) {
	f, err := os.Open("../results/steady.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var table strings.Builder
	if err := steady(&table, f); err != nil {
		t.Fatal(err)
	}
	least, greatest, pfsp := math.Inf(1), 0.0, 0.0
	for row := range strings.Lines(table.String()) {
		cells := strings.Split(row, "|")
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		for _, cell := range cells[2 : len(cells)-1] {
			ns, err := strconv.ParseFloat(strings.ReplaceAll(strings.Fields(cell)[0], ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(cells[1], "`pfsp`") {
				pfsp = max(pfsp, ns)
				continue
			}
			least, greatest = min(least, ns), max(greatest, ns)
		}
	}
	page, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("A finish and a decision take %.1f to %.1f microseconds with 1,000 to a million live jobs, and up to %.1f under `pfsp`", least/1000, greatest/1000, pfsp/1000)
	if !strings.Contains(strings.ReplaceAll(string(page), "\n", " "), want) {
		t.Errorf("README.md lacks %q", want)
	}
}

func TestShards(t *testing.T) {
	const text = `        parts
fifo          1        144.5         5.00        144.5         144.5
fifo          2        262.0        12.10        262.0         262.0
fair          1        106.6         1.87        106.6         106.6
fair          2        148.4         3.01        148.4         148.4

100 jobs; millions of decisions a second
fifo          1         7.50     133         7.00     140
fifo          2        14.10     134         2.00     300
fair          1         1.00     1000        0.90     1010
fair          2         2.00     990         0.80     1200
`
	const want = `| parts: sojourn time in s, slowdown | ` + "`fifo` | `fair`" + ` |
|---|---|---|
| 1 | 144.5, 5.00 | 106.6, 1.87 |
| 2 | 262.0, 12.10 | 148.4, 3.01 |

| parts: ns of processor time a decision | ` + "`fifo`: a policy each, one with a lock | `fair`: a policy each, one with a lock" + ` |
|---|---|---|
| 1 | 133, 140 | 1000, 1010 |
| 2 | 134, 300 | 990, 1200 |

`
	var got strings.Builder
	if err := shards(&got, strings.NewReader(text)); err != nil || got.String() != want {
		t.Errorf("shards = %q, %v, want %q", got.String(), err, want)
	}
	for _, line := range strings.SplitAfter(text, "\n")[1:5] {
		if err := shards(io.Discard, strings.NewReader(strings.Replace(text, line, "", 1))); err == nil {
			t.Errorf("without %q there is no error", line)
		}
	}
}

func TestThousands(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 999.4: "999", 1000: "1,000", 217189: "217,189", 1e6: "1,000,000"} {
		if got := thousands(x); got != want {
			t.Errorf("thousands(%v) = %s, want %s", x, got, want)
		}
	}
}
