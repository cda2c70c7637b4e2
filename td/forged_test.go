package td_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/td"
)

// A node in the hot queue is below 2^32, like every node.
func TestForgedHotNode(t *testing.T) {
	const node sojourn.NodeID = 1<<32 - 1
	p := newWith(td.Options{})
	job := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 1, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{node}})}}}
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 1}},
		{Kind: sojourn.JobArrived, Job: job},
	} {
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	if a, ok := p.Assign(1); !ok || a.Source != node {
		t.Fatalf("Assign = %+v, %v, want a read from node %d", a, ok, node)
	}
	data, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(data, binary.AppendUvarint(nil, uint64(node)))
	copy(data[at:], binary.AppendUvarint(nil, 1<<33-1)) // whose last 32 bits are the same
	end := len(data) - 4
	binary.LittleEndian.PutUint32(data[end:], crc32.Checksum(data[:end], crc32.MakeTable(crc32.Castagnoli)))
	if err := newWith(td.Options{}).UnmarshalBinary(data); err == nil || !strings.Contains(err.Error(), "range") {
		t.Errorf("%v, want an error about a range", err)
	}
}
