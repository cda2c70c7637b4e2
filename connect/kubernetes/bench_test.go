package kubernetes

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"k8s.io/apimachinery/pkg/types"
)

// A pod ends and another one comes, in a full cluster of 1,000 nodes where pods of 20 shapes wait.
func BenchmarkShapes(b *testing.B) {
	for _, policy := range []string{"fair", "fifo"} {
		b.Run(policy, func(b *testing.B) {
			make := fairly
			if policy == "fifo" {
				make = func(map[sojourn.Class][]uint32) (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }
			}
			w := stageOf(b, Config{Name: "sojourn", Shapes: &Shapes{Policy: make, Patience: time.Hour}})
			for i := range 1000 {
				w.setNode(fmt.Sprint("n", i), 0, has(110, 16, 64))
			}
			pods := 0
			add := func() {
				w.newPod(asks(int64(1+pods%5), int64(1+pods%4)))
				pods++
			}
			var running []types.UID
			settle := func() {
				w.settle()
				w.carryOut()
				for _, x := range w.order {
					running = append(running, x.uid)
				}
			}
			for range 8000 {
				add()
			}
			settle()
			i := 0
			for b.Loop() {
				i = (i + 7919) % len(running)
				last := len(running) - 1
				w.end(running[i])
				w.remove(running[i])
				running[i], running = running[last], running[:last]
				add()
				settle()
			}
		})
	}
}
