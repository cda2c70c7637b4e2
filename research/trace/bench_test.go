package trace

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/research/sim"
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
	w := NewWriter(io.Discard, nil)
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

// BenchmarkReadTrace reads traces of other formats.
func BenchmarkReadTrace(b *testing.B) {
	var swim, swf strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&swim, "job%d\t%d\t12\t%d\t%d\t%d\n", i, 12*i, 123_456_789*i, i%3*9_876_543, 1_234_567)
		fmt.Fprintf(&swf, "%6d %8d %6d %6d %4d %6d -1 %4d %6d -1 1 %3d %3d -1 1 1 -1 -1\n", i+1, 60*i, i%500, 60+i, 1+i%64, 50+i, 1+i%64, 3600, i%90, i%9)
	}
	read := func(name, text string, jobs func(r io.Reader) iter.Seq2[*sim.Job, error]) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range jobs(strings.NewReader(text)) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	read("swim", swim.String(), func(r io.Reader) iter.Seq2[*sim.Job, error] { return ReadSWIM(r, SWIMOptions{}) })
	read("swf", swf.String(), func(r io.Reader) iter.Seq2[*sim.Job, error] { return ReadSWF(r, ReadOptions{}) })
}
