package main

import "time"

// The floor is an indexed heap of jobs, by what runs of them and then by age. An operation takes a
// running task from its job and gives one to the job that comes first: two moves in the heap.
//
// Compared: the choice among jobs. Not compared: a task here has no state, no slot and no length,
// nothing is checked, and jobs neither come nor go. No fair decision is below it.

func floorRow(group string, n int) row {
	return row{group, "floor, " + group, 200_000, func(ops int) (time.Duration, error) { return floor(n, ops), nil }}
}

// floor measures a heap of jobs by the number of their running tasks, then by age.
func floor(n, ops int) time.Duration {
	type entry struct{ running, id int }
	less := func(a, b entry) bool { return a.running < b.running || a.running == b.running && a.id < b.id }
	heap, place := make([]entry, n), make([]int, n)
	for i := range heap {
		heap[i], place[i] = entry{0, i}, i
	}
	put := func(i int, e entry) { heap[i], place[e.id] = e, i }
	fix := func(i int) {
		e := heap[i]
		for i > 0 && less(e, heap[(i-1)/2]) {
			put(i, heap[(i-1)/2])
			i = (i - 1) / 2
		}
		for {
			c := 2*i + 1
			if c+1 < n && less(heap[c+1], heap[c]) {
				c++
			}
			if c >= n || !less(heap[c], e) {
				break
			}
			put(i, heap[c])
			i = c
		}
		put(i, e)
	}
	var running [256]int
	for i := range running {
		running[i] = heap[0].id
		heap[0].running++
		fix(0)
	}
	before := cpu()
	for i := range ops {
		at := place[running[i%len(running)]]
		heap[at].running--
		fix(at)
		running[i%len(running)] = heap[0].id
		heap[0].running++
		fix(0)
	}
	return cpu() - before
}
