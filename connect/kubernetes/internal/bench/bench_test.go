package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// The seconds that the loop was busy are read from the metrics.
func TestBusyIn(t *testing.T) {
	for text, want := range map[string]float64{
		"# HELP sojourn_busy_seconds_total Time.\nsojourn_busy_seconds_total 1.5e+00\nsojourn_jobs 3\n": 1.5, "up 1\n": 0, "": 0,
	} {
		if got := busyIn(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// Stock kube-scheduler binds a small burst, twice, and another turn finds the slots free again. The pods
// belong to Jobs.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	var out strings.Builder
	if err := run(t.Context(), options{nodes: 3, slots: 4, pods: 12, rounds: 2, jobs: true, json: file}, &out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []result
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 {
		t.Fatalf("got %d results, want 2", len(list))
	}
	for i, r := range list {
		if r.Scheduler != stock || r.Round != i || r.Pods != 12 || r.Seconds <= 0 || r.MiB < 10 || len(r.CPU) != 3 {
			t.Errorf("result %d: got %+v", i, r)
		}
	}
	if !strings.Contains(out.String(), "times stock") {
		t.Errorf("no table in\n%s", &out)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, o := range []options{
		{nodes: 1, slots: 1, pods: 2, rounds: 1},
		{nodes: 1, slots: 1, pods: 0, rounds: 1},
		{nodes: 1, slots: 1, pods: 1, rounds: 0},
	} {
		if err := run(t.Context(), o, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "need at least one pod") {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	for _, o := range []options{
		{nodes: 0, slots: 1, rounds: 1, mix: 1},
		{nodes: 1, slots: 1, rounds: 1, mix: 1, kills: 1},
		{nodes: 1, slots: 1, rounds: 1, mix: 1, json: "results.json"},
	} {
		if err := run(t.Context(), o, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "-mix needs") {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}

// Two pods on a node of one slot are an error, as is a watch that ends too early.
func TestBound(t *testing.T) {
	on := func(uid, node string) watch.Event {
		p := pod(0, "")
		p.UID, p.Spec.NodeName = types.UID(uid), node
		return watch.Event{Type: watch.Modified, Object: p}
	}
	for _, tc := range []struct {
		name   string
		events []watch.Event
		want   string
	}{
		{"each bound", []watch.Event{on("a", "n1"), on("b", "n2")}, ""},
		{"told twice", []watch.Event{on("a", "n1"), on("a", "n1"), on("b", ""), on("b", "n2")}, ""},
		{"one slot", []watch.Event{on("a", "n1"), on("b", "n1")}, "2 pods on node n1, which has 1 slots"},
		{"too early", []watch.Event{on("a", "n1")}, "1 of 2"},
	} {
		ch := make(chan watch.Event, len(tc.events))
		for _, ev := range tc.events {
			ch <- ev
		}
		close(ch)
		restarts := 0
		err := (&bench{options: options{slots: 1, pods: 2, kills: 1}}).bound(ch, func() error { restarts++; return nil })
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
		if restarts != 1 {
			t.Errorf("%s: %d restarts, want 1 after the first of two pods", tc.name, restarts)
		}
	}
}

// A hundred pods are jobs of 1, 4, 20 and 75 tasks, and no two pods have one name.
func TestPods(t *testing.T) {
	tasks, names := map[string]int{}, map[string]bool{}
	for i := range 200 {
		p := pod(i, "s")
		tasks[p.Labels["batch.kubernetes.io/job-name"]]++
		names[p.Name] = true
	}
	want := map[string]int{"job0": 1, "job1": 4, "job2": 20, "job3": 75, "job4": 1, "job5": 4, "job6": 20, "job7": 75}
	if !maps.Equal(tasks, want) {
		t.Errorf("tasks: got %v, want %v", tasks, want)
	}
	if len(names) != 200 {
		t.Errorf("%d names of 200 pods", len(names))
	}
}

// The other schedulers have their turns after kube-scheduler, which sets the measure.
func TestTable(t *testing.T) {
	o := options{policies: "fifo,hfsp", command: "prog -policy={policy} -kubeconfig={kubeconfig}"}
	var list []result
	for i, s := range o.schedulers() {
		for _, rate := range []float64{1, 100, 101} {
			list = append(list, result{Scheduler: s.name, PerSecond: rate * float64(i+1)})
		}
		if i > 0 && (s.command[1] != "-policy="+s.name || s.podName != "sojourn") {
			t.Errorf("scheduler %d: got %+v", i, s)
		}
	}
	var b strings.Builder
	if err := table(&b, list); err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.Fields(line))
	}
	for i, want := range []string{"stock 100 1.00", "fifo 200 2.00", "hfsp 300 3.00"} {
		if row := strings.Join(got[i+1][:3], " "); row != want {
			t.Errorf("row %d: got %s, want %s", i, row, want)
		}
	}
}

// The mix has Jobs of all sizes, which keep the slots busy for 0.9 of the time, and is the same each time.
func TestMix(t *testing.T) {
	list := mix(200, 40)
	sizes, work := map[string]int{}, 0.0
	for i, j := range list {
		switch {
		case j.pods >= 1 && j.pods <= 4:
			sizes["small"]++
		case j.pods <= 20:
			sizes["middle"]++
		case j.pods >= 40 && j.pods <= 75:
			sizes["large"]++
		}
		if i > 0 && j.at < list[i-1].at {
			t.Errorf("Job %d comes at %v, after the next one", i-1, list[i-1].at)
		}
		work += float64(j.pods) * j.each.Seconds()
	}
	if want := map[string]int{"small": 160, "middle": 30, "large": 10}; !maps.Equal(sizes, want) {
		t.Errorf("sizes %v, want %v", sizes, want)
	}
	if load := work / 40 / list[199].at.Seconds(); load < 0.75 || load > 1.1 {
		t.Errorf("load %.2f, want about 0.9", load)
	}
	if again := mix(200, 40); !slices.Equal(list, again) {
		t.Error("another mix the second time")
	}
}

// The Jobs of three tenants are 100 short and 5 long ones, at the load that was asked for.
func TestTenants(t *testing.T) {
	for _, load := range []float64{0.6, 1.25} {
		list := tenants(load, 40)
		short, long, work := 0, 0, 0.0
		for _, j := range list {
			if j.pods <= 3 {
				short++
			} else if j.pods == 60 && j.atOnce == 40 {
				long++
			}
			work += float64(j.pods) * j.each.Seconds()
		}
		if got := work / 40 / list[104].at.Seconds(); short != 100 || long != 5 || got < load-0.01 || got > load+0.01 {
			t.Errorf("%d short and %d long Jobs at a load of %.2f, want 100, 5, %.2f", short, long, got, load)
		}
	}
}

// Stock kube-scheduler has its turn with a few Jobs of the mix.
func TestRunMix(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), options{nodes: 3, slots: 20, rounds: 1, mix: 5}, &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(out.String()); !slices.Contains(got, stock) {
		t.Errorf("no row of kube-scheduler in\n%s", &out)
	}
}
