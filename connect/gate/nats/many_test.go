package nats_test

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournnats "github.com/sojourn-sched/sojourn/connect/gate/nats"
)

// processor returns the time that this process has computed, server included.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Many held tasks: a comparison reads none of them from the server again, and the payloads were never read.
func TestManyHeld(t *testing.T) { testManyHeld(t, 20_000) }

func testManyHeld(t *testing.T, n int) {
	h := newHost(t, newEngine(t, 1), options)
	ctx := t.Context()
	tasks := make([]sojournnats.Task, n)
	for i := range tasks {
		tasks[i] = sojournnats.Task{ID: fmt.Sprint("t", i), Data: make([]byte, 1000)}
	}
	start := time.Now()
	for i := range 10 {
		if err := h.queue.Enqueue(ctx, gate.Job{ID: fmt.Sprint("job", i)}, tasks[n/10*i:n/10*(i+1)]...); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d tasks put in: %.0f a second", n, float64(n)/time.Since(start).Seconds())
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	read := h.conn.Stats().InBytes
	start = time.Now()
	if _, _, err := h.queue.Lock(ctx, "me"); err != nil {
		t.Fatal(err)
	}
	stop := background(t, func(ctx context.Context) error {
		for ctx.Err() == nil {
			_, _, _ = h.queue.Lock(ctx, "me")
			time.Sleep(200 * time.Millisecond)
		}
		return nil
	})
	if all, err := h.queue.Tasks(ctx); err != nil || len(all) != n {
		t.Fatalf("%d tasks, error %v, want %d", len(all), err, n)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	first := h.conn.Stats().InBytes - read
	t.Logf("read in %v: %d bytes a task from the server, %d of memory", time.Since(start), first/uint64(n), (after.HeapAlloc-before.HeapAlloc)/uint64(n))
	if first > uint64(n)*500 {
		t.Errorf("the gate has read %d bytes for %d tasks of 1,000 bytes, want headers only", first, n)
	}
	read = h.conn.Stats().InBytes
	if all, err := h.queue.Tasks(ctx); err != nil || len(all) != n {
		t.Fatalf("%d tasks, error %v, want %d", len(all), err, n)
	}
	if again := h.conn.Stats().InBytes - read; again > 10_000 {
		t.Errorf("a comparison has read %d bytes, want few", again)
	}
	stop()
	if err := h.queue.Unlock(ctx, "me"); err != nil {
		t.Fatal(err)
	}
	g, _ := h.gate(gate.Options{Log: quick.Log})
	until(t, "the gate knows all tasks", func() bool { return g.Status().Held == n })
	used, start := processor(), time.Now()
	time.Sleep(min(30*time.Second, time.Duration(n)*250*time.Microsecond)) // with comparisons above 40,000 tasks
	t.Logf("gate and server use %.3f of a core while all tasks are held", (processor()-used).Seconds()/time.Since(start).Seconds())
}

// Tasks that are put in together take fewer round trips than tasks that are put in one by one.
func BenchmarkEnqueue(b *testing.B) {
	for _, batch := range []int{1, 1000} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			h := newHost(b, newEngine(b, 1), options)
			tasks := make([]sojournnats.Task, batch)
			for b.Loop() {
				if err := h.queue.Enqueue(b.Context(), gate.Job{ID: "a"}, tasks...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}

// plain puts tasks where workers find them, without a gate.
func (h *host) plain(job string, n int, d time.Duration) {
	api := must(js.New(h.conn))
	for i := range n {
		_ = must(api.PublishMsgAsync(&nats.Msg{Subject: fmt.Sprintf("sojourn.jobs.work.%s-%d", job, i+1), Data: []byte(d.String())}))
	}
	<-api.PublishAsyncComplete()
	h.put += n
}

// One batch of equal tasks for four workers, without a gate, with one, and with tasks ahead, in turn: tasks a second and for each second of a core of
// all together, the server of NATS among them, without a gate, and what part of both with one.
func BenchmarkThroughput(b *testing.B) {
	ways := []string{"nats", "gate", "ahead=4"}
	for _, d := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		n := min(2000, int(8*time.Second/max(d, time.Millisecond)))
		b.Run(fmt.Sprint("tasks=", d), func(b *testing.B) {
			took, used := make([]time.Duration, len(ways)), make([]time.Duration, len(ways))
			for range b.N {
				for i, way := range ways {
					h := newHost(b, newEngine(b, 1), options)
					h.handle = func(ctx context.Context, _ sojournnats.Task) error { time.Sleep(d); return nil }
					stop, put := h.serve(4), h.plain
					if way != "nats" {
						put = h.enqueue
						o := gate.Options{Log: quick.Log}
						if way != "gate" {
							o.Ahead = 4
						}
						g, _ := h.gate(o)
						until(b, "four workers are known", func() bool { return g.Status().Workers == 4 })
					}
					start, before := time.Now(), processor()
					put("a", n, d)
					for h.ended() < n {
						time.Sleep(time.Millisecond)
					}
					took[i] += time.Since(start)
					used[i] += processor() - before
					stop()
				}
			}
			b.ReportMetric(float64(n*b.N)/took[0].Seconds(), "nats-tasks/s")
			b.ReportMetric(float64(n*b.N)/used[0].Seconds(), "nats-tasks/core-s")
			for i := 1; i < len(ways); i++ {
				b.ReportMetric(took[0].Seconds()/took[i].Seconds(), ways[i])
				b.ReportMetric(used[0].Seconds()/used[i].Seconds(), ways[i]+"/core")
			}
		})
	}
}
