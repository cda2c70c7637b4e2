package convert

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// Each job of a workload names a node that no job before it has named. The names are written while others are
// still read.
func TestNodesReadWhileOthersAreWritten(t *testing.T) {
	var in, out strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&in, `{"id":%d,"at":%d,"phases":[{"class":"map","tasks":1,"time":1,"nodes":[["host%d"]]}]}`+"\n", i+1, i, i)
	}
	f := Conversion{From: "workload", To: "workload"}
	if err := f.Write(&out, io.Discard, []Input{{strings.NewReader(in.String()), "-"}}, nil); err != nil {
		t.Fatal(err)
	}
	if out.String() != in.String() {
		t.Errorf("the workload that was written differs from the one that was read")
	}
}
