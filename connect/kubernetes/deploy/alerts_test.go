package deploy_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// The rules ask only for what is on the dashboard of the scheduler, all of which it exports (TestScheduler), by labels by which the dashboard
// selects or groups that metric; each has a severity and says what is wrong.
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
	shown := map[string][]string{} // the labels of each metric
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			names, labels := asked(q.Expr)
			for _, name := range names {
				shown[name] = append(shown[name], labels...)
			}
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
			names, labels := asked(r.Expr)
			if len(names) == 0 {
				t.Errorf("%s asks for no metric", r.Alert)
			}
			for _, name := range names {
				if own, ok := shown[name]; !ok {
					t.Errorf("%s asks for %s, which is not on the dashboard", r.Alert, name)
				} else if i := slices.IndexFunc(labels, func(l string) bool { return !slices.Contains(own, l) }); i >= 0 {
					t.Errorf("%s asks for %s by %s, and the dashboard never does", r.Alert, name, labels[i])
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

// asked returns the metrics for which an expression asks, and the labels by which it selects or groups.
func asked(expr string) (names, labels []string) {
	for _, m := range regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"|\b(?:by|without|on|ignoring) ?\(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
		labels = append(labels, strings.FieldsFunc(m[1]+m[3], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return regexp.MustCompile(`\bsojourn_\w+`).FindAllString(expr, -1), labels
}
