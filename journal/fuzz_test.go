package journal

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// Any bytes are a segment, or an error that says what is wrong. What is opened goes on, and is opened again with the same facts.
// The checksums of the records are made right, so that what is behind them is reached.
func FuzzSegment(f *testing.F) {
	m := newMemory()
	j := mustOpen(f, m, newFIFO(f), Options{Keep: true})
	for _, call := range story() {
		if err := call(j); err != nil {
			f.Fatal(err)
		}
	}
	j.Close()
	f.Add(m.names[base(1)].data)
	f.Add(m.names[base(2)].data)
	f.Add([]byte(firstLine))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = slices.Clone(data)
		g := &segment{data: data, at: int64(min(len(data), len(firstLine)))}
		for g.at < int64(len(data)) {
			size := g.seal()
			if size == 0 {
				break
			}
			g.at += size
		}
		m := newMemory()
		m.names[base(1)] = &content{data: data}
		s, _ := openFiles(m, "dir")
		j, err := Open(s, newFIFO(t), Options{})
		if err != nil {
			return
		}
		if err := j.Observe(sojourn.Event{Kind: sojourn.Tick, At: j.Account().Now()}); err != nil {
			t.Fatalf("the journal does not go on: %v", err)
		}
		want := facts(slices.Collect(j.Account().Facts()))
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j = mustOpen(t, m, newFIFO(t), Options{})
		if got := facts(slices.Collect(j.Account().Facts())); got != want {
			t.Fatalf("opened again, the facts are\n%s\nwant\n%s", got, want)
		}
	})
}

// seal makes the checksum of a record right, and returns the size of the record; 0 if it is not whole.
func (g *segment) seal() int64 {
	rest := g.data[g.at:]
	if len(rest) == 0 || rest[0] == 0 || rest[0] > 127 || len(rest) < room+sumSize+int(rest[0]) {
		return 0
	}
	e := encoder{buf: rest[: room+sumSize+int(rest[0]) : room+sumSize+int(rest[0])]}
	e.end(0)
	return int64(len(e.buf))
}
