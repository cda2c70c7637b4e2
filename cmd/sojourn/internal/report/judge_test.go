package report

import (
	"math"
	"slices"
	"testing"
)

// The first policy is best. The second cannot be distinguished from it, and the third
// can.
func TestJudge(t *testing.T) {
	values := [][]float64{
		{10, 20, 30},
		{12, 19, 32}, // differences 2, -1, 2: mean 1, standard error 1, times 4.30
		{11, 21, 31}, // always 1 more
	}
	judged := judge(values)
	marks := ""
	for i := range judged {
		marks += judged[i].mark()
	}
	if want := "*~ "; marks != want {
		t.Errorf("marks of %v = %q, want %q", values, marks, want)
	}
	// Means 20, 21, 21, and 4.303 times a standard error of sqrt(100/3), sqrt(103/3).
	want := []string{"20 ± 25 *", "21 ± 25 ~", "21 ± 25  "}
	if got := judgedColumn(judged); !slices.Equal(got, want) {
		t.Errorf("column of %v = %q, want %q", values, got, want)
	}
}

// The best policy has the least mean, wherever it stands. Where a policy has no number,
// nothing is compared.
func TestJudgeFindsBest(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		values [][]float64
		want   string
	}{
		{[][]float64{{3, 3}, {2, 2}, {4, 4}}, " * "},
		{[][]float64{{2, 2}, {2, 2}}, "*~"},
		{[][]float64{{nan, 1}, {5, 6}, {9, 10}}, " * "},
		{[][]float64{{1, 2}}, " "},            // alone
		{[][]float64{{1}, {2}}, "  "},         // one seed
		{[][]float64{{1, 2}, {1.5, 2}}, "*~"}, // differences -0.5 and 0
	} {
		got := ""
		for _, j := range judge(tc.values) {
			got += j.mark()
		}
		if got != tc.want {
			t.Errorf("marks of %v = %q, want %q", tc.values, got, tc.want)
		}
	}
}

func TestJudgedColumnOfOneSeed(t *testing.T) {
	for _, tc := range []struct {
		values [][]float64
		want   []string
	}{
		{[][]float64{{90}, {0}, {7}}, []string{"90", "0", "7"}},
		{[][]float64{{8.56}, {1.474}}, []string{"8.56", "1.47"}},
	} {
		if got := judgedColumn(judge(tc.values)); !slices.Equal(got, tc.want) {
			t.Errorf("column of %v = %q, want %q", tc.values, got, tc.want)
		}
	}
}
