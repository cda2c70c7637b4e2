package river_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournriver "github.com/sojourn-sched/sojourn/connect/gate/river"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/leastwork"
)

const workers = 4

// Args are the arguments of a row.
type Args struct {
	Job    string        `json:"job"`
	Name   string        `json:"name"`
	Length time.Duration `json:"length"`
}

func (Args) Kind() string { return "task" }

// A host is a database with clients of River and, unless the order is River's own, a gate.
type host struct {
	t      testing.TB
	dsn    string
	pool   *pgxpool.Pool
	queue  *sojournriver.Queue
	client *river.Client[pgx.Tx] // the first one
	start  time.Time
	handle func(ctx context.Context, row *river.Job[Args]) error

	mu   sync.Mutex
	ends map[string][]time.Duration // of each job's rows that have ended well
	runs map[string]int             // of each row, by name
}

type worker struct {
	river.WorkerDefaults[Args]
	h *host
}

func (w *worker) Work(ctx context.Context, row *river.Job[Args]) error {
	w.h.mu.Lock()
	w.h.runs[row.Args.Name]++
	w.h.mu.Unlock()
	time.Sleep(row.Args.Length)
	if w.h.handle != nil {
		if err := w.h.handle(ctx, row); err != nil {
			return err
		}
	}
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	w.h.ends[row.Args.Job] = append(w.h.ends[row.Args.Job], time.Since(w.h.start))
	return nil
}

var databases atomic.Int32

// newHost starts clients that share the workers. With no cooldown, River's default holds.
func newHost(t testing.TB, clients int, cooldown time.Duration, handle func(ctx context.Context, row *river.Job[Args]) error) *host {
	name := fmt.Sprint("test", databases.Add(1))
	if err := shared.exec("CREATE DATABASE " + name + " TEMPLATE river"); err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, dsn: shared.dsn(name), handle: handle, ends: map[string][]time.Duration{}, runs: map[string]int{}}
	h.pool, h.queue = h.connect()
	for range clients {
		h.client = h.serve(workers/clients, cooldown)
	}
	h.start = time.Now()
	return h
}

// serve starts a client.
func (h *host) serve(concurrency int, cooldown time.Duration) *river.Client[pgx.Tx] {
	set := river.NewWorkers()
	river.AddWorker(set, &worker{h: h})
	config := &river.Config{Queues: map[string]river.QueueConfig{"default": {MaxWorkers: concurrency}}, Workers: set,
		FetchCooldown: cooldown, Logger: silent, RetryPolicy: soon{}}
	h.queue.Configure(config)
	client, err := river.NewClient(riverpgxv5.New(h.pool), config)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := client.Start(context.Background()); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := client.Stop(context.Background()); err != nil {
			h.t.Error(err)
		}
	})
	return client
}

// soon tries again after a short time.
type soon struct{}

func (soon) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(10 * time.Millisecond) }

// connect returns connections as another process would have.
func (h *host) connect() (*pgxpool.Pool, *sojournriver.Queue) {
	pool, err := pgxpool.New(context.Background(), h.dsn)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(pool.Close)
	queue, err := sojournriver.New(pool, sojournriver.Options{Queue: "default"})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = queue.Close() })
	return pool, queue
}

// gate starts a gate and returns what stops it.
func (h *host) gate(p sojourn.Policy, o gate.Options) (stop func()) {
	o.Workers = workers
	if o.Log == nil {
		o.Log = silent
	}
	g, err := gate.New(p, h.queue, o)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = g.Run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		_ = h.queue.Close()
	})
	h.t.Cleanup(stop)
	return stop
}

// rows are so many rows of a job.
func rows(job string, n int, length time.Duration) (all []river.InsertManyParams) {
	for i := range n {
		all = append(all, river.InsertManyParams{Args: Args{job, fmt.Sprintf("%s/%d", job, i), length}})
	}
	return all
}

func (h *host) insert(job string, n int, length time.Duration) {
	h.t.Helper()
	if _, err := h.queue.Insert(h.t.Context(), h.client, gate.Job{ID: job}, rows(job, n, length)...); err != nil {
		h.t.Fatal(err)
	}
}

// wait waits until so many rows have ended well.
func (h *host) wait(n int) {
	h.t.Helper()
	h.until(fmt.Sprint(n, " rows have ended"), func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		ended := 0
		for _, ends := range h.ends {
			ended += len(ends)
		}
		return ended >= n
	})
}

func (h *host) until(what string, done func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.mu.Lock()
			defer h.mu.Unlock()
			rows, _ := h.pool.Query(context.Background(), `SELECT format('%s %s %s %s', state, args, attempted_at, scheduled_at) FROM river_job WHERE state <> 'completed'`)
			left, err := pgx.CollectRows(rows, pgx.RowTo[string])
			h.t.Fatalf("after a minute it is not so that %s; runs %v; rows %q, error %v", what, h.runs, left, err)
		}
	}
}

// ran compares how often rows ran with what is wanted, once unless stated otherwise.
func (h *host) ran(rows int, want map[string]int) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.runs) != rows {
		h.t.Errorf("%d rows ran, want %d", len(h.runs), rows)
	}
	for name, n := range h.runs {
		if w := max(want[name], 1); n != w {
			h.t.Errorf("row %s ran %d times, want %d", name, n, w)
		}
	}
}

func policy[P sojourn.Policy](p P, err error) sojourn.Policy {
	if err != nil {
		panic(err)
	}
	return p
}

func newFair() sojourn.Policy { return policy(fair.New(fair.Options{})) }

// Small batches end before the large one that came first, with workers in two clients.
func TestOrder(t *testing.T) {
	h := newHost(t, 2, 5*time.Millisecond, nil)
	h.insert("large", 40, 20*time.Millisecond)
	for i := range 3 {
		h.insert(fmt.Sprint("small", i), 2, 20*time.Millisecond)
	}
	h.gate(policy(leastwork.New(leastwork.Options{})), gate.Options{}) // after the inserts, however long they take
	h.wait(46)
	h.ran(46, nil)
	late := 0
	for job, ends := range h.ends {
		if job != "large" {
			late = max(late, len(slices.DeleteFunc(slices.Clone(h.ends["large"]), func(at time.Duration) bool { return at > slices.Max(ends) })))
		}
	}
	if late > 20 {
		t.Errorf("%d of 40 rows of the large batch ended before the last small one", late)
	}
}

// What fails, panics or is snoozed is held again and tried again; what is cancelled or has no attempts left is
// not. A row of which there is one already is not inserted, and River's own rows run beside.
func TestFailures(t *testing.T) {
	t.Parallel()
	var h *host
	running := make(chan int64, 1)
	h = newHost(t, 1, 5*time.Millisecond, func(ctx context.Context, row *river.Job[Args]) error {
		h.mu.Lock()
		first := h.runs[row.Args.Name] == 1
		h.mu.Unlock()
		switch {
		case row.Args.Job == "cancel":
			return river.JobCancel(errors.New("no"))
		case row.Args.Job == "remote":
			running <- row.ID
			<-ctx.Done()
			return ctx.Err()
		case row.Args.Job == "discard":
			return errors.New("always")
		case row.Args.Job == "fail" && first:
			return errors.New("once")
		case row.Args.Job == "panic" && first:
			panic("once")
		case row.Args.Job == "snooze" && first:
			return fmt.Errorf("later: %w", river.JobSnooze(20*time.Millisecond))
		}
		return nil
	})
	ctx := t.Context()
	var all []*rivertype.JobInsertResult
	for _, job := range []string{"cancel", "remote", "discard", "fail", "panic", "snooze", "good", "good"} {
		row := rows(job, 1, time.Millisecond)
		row[0].InsertOpts = &river.InsertOpts{MaxAttempts: 3, Metadata: []byte(`{"mine": 1}`), Tags: []string{"mine"}, Priority: 3, UniqueOpts: river.UniqueOpts{ByArgs: true}}
		result, err := h.queue.Insert(ctx, h.client, gate.Job{ID: "job"}, row...)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, result...)
	}
	if !all[7].UniqueSkippedAsDuplicate || all[7].Job.ID != all[6].Job.ID {
		t.Errorf("the second row of a kind has ID %d, want that of the first, %d", all[7].Job.ID, all[6].Job.ID)
	}
	if _, err := h.client.Insert(ctx, Args{Job: "native", Name: "native/0"}, nil); err != nil {
		t.Fatal(err)
	}
	stopped, err := h.queue.Insert(ctx, h.client, gate.Job{ID: "job"}, rows("stopped", 1, 0)...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.client.JobCancel(ctx, stopped[0].Job.ID); err != nil {
		t.Fatal(err)
	}
	h.gate(newFair(), gate.Options{Compare: 300 * time.Millisecond})
	if _, err := h.client.JobCancel(ctx, <-running); err != nil {
		t.Fatal(err)
	}
	h.wait(5)
	h.until("all rows are filed", func() bool {
		var n int
		err := h.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'cancelled', 'discarded')`).Scan(&n)
		return err == nil && n == 0
	})
	h.ran(8, map[string]int{"fail/0": 2, "panic/0": 2, "snooze/0": 2, "discard/0": 3})
	for i, want := range []rivertype.JobState{"cancelled", "cancelled", "discarded", "completed", "completed", "completed", "completed"} {
		row, err := h.client.JobGet(ctx, all[i].Job.ID)
		if err != nil {
			t.Fatal(err)
		}
		if row.State != want || !strings.Contains(string(row.Metadata), `"mine": 1`) || len(row.Tags) != 1 || row.Tags[0] != "mine" || row.Priority != 3 {
			t.Errorf("row %d is %s with metadata %s, tags %v, priority %d, want %s and the caller's", i, row.State, row.Metadata, row.Tags, row.Priority, want)
		}
	}
}

// Gates in processes of their own are killed while rows run, and others wait to take over: no row is
// lost, and none runs twice.
func TestKilledGates(t *testing.T) {
	t.Parallel()
	h := newHost(t, 1, 5*time.Millisecond, nil)
	gates := map[string]*exec.Cmd{}
	for _, name := range []string{"gate1", "gate2", "gate3"} {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "SOJOURN_GATE="+h.dsn+" application_name="+name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		gates[name] = cmd
	}
	h.insert("a", 24, 20*time.Millisecond)
	for i := range 2 {
		h.wait(6 * (i + 1))
		var holder string // after a kill, the next gate takes a moment
		h.until("a gate holds the queue", func() bool {
			return h.pool.QueryRow(t.Context(), `SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
				WHERE locktype = 'advisory' AND granted AND datname = current_database() AND application_name LIKE 'gate%'`).Scan(&holder) == nil
		})
		if err := gates[holder].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		h.insert(fmt.Sprint("b", i), 3, 20*time.Millisecond)
	}
	h.wait(30)
	h.ran(30, nil)
}

// The database crashes and is gone for a while. If it takes a fetch along whose answer River has not got, the row
// is running though no worker has it. River itself rescues such rows, an hour later by default; the test does it in River's stead.
func TestDatabaseGone(t *testing.T) {
	h := newHost(t, 1, 5*time.Millisecond, nil)
	h.gate(newFair(), gate.Options{Compare: 300 * time.Millisecond})
	h.insert("a", 40, 20*time.Millisecond)
	h.wait(8)
	h.outage(time.Second)
	h.wait(40)
	h.ran(40, nil)
}

// outage stops the database for a while, and rescues the rows that it took along.
func (h *host) outage(d time.Duration) {
	h.t.Helper()
	shared.stop()
	time.Sleep(d)
	h.mu.Lock()
	begun := slices.Collect(maps.Keys(h.runs))
	h.mu.Unlock()
	if err := shared.start(); err != nil {
		h.t.Fatal(err)
	}
	h.until("the database answers", func() bool {
		_, err := h.pool.Exec(h.t.Context(), `UPDATE river_job SET state = 'retryable', scheduled_at = now() + interval '100 years'
			WHERE state = 'running' AND attempted_at < pg_postmaster_start_time() AND NOT args->>'name' = ANY($1)`, begun)
		return err == nil
	})
}

func TestBadInput(t *testing.T) {
	h := newHost(t, 1, 0, nil)
	ctx := t.Context()
	if _, err := sojournriver.New(nil, sojournriver.Options{Queue: "default"}); err == nil {
		t.Error("a queue without a pool")
	}
	if _, err := sojournriver.New(h.pool, sojournriver.Options{}); err == nil {
		t.Error("a queue without a name")
	}
	for name, o := range map[string]river.InsertOpts{
		"queue":    {Queue: "other"},
		"metadata": {Metadata: []byte("[")},
	} {
		row := rows("x", 2, 0)
		row[1].InsertOpts = &o
		if _, err := h.queue.Insert(ctx, h.client, gate.Job{ID: "x"}, row...); err == nil || !strings.Contains(err.Error(), "row 2 of 2") {
			t.Errorf("%s: error %v, want one about row 2 of 2", name, err)
		}
	}
	if tasks, err := h.queue.Tasks(ctx); err != nil || len(tasks) != 0 {
		t.Errorf("tasks %v, error %v, want none: what was refused left something behind", tasks, err)
	}
	for _, id := range []string{"unknown", "1000000", "99999999999999999999"} {
		if err := h.queue.Release(ctx, id); !errors.Is(err, gate.ErrGone) {
			t.Errorf("error %v of row %s, want ErrGone", err, id)
		}
		if state, err := h.queue.State(ctx, id); err != nil || state != gate.Gone {
			t.Errorf("row %s is %v, error %v, want Gone", id, state, err)
		}
	}
	if got, err := h.queue.Insert(ctx, h.client, gate.Job{ID: "x"}); err != nil || len(got) != 0 {
		t.Errorf("no rows: %v, error %v", got, err)
	}
	// A row of River's own, and one whose metadata name no job, are left alone.
	if _, err := h.client.Insert(ctx, Args{Job: "y", Name: "y"}, &river.InsertOpts{Pending: true, Metadata: []byte(`{"sojourn": 7}`)}); err != nil {
		t.Fatal(err)
	}
	if tasks, err := h.queue.Tasks(ctx); err != nil || len(tasks) != 0 {
		t.Errorf("tasks %v, error %v, want none", tasks, err)
	}
}

// A second gate waits. Notes that are none, and batches longer than a note, do no harm.
func TestNotes(t *testing.T) {
	h := newHost(t, 1, 0, nil)
	ctx := t.Context()
	if _, err := h.queue.Tasks(ctx); err != nil {
		t.Fatal(err)
	}
	_, other := h.connect()
	if _, err := other.Tasks(ctx); err == nil {
		t.Error("two gates hold the queue")
	}
	var channel string
	if err := h.pool.QueryRow(ctx, `SELECT 'sojourn_' || to_hex(classid::bigint << 32 | objid::bigint) FROM pg_locks WHERE locktype = 'advisory' AND classid <> 0`).Scan(&channel); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{}", `{"r":"x"}`, `[`} {
		if _, err := h.pool.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, text); err != nil {
			t.Fatal(err)
		}
		if notes, err := h.queue.Notes(ctx); err != nil || len(notes) != 0 {
			t.Errorf("notes %v, error %v of %q", notes, err, text)
		}
	}
	h.insert("long", 1000, 0)
	told := 0
	for told < 1000 {
		notes, err := h.queue.Notes(ctx)
		if err != nil || len(notes) > 0 && notes[0].Kind != gate.Added {
			t.Fatalf("notes %v, error %v, want some rows", notes, err)
		}
		for _, n := range notes { // none with a note of the client
			told += len(n.Tasks)
		}
	}
	if err := h.queue.Close(); err != nil {
		t.Error(err)
	}
	h.until("the other gate holds the queue", func() bool { _, err := other.Tasks(ctx); return err == nil })
}

// An order is one that benchmarks compare.
type order struct {
	name     string
	new      func() sojourn.Policy // nil: River's own order
	ahead    int
	cooldown time.Duration // zero: River's default of 100 ms
}

var orders = []order{
	{"native,cooldown=100ms", nil, 0, 0},
	{"native", nil, 0, 5 * time.Millisecond},
	{"fifo", func() sojourn.Policy { return policy(fifo.New(fifo.Options{})) }, 0, 5 * time.Millisecond},
	{"leastwork", func() sojourn.Policy { return policy(leastwork.New(leastwork.Options{})) }, 0, 5 * time.Millisecond},
	{"leastwork,ahead=4", func() sojourn.Policy { return policy(leastwork.New(leastwork.Options{})) }, 4, 5 * time.Millisecond},
}

var lengths = []time.Duration{time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, time.Second}

// open starts a host that waits for work.
func (o *order) open(b *testing.B) (h *host, stop func()) {
	h, stop = newHost(b, 1, o.cooldown, nil), func() {}
	if o.new != nil {
		stop = h.gate(o.new(), gate.Options{Ahead: o.ahead})
	}
	time.Sleep(300 * time.Millisecond)
	h.start = time.Now()
	return h, stop
}

// put inserts a batch, held or not.
func (h *host) put(held bool, job string, n int, length time.Duration) {
	if held {
		h.insert(job, n, length)
		return
	}
	if _, err := h.client.InsertMany(context.Background(), rows(job, n, length)); err != nil {
		h.t.Fatal(err)
	}
}

// BenchmarkMix puts in batches of 60, 2, 3 and 2 rows at once, in this order, for four workers. It
// reports the mean and the greatest sojourn time of the batches. The last one is what the gate costs in
// throughput, since the work is the same.
func BenchmarkMix(b *testing.B) {
	for _, length := range lengths {
		for _, o := range orders {
			b.Run(fmt.Sprintf("tasks=%v/%s", length, o.name), func(b *testing.B) {
				var mean, last time.Duration
				for range b.N {
					h, stop := o.open(b)
					for i, n := range []int{60, 2, 3, 2} {
						h.put(o.new != nil, fmt.Sprint(i), n, length)
					}
					h.wait(67)
					stop()
					for _, ends := range h.ends {
						mean += slices.Max(ends) / 4
						last = max(last, slices.Max(ends))
					}
				}
				b.ReportMetric(float64(mean.Microseconds())/float64(b.N)/1000, "mean-ms")
				b.ReportMetric(float64(last.Microseconds())/1000, "last-ms")
			})
		}
	}
}

// BenchmarkThroughput puts in one batch of equal rows for four workers, in each order in turn. It reports how many end a second in
// River's own order with a cooldown of 5 ms, and what part of that in the others.
func BenchmarkThroughput(b *testing.B) {
	const own = 1 // of orders
	for i, n := range []int{400, 400, 80, 16} {
		length := []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second}[i]
		b.Run(fmt.Sprintf("tasks=%v", length), func(b *testing.B) {
			took := make([]time.Duration, len(orders))
			for range b.N {
				for i := range orders {
					h, stop := orders[i].open(b)
					h.put(orders[i].new != nil, "one", n, length)
					h.wait(n)
					took[i] += time.Since(h.start)
					stop()
				}
			}
			b.ReportMetric(float64(n*b.N)/took[own].Seconds(), orders[own].name+"-rows/s")
			for i := range orders {
				if i != own {
					b.ReportMetric(took[own].Seconds()/took[i].Seconds(), orders[i].name)
				}
			}
		})
	}
}

// BenchmarkSizes puts in 60 batches over time, most of them small, for four workers at a load of 0.7. It reports the
// sojourn times of the batches of up to 3 rows, and of the others.
func BenchmarkSizes(b *testing.B) {
	const length = 50 * time.Millisecond
	for _, o := range orders {
		b.Run(o.name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 1))
			var small, large []time.Duration
			for range b.N {
				h, stop := o.open(b)
				sizes, starts, total := map[string]int{}, map[string]time.Duration{}, 0
				for i := range 60 {
					job, n := fmt.Sprint(i), 1+random.IntN(3)
					if i%10 == 0 {
						n = 30 + random.IntN(20)
					}
					sizes[job], starts[job], total = n, time.Since(h.start), total+n
					h.put(o.new != nil, job, n, length)
					time.Sleep(time.Duration(random.ExpFloat64() * 5.8 / workers / 0.7 * float64(length)))
				}
				h.wait(total)
				stop()
				for job, ends := range h.ends {
					if took := slices.Max(ends) - starts[job]; sizes[job] <= 3 {
						small = append(small, took)
					} else {
						large = append(large, took)
					}
				}
			}
			for name, times := range map[string][]time.Duration{"small": small, "large": large, "all": slices.Concat(small, large)} {
				slices.Sort(times)
				var sum time.Duration
				for _, t := range times {
					sum += t
				}
				b.ReportMetric(float64(sum.Milliseconds())/float64(len(times)), name+"-mean-ms")
				b.ReportMetric(float64(times[len(times)/2].Milliseconds()), name+"-median-ms")
				b.ReportMetric(float64(times[len(times)*99/100].Milliseconds()), name+"-p99-ms")
			}
		})
	}
}
