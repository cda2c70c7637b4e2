package vqueue_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

var sizes = []int{1000, 100_000, 1_000_000}

// BenchmarkTask measures the cost of the start or the end of a task: time
// advances, First returns an item, and its tasks are counted.
func BenchmarkTask(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			q, now, _ := filled(n)
			b.ReportAllocs()
			for b.Loop() {
				now++
				q.Advance(now, nil)
				it, _ := q.First()
				q.SetRunning(it, 1)
			}
		})
	}
}

// BenchmarkReady measures the cost of making an item not ready, or ready again.
func BenchmarkReady(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			q, _, items := filled(n)
			rng := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				it := items[rng.IntN(n)]
				q.SetReady(it, false)
				q.SetReady(it, true)
			}
		})
	}
}

// BenchmarkJob is the whole life of a job of one task: it arrives, becomes
// ready, is started, ends, and is virtually complete.
func BenchmarkJob(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			q, _, _ := filled(n)
			rng := rand.New(rand.NewPCG(1, 2))
			done := func(*vqueue.Item[int], sojourn.Time) {}
			b.ReportAllocs()
			for b.Loop() {
				q.SetReady(q.Arrive(0, 1+rng.Uint64N(1<<40), one), true)
				it, _ := q.First()
				q.SetRunning(it, 1)
				q.SetReady(it, false)
				q.Finish(it)
				at, _ := q.NextCompletion()
				q.Advance(at, done)
			}
		})
	}
}

// filled returns a queue of n ready items of random work.
func filled(n int) (q *vqueue.Queue[int], now sojourn.Time, items []*vqueue.Item[int]) {
	rng := rand.New(rand.NewPCG(3, 4))
	q = vqueue.New[int](vqueue.LateFirst)
	q.SetCapacity(1000)
	for i := range n {
		it := q.Arrive(i, 1+rng.Uint64N(1<<40), one)
		q.SetReady(it, true)
		items = append(items, it)
	}
	return q, 0, items
}
