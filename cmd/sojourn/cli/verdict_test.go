package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
)

// compare, its page and its JSON say that policies are tied where advise says so of the same jobs, in the same words.
func TestTieIsThatOfAdvise(t *testing.T) {
	for _, args := range [][]string{
		{"--sample", "--estimates", "exact", "-p", "fifo,fair,default,las,srpt,fsp,pfsp,hfsp"},
		{"--sample", "--estimates", "exact", "-p", "fifo,fair,srpt", "--seed", "3"},
		{"--sample", "--estimates", "exact", "-p", "fifo,fair"},
	} {
		type effect struct{ Value, Low, High float64 }
		var advice struct {
			Policies []struct {
				Policy string
				Tied   bool
				Best   effect `json:"against_best"`
			}
		}
		runJSON(t, &advice, append([]string{"advise", "--loads", "recorded", "--json", "-q"}, args...)...)
		var want []string
		for _, p := range advice.Policies[1:] {
			if p.Tied {
				want = append(want, p.Policy)
			}
		}
		best := advice.Policies[0].Policy
		var got struct {
			Chance struct {
				Best    string
				Tied    []string
				Against []struct {
					Name string
					effect
				} `json:"against_best"`
			} `json:"mean_sojourn_chance"`
		}
		runJSON(t, &got, append([]string{"compare", "--json", "-q"}, args...)...)
		if got.Chance.Best != best || !slices.Equal(got.Chance.Tied, want) && len(got.Chance.Tied)+len(want) > 0 {
			t.Errorf("%q: the best is %s, tied with %q; advise says %s and %q", args, got.Chance.Best, got.Chance.Tied, best, want)
		}
		for _, a := range got.Chance.Against {
			for _, p := range advice.Policies {
				if p.Policy == a.Name && (a.Low > p.Best.Low*1.0000001 || a.Low < p.Best.Low*0.9999999 || a.High > p.Best.High*1.0000001 || a.High < p.Best.High*0.9999999) {
					t.Errorf("%q: %s is %v, advise says %v", args, a.Name, a.effect, p.Best)
				}
			}
		}
		words := "that is more than chance"
		if len(want) > 0 {
			words = "cannot be told from it on this workload: that is a tie"
		}
		dir := filepath.Join(t.TempDir(), "out")
		var out, errs strings.Builder
		if status := Run(append([]string{"compare", "-o", dir}, args...), strings.NewReader(""), &out, &errs); status != 0 {
			t.Fatalf("status %d: %s", status, &errs)
		}
		page, err := os.ReadFile(filepath.Join(dir, files.Report))
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"compare": strings.Join(strings.Fields(out.String()), " "), "its page": string(page)} {
			if !strings.Contains(text, words) {
				t.Errorf("%q: %s does not say %q", args, what, words)
			}
		}
	}
}
