//go:build all

package river_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// One of two clients in processes of their own is killed and replaced at once, under River alone and under a gate. The test
// prints the rows that end a second, 5 s by 5 s. Under a gate as many end 15 s later as before, but for what is lost by chance.
func TestReplacedClient(t *testing.T) {
	rates := map[bool][]float64{}
	for _, gated := range []bool{false, true} {
		h := newHost(t, 0, 0, nil)
		var err error
		if h.client, err = river.NewClient(riverpgxv5.New(h.pool), &river.Config{}); err != nil {
			t.Fatal(err)
		}
		client := func() (kill func()) {
			_, kill = spawn(t, fmt.Sprint("SOJOURN_CLIENT=4 ", h.dsn))
			return kill
		}
		client()
		kill := client()
		if gated {
			g := h.learning(gate.Options{})
			h.until("eight workers are known", func() bool { return g.Status().Workers == 8 })
		}
		h.put(gated, "a", 3000, 100*time.Millisecond)
		ended := func() (n int) {
			if err := h.pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state = 'completed'`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		rate := func() float64 {
			n, start := ended(), time.Now()
			time.Sleep(5 * time.Second)
			return float64(ended()-n) / time.Since(start).Seconds()
		}
		h.until("rows end", func() bool { return ended() > 20 })
		list := []float64{rate()}
		kill()
		client()
		for range 4 {
			list = append(list, rate())
		}
		t.Logf("gate %v: rows a second before, and after the kill by 5 s: %.1f", gated, list)
		rates[gated] = list
	}
	was, is := rates[false], rates[true]
	t.Logf("with a gate as a part of without, 15 to 20 s after: %.3f", is[4]/was[4])
	if is[4] < 0.7*is[0]*min(1, was[4]/was[0]) {
		t.Errorf("with a gate %.1f rows end a second 15 to 20 s after the kill, and %.1f did before", is[4], is[0])
	}
}
