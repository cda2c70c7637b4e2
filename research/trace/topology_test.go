package trace

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A host right below the root has no rack, and a rack may be empty.
const topologySample = `{"name": "<root>", "children": [
  {"name": "10\\.1", "children": [{"name": "a\\.x", "children": null}, {"children": null, "name": "b"}]},
  {"name": "empty", "children": []},
  {"children": [{"name": "row", "children": [{"name": "c"}]}], "name": "hall", "extra": {"children": 1}},
  {"name": "d"}
]}
`

func TestTopology(t *testing.T) {
	two := []int{2, 2}
	want := sim.Cluster{Nodes: []sim.Node{
		{Name: "a.x", Rack: "10.1", Slots: two}, {Name: "b", Rack: "10.1", Slots: two}, {Name: "c", Rack: "hall/row", Slots: two}, {Name: "d", Slots: two},
	}}
	for _, o := range []TopologyOptions{{}, {Slots: []int{3, 1}}, {Uniform: true}, {Uniform: true, Slots: []int{7}}, {Slots: []int{0, 5}}} {
		slots := o.Slots
		switch {
		case slots == nil && o.Uniform:
			slots = []int{4}
		case slots == nil:
			slots = two
		}
		for i := range want.Nodes {
			want.Nodes[i].Slots = slots
		}
		want.Uniform = o.Uniform
		for _, text := range []string{topologySample, string(zip(t, topologySample))} {
			got, err := ReadTopology(strings.NewReader(text), o)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v: got %+v, error %v, want %+v", o, got, err, want)
			}
		}
	}
}

// A mark ^ stands where the fault is.
func TestTopologyFaults(t *testing.T) {
	for _, tc := range []struct{ marked, reason string }{
		{"^", "it ends too early"},
		{"^[]", "want an object, found a list"},
		{"^{}", `"name" is missing or empty`},
		{`{"name":"r","children":[^{"name":""}]}`, `"name" is missing or empty`},
		{`^{"name":"r","children":[]}`, "no hosts"},
		{"^{\"name\":\"r\",\n\"children\":[{\"name\":\"a\",\"children\":[]}]}", "no hosts"},
		{"{\"name\":\"r\",\"children\":[{\"name\":\"a\"},\n ^{\"name\":\"a\"}]}", `duplicate host "a"`},
		{`{"name":"r","children":^{}}`, "want a list, found an object"},
		{`{"name":"r","children":[^1]}`, "want an object, found a number"},
		{`{"name":"r","children":[{"name":^7}]}`, "want a string, found a number"},
		{`{"name":"r","children":[{"name":"a"}]^`, "it ends too early"},
		{topologySample + "^" + topologySample, "after top-level value"},
		{strings.Repeat(`{"children":[`, 32) + "^[", "nested deeper than 64"},
	} {
		text, line, column := cut(t, tc.marked)
		c, err := ReadTopology(strings.NewReader(text), TopologyOptions{File: "topo"})
		checkError(t, text, err, "topo", line, column, tc.reason)
		if !reflect.DeepEqual(c, sim.Cluster{}) {
			t.Errorf("%q: a cluster besides the error: %+v", text, c)
		}
	}
	text, line, column := cut(t, `{"name":"r","children":[{"name":"a"},^{"name":"b"}]}`)
	_, err := ReadTopology(strings.NewReader(text), TopologyOptions{Slots: []int{sojourn.MaxSlots/2 + 1, 0}})
	checkError(t, text, err, "-", line, column, "more than 16777216 slots")

	for _, o := range []TopologyOptions{{Slots: []int{-1, 2}}, {Slots: []int{1 << 25, 0}}, {Slots: []int{1, 1}, Uniform: true}} {
		if _, err := ReadTopology(strings.NewReader(topologySample), o); err == nil || !strings.HasPrefix(err.Error(), "trace: topology options: ") {
			t.Errorf("%+v: error %v, want one of the options", o, err)
		}
	}
}
