package rtmr

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutated names the mistake with which this test binary was compiled.
var mutated = flag.String("mutated", "", "the NAME of the mutant that is tested")

// A mutant is a mistake that the tests must detect: some edits, and the tests that detect
// them.
type mutant struct {
	name  string
	edits []edit
	late  []variant // under which accepted jobs miss their deadlines
	laws  []string  // invariants that are broken under the paper's options
}

// An edit replaces text that occurs once in a file.
type edit struct{ file, old, new string }

var mutants = []mutant{
	{
		name:  "reduce slots are not kept for jobs whose maps run",
		edits: []edit{{"dispatch.go", "return reserved >= p.free[reduces]", "return false"}},
		late:  []variant{{name: "paper", opts: paper}, {name: "rebook"}},
		laws:  []string{"I5"},
	},
	{
		name: "reduces go by deadline among started jobs",
		edits: []edit{
			{"dispatch.go", "p.ready.Set(side.Class(), j.Handle(), j.Data.key)", `k := j.Data.key
			if side.Class() == sojourn.ReduceClass {
				k = key{tierStarted, j.Data.mark.place, j.Seq()}
			}
			p.ready.Set(side.Class(), j.Handle(), k)`},
			{"dispatch.go", "reserved := p.order.before(j)\n", `reserved := int64(0)
			for _, k := range p.order.jobs {
				if k.Data.mark.started > 0 && (k.Data.mark.place < j.Data.mark.place || k.Data.mark.place == j.Data.mark.place && k.Seq() < j.Seq()) {
					reserved += k.Data.reserved
				}
			}
			`},
		},
		late: []variant{{name: "paper", opts: paper, exact: true, big: true}},
	},
	{
		name:  "admission books a job before started ones of later deadlines",
		edits: []edit{{"chain.go", "first := p.order.started()\n\tp.list", "first := 0\n\tp.list"}},
		late:  []variant{{name: "paper", opts: paper}},
	},
	{
		name: "with nobody waiting, admission takes all slots for free",
		edits: []edit{{"chain.go", "return p.order.jobs[rank-1].Data.mark.t\n", `if p.order.jobs[rank-1].Data.mark.started > 0 {
			var v vectors
			for s := range v {
				if p.slots[s] > 0 {
					v[s] = slotvec.Vector{{T: 0, N: p.slots[s]}}
				}
			}
			return v
		}
		return p.order.jobs[rank-1].Data.mark.t
		`}},
		late: []variant{{name: "paper", opts: paper}},
		laws: []string{"I2"},
	},
	{
		name:  "slots that are idle since long are booked for the past",
		edits: []edit{{"book.go", "w.fill(en, maps, w.now)", "w.fill(en, maps, 0)"}},
		late:  []variant{{name: "paper", opts: paper}},
		laws:  []string{"I1"},
	},
	{
		name: "feedback does not look at started jobs",
		edits: []edit{{"chain.go", "en := p.whole(k)\n", `if k.Data.mark.started > 0 {
			continue
		}
		en := p.whole(k)
		`},
			{"chain.go", "m.em, m.e = min(m.em, em), min(m.e, e)", "m.em, m.e = em, e"},
			{"chain.go", "slotvec.Min(nil, d.mark.t[s], u[s])", "slices.Clone(u[s])"}},
		late: []variant{{name: "feedback as printed", opts: Options{Booking: Chain, OnePosition: true, Feedback: true}}},
	},
	{
		name: "a job without maps is ready at once, in its place",
		edits: []edit{
			{"options.go", "if o.Booking == Chain && en.tasks[maps] == 0 {", "if false {"},
			{"chain.go", "case m.started > 0:", "case m.started > 0 || j.Data.phase[maps] < 0:"},
			{"chain.go", "if !p.linked(j) || d.mark.started > 0 || p.slots[maps] == 0 {", "if true {"},
		},
		late: []variant{{name: "paper", opts: paper, zeros: true}},
	},
}

var paper = Options{Booking: Chain, OnePosition: true}

// The tests of the guarantee and of the invariants detect each mistake. The package is
// compiled anew with it. Without the build tag all, the test only checks that the edits
// fit.
func TestMutants(t *testing.T) {
	for i, m := range mutants {
		switch {
		case *mutated == m.name:
			for k := range m.late {
				v := &m.late[k]
				t.Run(v.name, func(t *testing.T) { v.misses(t, uint64(i)<<40) })
			}
			for _, law := range m.laws {
				t.Run(law, func(t *testing.T) { (&variant{opts: paper}).breaks(t, law, nil) })
			}
		case *mutated == "":
			t.Run(m.name, func(t *testing.T) {
				overlay := m.overlay(t)
				if !thorough {
					return
				}
				out, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", overlay, "-run", "^TestMutants$", ".", "-mutated", m.name).CombinedOutput()
				if err != nil || !strings.HasPrefix(string(out), "ok") {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// overlay writes the files with the mistake, and returns the name of a file for the flag
// -overlay of go test.
func (m *mutant) overlay(t *testing.T) string {
	t.Helper()
	dir, files := t.TempDir(), map[string]string{}
	for _, e := range m.edits {
		path, err := filepath.Abs(e.file)
		if err != nil {
			t.Fatal(err)
		}
		from := path
		if to, ok := files[path]; ok {
			from = to
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), e.old); n != 1 {
			t.Fatalf("%q stands %d times in %s, want once", e.old, n, e.file)
		}
		files[path] = filepath.Join(dir, e.file)
		if err := os.WriteFile(files[path], []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o666); err != nil {
		t.Fatal(err)
	}
	return overlay
}
