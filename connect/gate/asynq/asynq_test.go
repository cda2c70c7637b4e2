package asynq_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournasynq "github.com/sojourn-sched/sojourn/connect/gate/asynq"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/leastwork"
)

const workers = 4

// A host is a Redis with servers of asynq and, unless the order is asynq's own, a gate.
type host struct {
	t      testing.TB
	opt    asynq.RedisClientOpt
	redis  redis.UniversalClient
	queue  *sojournasynq.Queue
	start  time.Time
	mu     sync.Mutex
	ends   map[string][]time.Duration // of each job's tasks that have ended well
	runs   map[string]int             // of each task
	handle func(ctx context.Context, id string) error
	stop   func() // kills the gate
}

func newHost(t testing.TB, servers int, opt asynq.RedisClientOpt) *host {
	h := &host{t: t, opt: opt, ends: map[string][]time.Duration{}, runs: map[string]int{}, start: time.Now(), stop: func() {}}
	h.redis = opt.MakeRedisClient().(redis.UniversalClient)
	var err error
	if h.queue, err = sojournasynq.New(opt, "default"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.queue.Close(); h.redis.Close() })
	for range servers {
		h.serve(workers / servers)
	}
	return h
}

// serve starts a server.
func (h *host) serve(concurrency int) {
	h.process(concurrency, func(ctx context.Context, id string, p payload) error {
		h.mu.Lock()
		h.runs[id]++
		h.mu.Unlock()
		time.Sleep(p.Length)
		if h.handle != nil {
			if err := h.handle(ctx, id); err != nil {
				return err
			}
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ends[p.Job] = append(h.ends[p.Job], time.Since(h.start))
		return nil
	})
}

// process starts a server that does something for each task.
func (h *host) process(concurrency int, do func(ctx context.Context, id string, p payload) error) {
	server := asynq.NewServer(h.opt, asynq.Config{Concurrency: concurrency, LogLevel: asynq.FatalLevel,
		TaskCheckInterval: 5 * time.Millisecond, RetryDelayFunc: h.queue.RetryDelay})
	mux := asynq.NewServeMux()
	mux.Use(h.queue.Middleware)
	mux.HandleFunc("task", func(ctx context.Context, task *asynq.Task) error {
		var p payload
		if err := json.Unmarshal(task.Payload(), &p); err != nil {
			return err
		}
		id, _ := asynq.GetTaskID(ctx)
		return do(ctx, id, p)
	})
	if err := server.Start(mux); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(server.Shutdown)
}

type payload struct {
	Job    string
	Length time.Duration
}

// gate starts a gate.
func (h *host) gate(p sojourn.Policy, o gate.Options) {
	o.Workers = workers
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g, err := gate.New(p, h.queue, o)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = g.Run(ctx) })
	h.stop = func() { cancel(); wg.Wait() }
	h.t.Cleanup(func() { h.stop() })
}

func (h *host) enqueue(job string, tasks int, length time.Duration, options ...asynq.Option) {
	h.t.Helper()
	var list []sojournasynq.Task
	for range tasks {
		p, err := json.Marshal(payload{job, length})
		if err != nil {
			h.t.Fatal(err)
		}
		list = append(list, sojournasynq.Task{Type: "task", Payload: p, Options: options})
	}
	if err := h.queue.Enqueue(h.t.Context(), gate.Job{ID: job}, list...); err != nil {
		h.t.Fatal(err)
	}
}

// wait waits until so many tasks have ended well.
func (h *host) wait(tasks int) {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		n := 0
		h.mu.Lock()
		for _, ends := range h.ends {
			n += len(ends)
		}
		h.mu.Unlock()
		if n >= tasks {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%d of %d tasks have ended after a minute", n, tasks)
		}
	}
}

func (h *host) once(except func(id string) int) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, n := range h.runs {
		if n != 1+except(id) {
			h.t.Errorf("task %s ran %d times, want %d", id, n, 1+except(id))
		}
	}
}

func none(string) int { return 0 }

func newFair() sojourn.Policy { f, err := fair.New(fair.Options{}); return policy(f, err) }

func policy(p sojourn.Policy, err error) sojourn.Policy {
	if err != nil {
		panic(err)
	}
	return p
}

// Small batches end before the large one that came first, with servers in two processes' stead.
func TestOrder(t *testing.T) { eachRedis(t, testOrder) }

func testOrder(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 2, opt)
	l, err := leastwork.New(leastwork.Options{})
	h.gate(policy(l, err), gate.Options{})
	h.enqueue("large", 40, 20*time.Millisecond)
	for i := range 3 {
		h.enqueue(fmt.Sprint("small", i), 2, 20*time.Millisecond)
	}
	h.wait(46)
	h.once(none)
	late := 0
	for job, ends := range h.ends {
		if job == "large" {
			continue
		}
		for _, at := range ends {
			late = max(late, len(slices.DeleteFunc(slices.Clone(h.ends["large"]), func(e time.Duration) bool { return e > at })))
		}
	}
	if late > 20 {
		t.Errorf("%d of 40 tasks of the large batch ended before the last small one", late)
	}
}

// A failed task is held for the gate and tried again, one that may not be tried again is
// dropped, and a panic is a failure.
func TestFailures(t *testing.T) { eachRedis(t, testFailures) }

func testFailures(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 1, opt)
	h.queue.SetDelay(func(int, error, *asynq.Task) time.Duration { return 10 * time.Millisecond })
	failed := map[string]bool{}
	h.handle = func(ctx context.Context, id string) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		switch {
		case id[0] == 's':
			return fmt.Errorf("no: %w", asynq.SkipRetry)
		case id[0] == 'f' && !failed[id]:
			failed[id] = true
			return errors.New("once")
		case id[0] == 'p' && !failed[id]:
			failed[id] = true
			panic("once")
		}
		return nil
	}
	f, err := fair.New(fair.Options{})
	h.gate(policy(f, err), gate.Options{})
	for _, id := range []string{"skip", "fail", "panic", "good"} {
		h.enqueue("job", 1, time.Millisecond, asynq.TaskID(id))
	}
	h.wait(3)
	h.once(func(id string) int {
		if id == "fail" || id == "panic" {
			return 1
		}
		return 0
	})
	if h.runs["skip"] != 1 {
		t.Errorf("the task that is not to be tried again ran %d times", h.runs["skip"])
	}
}

// A gate dies with tasks running and held, Redis loses the notes, and is gone for a while: the next
// gate goes on, and no task runs twice.
func TestDeath(t *testing.T) { eachRedis(t, testDeath) }

func testDeath(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 1, opt)
	newPolicy := func() sojourn.Policy { f, err := fair.New(fair.Options{}); return policy(f, err) }
	h.gate(newPolicy(), gate.Options{Compare: 200 * time.Millisecond})
	h.enqueue("a", 20, 20*time.Millisecond)
	h.wait(6)
	h.stop()
	h.enqueue("b", 4, 20*time.Millisecond) // nobody listens
	time.Sleep(50 * time.Millisecond)
	h.redis.Del(t.Context(), "asynq:{default}:sojourn") // neither does the next gate hear of it
	h.gate(newPolicy(), gate.Options{Compare: 200 * time.Millisecond})
	h.wait(12)
	h.redis.Del(t.Context(), "asynq:{default}:sojourn")
	h.wait(24)
	h.once(none)
}

func TestBadInput(t *testing.T) { eachRedis(t, testBadInput) }

func testBadInput(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 1, opt)
	if _, err := sojournasynq.New(h.opt, ""); err == nil {
		t.Error("a queue without a name")
	}
	ctx := t.Context()
	if err := h.queue.Enqueue(ctx, gate.Job{ID: "x"}, sojournasynq.Task{Type: ""}); err == nil {
		t.Error("a task without a type")
	}
	if err := h.queue.Enqueue(ctx, gate.Job{ID: "x"}, sojournasynq.Task{Type: "task", Options: []asynq.Option{asynq.Group("g")}}); err == nil {
		t.Error("a task with a group")
	}
	task := sojournasynq.Task{Type: "task", Options: []asynq.Option{asynq.TaskID("same")}}
	if err := h.queue.Enqueue(ctx, gate.Job{ID: "x"}, task, task); !errors.Is(err, asynq.ErrTaskIDConflict) {
		t.Errorf("error %v, want a conflict", err)
	}
	if err := h.queue.Release(ctx, "unknown"); !errors.Is(err, gate.ErrGone) {
		t.Errorf("error %v, want ErrGone", err)
	}
	if err := h.redis.LPush(ctx, "asynq:{default}:sojourn", "no note").Err(); err != nil {
		t.Fatal(err)
	}
	if notes, err := h.queue.Notes(ctx); err != nil || len(notes) != 1 {
		t.Errorf("notes %v, error %v, want the one about the task", notes, err)
	}
	if tasks, err := h.queue.Tasks(ctx); err != nil || len(tasks) != 1 || tasks[0].ID != "same" || tasks[0].Job.ID != "x" {
		t.Errorf("tasks %v, error %v", tasks, err)
	}
}

func TestHeadersOfTheTaskBefore(t *testing.T) { eachRedis(t, testHeadersOfTheTaskBefore) }

// A handler puts in the next task with the headers of its own, as one does with those of a trace. The next task is one of the job for which it is put in, and
// has no time of the first one.
func testHeadersOfTheTaskBefore(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 0, opt)
	ctx := t.Context()
	headers := map[string]string{"trace": "x"}
	if err := h.queue.Enqueue(ctx, gate.Job{ID: "first"}, sojournasynq.Task{Type: "task", Headers: headers, Options: []asynq.Option{asynq.TaskID("a"), asynq.ProcessIn(time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	if len(headers) != 1 {
		t.Errorf("headers of the caller %v, want one", headers)
	}
	inspector := asynq.NewInspector(h.opt)
	defer inspector.Close()
	info, err := inspector.GetTaskInfo("default", "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.queue.Enqueue(ctx, gate.Job{ID: "second"}, sojournasynq.Task{Type: "task", Headers: info.Headers, Options: []asynq.Option{asynq.TaskID("b")}}); err != nil {
		t.Fatal(err)
	}
	tasks, err := h.queue.Tasks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tasks {
		if first := x.ID == "a"; x.Job.ID != map[bool]string{true: "first", false: "second"}[first] || x.NotBefore.IsZero() == first {
			t.Errorf("task %+v, want each with the job for which it was put in, and a time of the first one", x)
		}
	}
	if info, err := inspector.GetTaskInfo("default", "b"); err != nil || info.Headers["trace"] != "x" || len(tasks) != 2 {
		t.Errorf("task %+v, error %v, tasks %v, want two, the second with the trace", info, err, tasks)
	}
}

// An order is one that benchmarks compare.
type order struct {
	name  string
	new   func() (sojourn.Policy, error) // nil: asynq's own order
	ahead int
}

var orders = []order{
	{"native", nil, 0},
	{"fifo", func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }, 0},
	{"leastwork", func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }, 0},
	{"leastwork,ahead=4", func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }, 4},
}

// open starts a host that waits for work, and returns a function that puts a batch in.
func (o *order) open(b *testing.B) (h *host, put func(job string, tasks int, length time.Duration)) {
	h = newHost(b, 1, redisOf(b))
	if o.new != nil {
		h.gate(policy(o.new()), gate.Options{Ahead: o.ahead})
		put = func(job string, tasks int, length time.Duration) { h.enqueue(job, tasks, length) }
	} else {
		client := asynq.NewClientFromRedisClient(h.redis)
		put = func(job string, tasks int, length time.Duration) {
			text, err := json.Marshal(payload{job, length})
			for range tasks {
				if err == nil {
					_, err = client.Enqueue(asynq.NewTask("task", text))
				}
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	h.start = time.Now()
	return h, put
}

// BenchmarkThroughput puts in one batch of equal tasks for four workers, in each order in turn. It reports how many end a second in
// asynq's own order, and what part of that in the others.
func BenchmarkThroughput(b *testing.B) {
	for i, n := range []int{2000, 1000, 160, 16} {
		length := []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second}[i]
		b.Run(fmt.Sprintf("tasks=%v", length), func(b *testing.B) {
			took := make([]time.Duration, len(orders))
			for range b.N {
				for i := range orders {
					h, put := orders[i].open(b)
					put("one", n, length)
					h.wait(n)
					took[i] += time.Since(h.start)
					h.stop()
				}
			}
			b.ReportMetric(float64(n*b.N)/took[0].Seconds(), orders[0].name+"-tasks/s")
			for i := 1; i < len(orders); i++ {
				b.ReportMetric(took[0].Seconds()/took[i].Seconds(), orders[i].name)
			}
		})
	}
}

// BenchmarkSizes puts in 60 batches over time, most of them small, for four workers at a load of 0.7. It reports the
// sojourn times of the batches of up to 3 tasks, and of the others.
func BenchmarkSizes(b *testing.B) {
	const length = 50 * time.Millisecond
	for _, o := range orders {
		b.Run(o.name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 1))
			times := map[string][]time.Duration{}
			for range b.N {
				h, put := o.open(b)
				kinds, starts, total := map[string]string{}, map[string]time.Duration{}, 0
				for i := range 60 {
					job, n, kind := fmt.Sprint(i), 1+random.IntN(3), "small"
					if i%10 == 0 {
						n, kind = 30+random.IntN(20), "large"
					}
					kinds[job], starts[job], total = kind, time.Since(h.start), total+n
					put(job, n, length)
					time.Sleep(time.Duration(random.ExpFloat64() * 5.8 / workers / 0.7 * float64(length)))
				}
				h.wait(total)
				h.stop()
				for job, ends := range h.ends {
					took := slices.Max(ends) - starts[job]
					times[kinds[job]], times["all"] = append(times[kinds[job]], took), append(times["all"], took)
				}
			}
			for name, list := range times {
				slices.Sort(list)
				var sum time.Duration
				for _, t := range list {
					sum += t
				}
				b.ReportMetric(float64(sum.Milliseconds())/float64(len(list)), name+"-mean-ms")
				b.ReportMetric(float64(list[len(list)/2].Milliseconds()), name+"-median-ms")
				b.ReportMetric(float64(list[len(list)*99/100].Milliseconds()), name+"-p99-ms")
			}
		})
	}
}

// BenchmarkMix puts in batches of 60, 2, 3 and 2 tasks at once, in this order, for four workers. It
// reports the mean and the greatest sojourn time of the batches. The last one is what the gate costs in
// throughput, since the work is the same.
func BenchmarkMix(b *testing.B) {
	policies := []struct {
		name  string
		new   func() (sojourn.Policy, error)
		ahead int
	}{
		{"native", nil, 0},
		{"fifo", func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }, 0},
		{"fair", func() (sojourn.Policy, error) { return fair.New(fair.Options{}) }, 0},
		{"leastwork", func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }, 0},
		{"leastwork,ahead=4", func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }, 4},
	}
	for _, length := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond} {
		for _, p := range policies {
			b.Run(fmt.Sprintf("tasks=%v/%s", length, p.name), func(b *testing.B) {
				var mean, last time.Duration
				for range b.N {
					h := newHost(b, 1, redisOf(b))
					if p.new != nil {
						h.gate(policy(p.new()), gate.Options{Ahead: p.ahead})
					}
					h.start = time.Now()
					client := asynq.NewClient(h.opt)
					total := 0
					for i, n := range []int{60, 2, 3, 2} {
						total += n
						job := fmt.Sprint(i)
						if p.new != nil {
							h.enqueue(job, n, length)
							continue
						}
						for range n {
							text, err := json.Marshal(payload{job, length})
							if err != nil {
								b.Fatal(err)
							}
							if _, err := client.Enqueue(asynq.NewTask("task", text)); err != nil {
								b.Fatal(err)
							}
						}
					}
					h.wait(total)
					h.stop()
					for _, ends := range h.ends {
						mean += slices.Max(ends) / 4
						last = max(last, slices.Max(ends))
					}
					if err := client.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(mean.Milliseconds())/float64(b.N), "mean-ms")
				b.ReportMetric(float64(last.Milliseconds()), "last-ms")
			})
		}
	}
}
