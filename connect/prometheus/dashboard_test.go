package prometheus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v2"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/prometheus"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/live"
)

// exported returns the labels of each metric of a pool with a job that was well, one that failed, and a late one.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	labels := map[string][]string{}
	synctest.Test(t, func(t *testing.T) {
		policy, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		metrics := prometheus.New()
		registry := client.NewRegistry()
		registry.MustRegister(metrics)
		pool, err := live.New(policy, live.Options{Slots: 1, Observer: metrics, Retry: live.Retry{Attempts: 1}})
		if err != nil {
			t.Fatal(err)
		}
		for _, failure := range []error{nil, errors.New("no")} {
			h, err := pool.Submit(t.Context(), live.Job{Pool: "etl", Deadline: time.Second, Phases: []live.Phase{{Tasks: 1, Estimate: time.Second, Run: func(context.Context, live.Task) error {
				time.Sleep(2 * time.Second)
				return failure
			}}}})
			if err != nil {
				t.Fatal(err)
			}
			h.Wait(t.Context())
		}
		if err := pool.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, scrape(t, registry), "sojourn_jobs_late_total 2\nsojourn_pool_running_tasks{pool=\"etl\"} 0\nsojourn_pool_wait_seconds_count{pool=\"etl\"} 2")
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			own := []string{"job", "instance"} // which Prometheus adds
			for _, l := range f.Metric[0].Label {
				own = append(own, l.GetName())
			}
			if f.GetType() == dto.MetricType_HISTOGRAM {
				labels[f.GetName()+"_bucket"] = append(slices.Clone(own), "le")
				labels[f.GetName()+"_sum"], labels[f.GetName()+"_count"] = own, own
			} else {
				labels[f.GetName()] = own
			}
		}
	})
	return labels
}

// check returns what is wrong with an expression: metrics that there are not, labels that they do not have, and brackets.
func check(expr string, labels map[string][]string) error {
	names := regexp.MustCompile(`\bsojourn_\w+`).FindAllString(expr, -1)
	if len(names) == 0 {
		return fmt.Errorf("%s: no metric", expr)
	}
	for _, name := range names {
		own, ok := labels[name]
		if !ok {
			return fmt.Errorf("%s: there is no metric %s", expr, name)
		}
		used := regexp.MustCompile(regexp.QuoteMeta(name) + `\{([^}]*)\}`).FindStringSubmatch(expr)
		var asked []string
		if used != nil {
			for _, m := range regexp.MustCompile(`(\w+)(=~|!~|!=|=)`).FindAllStringSubmatch(used[1], -1) {
				asked = append(asked, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`\bby \(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
			asked = append(asked, strings.Split(strings.ReplaceAll(m[1], " ", ""), ",")...)
		}
		for _, l := range asked {
			if !slices.Contains(own, l) {
				return fmt.Errorf("%s: %s has no label %s", expr, name, l)
			}
		}
	}
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(expr, pair[:1]) != strings.Count(expr, pair[1:]) {
			return fmt.Errorf("%s: brackets", expr)
		}
	}
	return nil
}

// The dashboard and the rules ask only for what a pool exports; every metric is on the dashboard, and each panel has a title and a unit.
func TestDashboard(t *testing.T) {
	labels := exported(t)
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
		Panels []struct {
			Title       string
			FieldConfig struct{ Defaults struct{ Unit string } }
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	var all []string
	variables := []string{"__rate_interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		if v.Type == "query" {
			m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Query)
			if m == nil || !slices.Contains(labels[m[1]], m[2]) {
				t.Errorf("variable %s: %s", v.Name, v.Query)
			}
		}
	}
	for _, p := range d.Panels {
		if p.Title == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("panel %q has unit %q and %d targets", p.Title, p.FieldConfig.Defaults.Unit, len(p.Targets))
		}
		for _, q := range p.Targets {
			all = append(all, q.Expr)
		}
	}
	for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(append(variables, "__all"), m[1]) {
			t.Errorf("there is no variable %s", m[1])
		}
	}
	shown := strings.Join(all, "\n")
	for name := range labels {
		if name = strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count"); !strings.Contains(shown, name) {
			t.Errorf("no panel shows %s", name)
		}
	}

	if text, err = os.ReadFile("alerts.yaml"); err != nil {
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
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			alerts++
			if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("rule %+v", r)
			}
			all = append(all, r.Expr)
		}
	}
	if len(d.Panels) < 10 || alerts < 4 {
		t.Errorf("%d panels, %d alerts", len(d.Panels), alerts)
	}
	for _, expr := range all {
		if err := check(expr, labels); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []string{"sum(sojourn_job)", "sum(up)", "sum by (pool) (sojourn_jobs)", `sum(sojourn_jobs_total{pool="a"})`, "sum(sojourn_jobs", "rate(sojourn_task_wait_seconds[1m])"} {
		if check(wrong, labels) == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// Among 3,000 pools with names of 50 kB that are no text, 100 have labels of their own, which are short.
func TestManyPools(t *testing.T) {
	metrics := prometheus.New()
	registry := client.NewRegistry()
	registry.MustRegister(metrics)
	for i := range 3000 {
		job := live.Note{Kind: live.TaskStarted, Attempt: 1, Job: poolJob(fmt.Sprintf("\xff\u202e%d\n", i) + strings.Repeat("é", 25_000))}
		metrics.Note(job)
		if job.Kind = live.TaskEnded; i%2 == 1 {
			metrics.Note(job)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "sojourn_pool_") {
			continue
		}
		sum := 0.0
		for _, m := range f.Metric {
			if name := m.Label[0].GetValue(); len(name) > 150 {
				t.Errorf("a label of %d bytes", len(name))
			}
			sum += m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
		if len(f.Metric) != 101 || sum != 1500 && sum != 3000 {
			t.Errorf("%s: %d pools, %v in all", f.GetName(), len(f.Metric), sum)
		}
	}
}

func poolJob(pool string) *sojourn.Job { return &sojourn.Job{ID: 1, Pool: pool} }
