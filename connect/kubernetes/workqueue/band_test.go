package workqueue

import (
	"fmt"
	"testing"
)

// A priority knows how many of its keys are queued or worked on, though keys leave it for a greater one, and
// is dropped once it has none.
func TestBandsCount(t *testing.T) {
	q, err := New("", nil, Options[string]{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.ShutDown()
	const keys = 130
	for i := range keys {
		q.AddWithPriority(1, 0, fmt.Sprint(i))
	}
	first, _, _ := q.GetWithPriority() // the policy knows 64 of the other keys now
	for i := range 100 {
		q.AddWithPriority(2, 0, fmt.Sprint(i+1)) // 29 are left
	}
	count := func(when string, want map[int]int) {
		t.Helper()
		for _, b := range q.queue.store.bands {
			if b.tasks != want[b.priority] {
				t.Errorf("%s, priority %d has %d keys, want %d", when, b.priority, b.tasks, want[b.priority])
			}
		}
	}
	got := []string{first}
	for range keys - 1 {
		key, _, _ := q.GetWithPriority()
		got = append(got, key)
	}
	count("with all keys at work", map[int]int{1: 30, 2: 100})
	for _, key := range got {
		q.Done(key)
	}
	count("in the end", nil)
	for priority := range 2 * maxBands {
		q.AddWithPriority(10+priority, 0, "key")
		key, _, _ := q.GetWithPriority()
		q.Done(key)
	}
	if n := len(q.queue.store.bands); n > maxBands {
		t.Errorf("%d priorities are kept, want at most %d", n, maxBands)
	}
}
