package trace

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// The jobs have two phases, with one time for each phase or a list of 100.
func BenchmarkRead(b *testing.B) {
	for _, bm := range []struct{ name, times string }{
		{"scalar", "15.8"},
		{"list", "[15.123" + strings.Repeat(",9.1", 99) + "]"},
	} {
		var text bytes.Buffer
		for id := range 1000 {
			fmt.Fprintf(&text, `{"id":%d,"name":"job%d","at":%d.25,"phases":[{"class":"map","tasks":100,"time":%s},{"class":"reduce","tasks":2,"time":33}]}`+"\n",
				id+1, id, id, bm.times)
		}
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range Read(bytes.NewReader(text.Bytes()), ReadOptions{}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	jobs := readAll(b, strings.Replace(goodLine, `"time":1`, `"time":[15.123]`, 1))
	var size int
	w := NewWriter(io.Discard, WriteOptions{})
	b.ReportAllocs()
	for b.Loop() {
		jobs[0].ID++
		if err := w.Write(jobs[0]); err != nil {
			b.Fatal(err)
		}
		size = len(w.line)
	}
	b.SetBytes(int64(size))
}
