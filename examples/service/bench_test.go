package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// What an end of a task and the start after it cost through HTTP on loopback, with JSON, with so many of them in a request: client and
// server together. With none in a request the policy is called directly.
func BenchmarkBatch(b *testing.B) {
	const slots = 256
	for _, n := range []int{0, 1, 16, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p, err := leastwork.New(leastwork.Options{})
			if err != nil {
				b.Fatal(err)
			}
			observe := func(ev sojourn.Event) {
				if err := p.Observe(ev); err != nil {
					b.Fatal(err)
				}
			}
			for id := range sojourn.JobID(1000) {
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id + 1, Phases: []sojourn.Phase{{Tasks: b.N/1000 + slots}}}})
			}
			running := make([]sojourn.Assignment, slots)
			for id := range running {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
				running[id], _ = p.Assign(sojourn.SlotID(id))
			}
			settle := func(ends []sojourn.SlotID) (starts []sojourn.Assignment) {
				for _, id := range ends {
					a := running[id]
					observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}})
					running[id], _ = p.Assign(id)
					starts = append(starts, running[id])
				}
				return starts
			}
			var mu sync.Mutex
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var ends []sojourn.SlotID
				if err := json.NewDecoder(r.Body).Decode(&ends); err != nil {
					b.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				_ = json.NewEncoder(w).Encode(settle(ends))
			}))
			defer server.Close()
			b.ResetTimer()
			next := 0
			for done := 0; done < b.N; done += max(n, 1) {
				var ends []sojourn.SlotID
				for range max(n, 1) {
					ends = append(ends, sojourn.SlotID(next))
					next = (next + 1) % slots
				}
				if n == 0 {
					settle(ends)
					continue
				}
				body, _ := json.Marshal(ends)
				res, err := http.Post(server.URL, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				var starts []sojourn.Assignment
				if err := json.NewDecoder(res.Body).Decode(&starts); err != nil || len(starts) != n {
					b.Fatal(len(starts), err)
				}
				_ = res.Body.Close()
			}
		})
	}
}
