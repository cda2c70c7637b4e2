package deploy_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// The rules ask only for what is on the dashboard of the scheduler, all of which it exports (TestScheduler), with labels by which the dashboard
// groups; each has a severity and says what is wrong.
func TestAlerts(t *testing.T) {
	board, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(board, &d); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			shown.WriteString(q.Expr + "\n")
		}
	}
	text, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if text, err = yaml.ToJSON(text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			n++
			if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("rule %+v", r)
			}
			names := regexp.MustCompile(`\bsojourn_\w+`).FindAllString(r.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s asks for no metric", r.Alert)
			}
			for _, name := range names {
				if !regexp.MustCompile(`\b` + name + `\b`).MatchString(shown.String()) {
					t.Errorf("%s asks for %s, which is not on the dashboard", r.Alert, name)
				}
			}
			for _, by := range regexp.MustCompile(`\bby \([^)]*\)`).FindAllString(r.Expr, -1) {
				if !strings.Contains(shown.String(), by) {
					t.Errorf("%s groups %s, and the dashboard never does", r.Alert, by)
				}
			}
			if strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") {
				t.Errorf("%s: brackets", r.Alert)
			}
		}
	}
	if n < 4 {
		t.Errorf("%d rules", n)
	}
}
