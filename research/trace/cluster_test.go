package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

func TestParseCluster(t *testing.T) {
	got, err := ParseCluster("20x4+1,10x2+1")
	if err != nil {
		t.Fatal(err)
	}
	var want sim.Cluster
	for i := range 30 {
		slots := []int{4, 1}
		if i >= 20 {
			slots = []int{2, 1}
		}
		want.Nodes = append(want.Nodes, sim.Node{Name: fmt.Sprintf("n%d", i+1), Slots: slots})
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if capacity := got.Capacity(); !slices.Equal(capacity, []int{20*4 + 10*2, 20 + 10}) {
		t.Errorf("capacity %v, want [100 30]", capacity)
	}

	got, err = ParseCluster("50x2")
	if err != nil {
		t.Fatal(err)
	}
	if !got.Uniform || len(got.Nodes) != 50 || !reflect.DeepEqual(got.Nodes[49], sim.Node{Name: "n50", Slots: []int{2}}) {
		t.Errorf("50x2: got %+v", got)
	}

	got, err = ParseCluster("1x0+2,2x0+0,1x3+0") // nodes without slots only hold data
	if capacity := got.Capacity(); err != nil || got.Uniform || len(got.Nodes) != 4 || !slices.Equal(capacity, []int{3, 2}) {
		t.Errorf("1x0+2,2x0+0,1x3+0: got %+v, error %v", got, err)
	}
}

// A mark ^ stands where the fault is.
func TestParseClusterFaults(t *testing.T) {
	for marked, reason := range map[string]string{
		"^":                                     "want NODESxSLOTS",
		"^20":                                   `found "20"`,
		"2x1,^":                                 `found ""`,
		"^0x4":                                  `want a number of nodes from 1 to 1048576, found "0"`,
		"^-1x4":                                 `found "-1"`,
		"^x4":                                   `found ""`,
		"^1048577x1":                            "want a number of nodes",
		"^99999999999999999999x1":               "want a number of nodes",
		"2x^":                                   "want a number of slots",
		"2x^a":                                  `want a number of slots from 0 to 16777216, found "a"`,
		"2x4+^":                                 `found ""`,
		"2x4+^-1":                               `found "-1"`,
		"2x^" + strings.Repeat("1+", 256) + "1": "slots of more than 256 classes",
		"2x1+1,3x2+^1e3":                        `found "1e3"`,
		"2x^16777217":                           "want a number of slots",
		"^2x16777216":                           "more than 16777216 slots",
		"1x16777215,^2x1":                       "more than 16777216 slots",
		"^1x16777216+16777216":                  "more than 16777216 slots",
		"1048576x1+0,^1x1+0":                    "more than 1048576 nodes",
		"2x1,^2x1+1":                            "some nodes have uniform slots",
		"2x1+0,^2x1":                            "some nodes have uniform slots",
		"^5x0":                                  "no slots",
		"^5x0+0,7x0+0":                          "no slots",
		"2x1,^y\xff":                            "want NODESxSLOTS",
		"2x1,^2X1":                              `found "2X1"`,
		"2x1,^" + sixty + "x1":                  "...",
	} {
		spec, line, column := cut(t, marked)
		got, err := ParseCluster(spec)
		checkError(t, spec, err, "cluster", line, column, reason)
		if len(got.Nodes) > 0 {
			t.Errorf("%s: %d nodes with the error", spec, len(got.Nodes))
		}
	}
}

const sixty = "123456789012345678901234567890123456789012345678901234567890"

func TestReadCluster(t *testing.T) {
	tests := []struct {
		text string
		want sim.Cluster
	}{
		{
			`{"nodes":[{"name":"n1","rack":"r1","speed":1,"slots":{"map":2,"reduce":1}}]}`,
			sim.Cluster{Nodes: []sim.Node{{Name: "n1", Rack: "r1", Speed: 1, Slots: []int{2, 1}}}},
		},
		{
			"\n{ \"nodes\" : [ { \"slots\" : 3 , \"name\" : \"a\" },\n {\"name\":\"b\",\"speed\":0.5,\"slots\":0} ] }\n",
			sim.Cluster{Uniform: true, Nodes: []sim.Node{{Name: "a", Slots: []int{3}}, {Name: "b", Speed: 0.5, Slots: []int{0}}}},
		},
		{
			`{"nodes":[{"name":"a","slots":{"reduce":1}},{"name":"b","slots":{}}]}`,
			sim.Cluster{Nodes: []sim.Node{{Name: "a", Slots: []int{0, 1}}, {Name: "b", Slots: []int{0, 0}}}},
		},
		{
			`{"nodes":[{"name":"a","slots":{"4":7,"map":1,"2":3}},{"name":"b","slots":{"1":2,"0":5}}]}`,
			sim.Cluster{Nodes: []sim.Node{{Name: "a", Slots: []int{1, 0, 3, 0, 7}}, {Name: "b", Slots: []int{5, 2}}}},
		},
	}
	for _, tc := range tests {
		for _, data := range [][]byte{[]byte(tc.text), zip(t, tc.text)} {
			got, err := ReadCluster(bytes.NewReader(data), "")
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%s:\n got %+v, error %v\nwant %+v", tc.text, got, err, tc.want)
			}
		}
	}
}

func TestReadClusterFaults(t *testing.T) {
	node := func(keys string) string {
		return "{\"nodes\":[\n{\"name\":\"a\",\"slots\":{\"map\":1}},\n{" + keys + "}\n]}\n"
	}
	for _, tc := range []struct{ marked, reason string }{
		{"^", "ends too early"},
		{"{\"nodes\":\n[^", "ends too early"},
		{"{\"nodes\":\n[^NaN]}", "invalid character 'N'"},
		{node(`"name":"b","slots":{}`) + "^x", "after top-level value"},
		{"{\n\"nodes\":[\"^\xff\"]}", "invalid UTF-8"},
		{"^[]", "want an object, found a list"},
		{"^{}", `missing key "nodes"`},
		{`{"nodes":^{}}`, "want a list, found an object"},
		{`{"nodes":^[]}`, "no slots"},
		{`{"nodes":^[{"name":"a","slots":0}]}`, "no slots"},
		{`{"nodes":^[{"name":"a","slots":{}}]}`, "no slots"},
		{node(`^"cpu":1`), `unknown key "cpu"`},
		{node(`"rack":"r",^"rack":"r"`), `duplicate key "rack"`},
		{node(`"name":"b","slots":{"map":1,^"map":1}`), `duplicate key "map"`},
		{node(`"name":"b","slots":{^"any":1}`), `want "map", "reduce" or a number from 0 to 255, found "any"`},
		{node(`"name":"b","slots":{^"256":1}`), `found "256"`},
		{node(`"name":"b","slots":{"reduce":1,^"1":1}`), `duplicate key "1": class 1 has its slots`},
		{node(`"name":^"a"`), `duplicate node "a"`},
		{node(`"name":^""`), "empty name"},
		{node(`"name":^1`), "want a string, found a number"},
		{node(`"rack":^null`), "want a string, found null"},
		{node(`"speed":^0`), "speed 0 is not in [2^-16, 2^16]"},
		{node(`"speed":^-1`), "speed -1 is not in"},
		{node(`"speed":^1e999`), "speed +Inf is not in"},
		{node(`"speed":^65537`), "is not in"},
		{node(`"speed":^"1"`), "want a number, found a string"},
		{node(`"slots":^"2"`), "want an object, found a string"},
		{node(`"slots":{"map":^-1}`), "want an integer from 0 to 16777216, found -1"},
		{node(`"slots":{"reduce":^16777217}`), "found 16777217"},
		{node(`"slots":^1.5`), "found 1.5"},
		{"{\"nodes\":[\n{\"name\":\"a\",\"slots\":{\"map\":16777216}},\n^{\"name\":\"b\",\"slots\":{\"reduce\":1}}]}", "more than 16777216 slots"},
		{"{\"nodes\":[\n{\"name\":\"a\",\"slots\":1},\n^{\"name\":\"b\",\"slots\":{\"map\":1}}]}", "some nodes have uniform slots"},
		{"{\"nodes\":[\n{\"name\":\"a\",\"slots\":{\"map\":1}},\n^{\"name\":\"b\",\"slots\":1}]}", "some nodes have uniform slots"},
		{"{\"nodes\":[\n^{\"slots\":1}]}", `missing key "name"`},
		{"{\"nodes\":[\n^{\"name\":\"b\"}]}", `missing key "slots"`},
	} {
		text, line, column := cut(t, tc.marked)
		got, err := ReadCluster(strings.NewReader(text), "c.json")
		checkError(t, text, err, "c.json", line, column, tc.reason)
		if len(got.Nodes) > 0 {
			t.Errorf("%s: %d nodes with the error", text, len(got.Nodes))
		}
	}
}

func TestReadClusterFailures(t *testing.T) {
	failure := errors.New("disk on fire")
	_, err := ReadCluster(iotest.ErrReader(failure), "c.json")
	var e *Error
	if !errors.Is(err, failure) || errors.As(err, &e) {
		t.Errorf("error %v (%T), want one that wraps %q", err, err, failure)
	}
	_, err = readCluster(io.MultiReader(strings.NewReader("{\n"), endless(' ')), "c.json", 1000)
	checkError(t, "endless file", err, "c.json", 2, 999, "more than 1000 bytes of text")
}

func TestWriteClusterThenReadIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := sim.Cluster{Uniform: rapid.Bool().Draw(t, "uniform")}
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 5, -1), 1, 6, rapid.ID).Draw(t, "names")
		for i, name := range names {
			n := sim.Node{Name: name, Rack: rapid.SampledFrom([]string{"", "r1", `r"2`}).Draw(t, "rack")}
			if rapid.Bool().Draw(t, "fast") {
				n.Speed = rapid.Float64Range(1.0/maxSpeed, maxSpeed).Draw(t, "speed")
			}
			classes := 1
			if !c.Uniform {
				classes = rapid.OneOf(rapid.IntRange(2, 6), rapid.Just(sojourn.MaxClasses)).Draw(t, "classes")
			}
			n.Slots = make([]int, classes)
			for class := range classes {
				n.Slots[class] = rapid.IntRange(0, 1000).Draw(t, "slots")
			}
			n.Slots[0] += max(0, 1-i)
			if classes > 2 {
				n.Slots[classes-1]++ // zeros at the end are not written
			}
			c.Nodes = append(c.Nodes, n)
		}
		var buf bytes.Buffer
		if err := WriteCluster(&buf, c); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		got, err := ReadCluster(&buf, "")
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("got %+v, error %v\nwant %+v", got, err, c)
		}
	})
}

func TestWriteClusterText(t *testing.T) {
	c := sim.Cluster{Nodes: []sim.Node{{Name: "n1", Rack: "r1", Speed: 2, Slots: []int{2, 1}}, {Name: "n2"}}}
	const want = `{"nodes":[
{"name":"n1","rack":"r1","speed":2,"slots":{"map":2,"reduce":1}},
{"name":"n2","slots":{"map":0,"reduce":0}}
]}
`
	var buf bytes.Buffer
	if err := WriteCluster(&buf, c); err != nil || buf.String() != want {
		t.Errorf("got %s, error %v\nwant %s", buf.String(), err, want)
	}
}

func TestWriteClusterRefuses(t *testing.T) {
	one := sim.Node{Name: "a", Slots: []int{1}}
	for reason, c := range map[string]sim.Cluster{
		"no slots":                  {},
		"empty or used twice":       {Nodes: []sim.Node{one, one}},
		`name "" is empty`:          {Nodes: []sim.Node{{Slots: one.Slots}}},
		"is not UTF-8":              {Nodes: []sim.Node{{Name: "\xff", Slots: one.Slots}}},
		"speed -1 is not":           {Nodes: []sim.Node{{Name: "a", Speed: -1, Slots: one.Slots}}},
		"-1 slots of class 0 are":   {Nodes: []sim.Node{{Name: "a", Slots: []int{-1, 2}}}},
		"more than 16777216 slots":  {Nodes: []sim.Node{one, {Name: "b", Slots: []int{1 << 24, 0}}}},
		"are not all in class 0":    {Uniform: true, Nodes: []sim.Node{{Name: "a", Slots: []int{1, 1}}}},
		"16777217 slots of class 1": {Nodes: []sim.Node{{Name: "a", Slots: []int{0, 1<<24 + 1}}}},
	} {
		var buf bytes.Buffer
		err := WriteCluster(&buf, c)
		if err == nil || !strings.Contains(err.Error(), reason) || buf.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes written", reason, err, buf.Len())
		}
	}
}
