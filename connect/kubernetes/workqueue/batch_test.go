package workqueue_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/workqueue"
)

// If there are only pools to go by, a key is one of the greatest priority, of a pool that has fewest
// workers with this priority, and the first of these to have come. That holds however many keys a
// pool has, and whichever of them leave for a greater priority.
func TestPoolsShareInOrderOfArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, err := workqueue.New("", nil, workqueue.Options[string]{Pool: namespace})
		if err != nil {
			t.Fatal(err)
		}
		defer q.ShutDown()
		var queued, busy []entry // queued in the order of arrival
		total := 0
		add := func(key string, priority int) {
			q.AddWithPriority(priority, 0, key)
			i := slices.IndexFunc(queued, func(e entry) bool { return e.key == key })
			if i >= 0 {
				if queued[i].priority >= priority {
					return
				}
				queued = slices.Delete(queued, i, i+1)
			}
			queued = append(queued, entry{key: key, priority: priority})
		}
		check := func(t *rapid.T) {
			top := slices.MaxFunc(queued, func(a, b entry) int { return a.priority - b.priority }).priority
			running := map[string]int{}
			for _, e := range busy {
				if e.priority == top {
					running[namespace(e.key)]++
				}
			}
			first := map[string]string{} // of each pool
			fewest := len(busy) + 1
			for _, e := range queued {
				if pool := namespace(e.key); e.priority == top {
					if first[pool] == "" {
						first[pool] = e.key
					}
					fewest = min(fewest, running[pool])
				}
			}
			key, priority, _ := q.GetWithPriority()
			if priority != top || first[namespace(key)] != key || running[namespace(key)] != fewest {
				t.Fatalf("%q with priority %d; the greatest is %d, first of each pool %v, workers of each %v", key, priority, top, first, running)
			}
			queued = slices.DeleteFunc(queued, func(e entry) bool { return e.key == key })
			busy = append(busy, entry{key: key, priority: priority})
		}
		times := rapid.SampledFrom([]int{1, 2, 3, 63, 64, 65, 130})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				pool, priority := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pool"), rapid.IntRange(-1, 1).Draw(t, "priority")
				for range times.Draw(t, "keys") {
					add(fmt.Sprintf("%s/%d", pool, total), priority)
					total++
				}
			},
			"again": func(t *rapid.T) {
				for range times.Draw(t, "keys") {
					if len(queued) > 0 {
						add(rapid.SampledFrom(queued).Draw(t, "key").key, rapid.IntRange(-1, 2).Draw(t, "priority"))
					}
				}
			},
			"get": func(t *rapid.T) {
				for range times.Draw(t, "keys") {
					if len(queued) > 0 {
						check(t)
					}
				}
			},
			"done": func(t *rapid.T) {
				for range times.Draw(t, "keys") {
					if len(busy) > 0 {
						i := rapid.IntRange(0, len(busy)-1).Draw(t, "which")
						q.Done(busy[i].key)
						busy = slices.Delete(busy, i, i+1)
					}
				}
			},
			"": func(t *rapid.T) {
				if q.Len() != len(queued) {
					t.Fatalf("Len is %d, want %d", q.Len(), len(queued))
				}
			},
		})
		for len(queued) > 0 {
			check(t)
		}
	})
}
