//go:build all

package asynq_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// One of two servers in processes of their own is killed and replaced at once, under asynq alone and under a gate. The test
// prints the tasks that end a second, 5 s by 5 s. Under a gate as many end 15 s later as before, but for what is lost by chance.
func TestReplacedServer(t *testing.T) {
	rates := map[bool][]float64{}
	for _, gated := range []bool{false, true} {
		s, err := startRedis(t)
		if err != nil {
			t.Skip(err)
		}
		h := newHost(t, 0, s.opt())
		s.spawn(t, 4)
		kill := s.spawn(t, 4)
		const tasks, length = 3000, 100 * time.Millisecond
		if gated {
			g := h.learning(gate.Options{})
			until(t, "eight workers are known", func() bool { return g.Status().Workers == 8 })
			h.enqueue("a", tasks, length)
		} else {
			client := asynq.NewClientFromRedisClient(h.redis)
			for i := range tasks {
				text, err := json.Marshal(payload{fmt.Sprint(i), length})
				if err == nil {
					_, err = client.Enqueue(asynq.NewTask("task", text))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		ends := func() int { n, _ := h.redis.Get(t.Context(), "ends").Int(); return n }
		rate := func() float64 {
			n, start := ends(), time.Now()
			time.Sleep(5 * time.Second)
			return float64(ends()-n) / time.Since(start).Seconds()
		}
		until(t, "tasks end", func() bool { return ends() > 20 })
		list := []float64{rate()}
		kill()
		s.spawn(t, 4)
		for range 4 {
			list = append(list, rate())
		}
		t.Logf("gate %v: tasks a second before, and after the kill by 5 s: %.1f", gated, list)
		rates[gated] = list
		h.stop()
	}
	was, is := rates[false], rates[true]
	t.Logf("with a gate as a part of without, 15 to 20 s after: %.3f", is[4]/was[4])
	if is[4] < 0.7*is[0]*min(1, was[4]/was[0]) {
		t.Errorf("with a gate %.1f tasks end a second 15 to 20 s after the kill, and %.1f did before", is[4], is[0])
	}
}
