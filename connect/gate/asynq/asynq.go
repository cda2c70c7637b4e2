// Package asynq lets a policy decide in which order asynq runs tasks. Use it if large batches in a queue
// of asynq keep small ones waiting.
//
// Tier: kit.
//
// The producer puts tasks in as jobs, which may be in another process:
//
//	queue, err := sojournasynq.New(redis, "default")
//	err = queue.Enqueue(ctx, gate.Job{ID: "report-17", Pool: "tenant-a"}, tasks...)
//
// Each server tells when tasks end, and leaves failed tasks to the gate:
//
//	server := asynq.NewServer(redis, asynq.Config{Concurrency: 10, RetryDelayFunc: queue.RetryDelay})
//	mux := asynq.NewServeMux()
//	mux.Use(queue.Middleware)
//
// One process runs the gate. More of them may wait to take over:
//
//	g, err := gate.New(policy, queue, gate.Options{})
//	err = g.Run(ctx)
//
// Tasks that were put in by asynq's own client or scheduler run as always, and the gate does not know of them. It lets as many tasks go as
// there are workers all the same, so that some wait in asynq.
//
// # How it works
//
// A task is scheduled for a time that never comes, and carries its job in a header. The gate lets it go
// with [asynq.Inspector.RunTask]. The middleware pushes a note to a list in Redis when a task has
// ended. All that the gate needs to know is in Redis, so a gate that dies is followed by another one. The gate that decides has
// a key there that expires after 2.5 s, and only that gate takes notes.
//
// The gate reads what asynq's servers write with their heartbeats every 5 s. A server counts from its first heartbeat on, and does not
// when it has been silent for 7 s, or stops. A server with several queues counts in full for each of them.
//
// asynq tries a failed task again after its delay, but the gate says when within the order of the
// policy. A task that is archived or deleted is no task of the gate any more. If it is run again by
// hand, it runs outside the order, like all that is let go by hand.
//
// A task whose handler does not return holds its worker, and its place in the gate, until its timeout, which is asynq's:
// half an hour unless the options of the task say otherwise. asynq then gives the worker to another task though the handler goes on, and the
// gate finds the task held again at its second comparison.
//
// Clocks do not matter to the gate: it lets tasks go by ID, and measures durations. asynq's leases compare the clocks of servers, which must not
// differ by 30 s.
//
// asynq makes a queue with its first task, so a misspelled name is no error. Its tasks wait until a server works on a queue of that name.
//
// If Redis is gone when a task ends, the task goes on until Redis takes the note or the context of the task ends,
// which is when Redis was gone for longer than asynq's lease of 30 s. asynq may then run the task again, as it does
// without a gate whenever Redis is gone at the end of a task: asynq 0.26 tries only once to file an end.
package asynq

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

const (
	// header is the header of a task that names its job, as JSON.
	header = "sojourn-job"

	// notBefore is the header that says when a task may run at the earliest, as RFC 3339.
	notBefore = "sojourn-not-before"

	// never is how far away the time of a held task is.
	never = 100 * 365 * 24 * time.Hour

	// poll is how long Notes waits.
	poll = time.Second

	// settle is how long asynq takes at most to file a task that has failed. It does that after the
	// middleware has told of the failure.
	settle = 100 * time.Millisecond

	page  = 1000 // of tasks, in a listing
	batch = 1000 // of notes
)

// A Queue is a queue of asynq whose tasks a gate holds back. It is safe for concurrent use.
type Queue struct {
	name      string
	redis     redis.UniversalClient
	client    *asynq.Client
	inspector *asynq.Inspector
	delay     asynq.RetryDelayFunc
	ended     ended
	lock      lock
	servers   servers
	free      atomic.Int64 // workers here that wait for tasks
}

var _ interface {
	gate.Backend
	gate.Fleet
	gate.Locker
} = (*Queue)(nil)

// New returns a queue by its name in asynq.
func New(r asynq.RedisConnOpt, name string) (*Queue, error) {
	if name == "" {
		return nil, errors.New("connect/gate/asynq: the queue has no name")
	}
	client, ok := r.MakeRedisClient().(redis.UniversalClient)
	if !ok {
		return nil, fmt.Errorf("connect/gate/asynq: a %T makes no client of Redis", r)
	}
	client.AddHook(hook{client})
	return &Queue{name: name, redis: client, client: asynq.NewClientFromRedisClient(client), inspector: asynq.NewInspectorFromRedisClient(client),
		delay: asynq.DefaultRetryDelayFunc}, nil
}

// Close closes the connections to Redis.
func (q *Queue) Close() error { return q.redis.Close() }

func (q *Queue) key() string { return "asynq:{" + q.name + "}:sojourn" }

// A Task is a task for [Queue.Enqueue], as in asynq.NewTask. It does not run before the time of asynq.ProcessAt or
// ProcessIn (TestPoolsAndTimes). Another queue is refused, and so is a group, since asynq makes one task of it. The other
// options do what they do without a gate.
type Task struct {
	Type    string
	Payload []byte
	Headers map[string]string
	Options []asynq.Option
}

// Enqueue puts tasks of a job into the queue. They may be added to a job that has tasks. If some
// could not be put in, the error says how many were: they run, and those behind are not in the queue (TestManyTasks). An error that wraps
// asynq.ErrTaskIDConflict or ErrDuplicateTask is about the next one. If you give tasks IDs, ErrTaskIDConflict may
// also mean that the task was put in and the answer of Redis was lost.
func (q *Queue) Enqueue(ctx context.Context, job gate.Job, tasks ...Task) error {
	told, err := json.Marshal(job)
	if err != nil {
		return fmt.Errorf("connect/gate/asynq: job %q: %w", job.ID, err)
	}
	// asynq's client names a queue once, and Redis may have forgotten it since. The gate finds no task of a queue without a name.
	if err := q.redis.SAdd(ctx, "asynq:queues", q.name).Err(); err != nil {
		return fmt.Errorf("connect/gate/asynq: job %q: %w", job.ID, err)
	}
	n := note{Kind: gate.Added}
	var failed error
	for some := range slices.Chunk(tasks, chunk) {
		if failed = q.putAll(ctx, string(told), job, some, &n); failed != nil {
			failed = fmt.Errorf("connect/gate/asynq: job %q: task %d of %d, those before it are in the queue: %w", job.ID, len(n.Tasks)+1, len(tasks), failed)
			break
		}
	}
	if len(n.Tasks) == 0 {
		return failed
	}
	if err := q.tell(ctx, n); err != nil && failed == nil && ctx.Err() != nil {
		return err
	}
	return failed // the gate finds the tasks without the note, only later
}

// putAll puts tasks into the queue, up to the first one that fails, and adds them to a note. Tasks after it are
// removed, unless Redis is gone.
func (q *Queue) putAll(ctx context.Context, told string, job gate.Job, tasks []Task, n *note) error {
	ids, times, errs := make([]string, len(tasks)), make([]time.Time, len(tasks)), make([]error, len(tasks))
	together(ctx, len(tasks), func(ctx context.Context, i int) { ids[i], times[i], errs[i] = q.put(ctx, told, tasks[i]) })
	now := time.Now()
	var failed error
	for i := range tasks {
		switch {
		case failed != nil && errs[i] == nil:
			_ = q.inspector.DeleteTask(q.name, ids[i])
		case failed != nil:
		case errs[i] != nil:
			failed = errs[i]
		default:
			n.Tasks = append(n.Tasks, gate.Task{ID: ids[i], Job: job, State: gate.Held, Since: now, NotBefore: times[i]})
		}
	}
	return failed
}

// put puts a held task into the queue and returns its ID, and when it may run. The client of Redis sends a task again if the answer was lost. Redis
// then says that it has the task already, which is no error if nobody else can have put it in.
func (q *Queue) put(ctx context.Context, job string, t Task) (id string, at time.Time, err error) {
	headers := maps.Clone(t.Headers) // which a handler may have from its own task, with that one's job and time
	if headers == nil {
		headers = map[string]string{}
	}
	headers[header] = job
	delete(headers, notBefore)
	named, unique := false, time.Duration(0)
	for _, o := range t.Options { // the last one of a kind counts
		switch v := o.Value().(type) {
		case string:
			switch o.Type() {
			case asynq.GroupOpt:
				return "", at, errors.New("it has a group")
			case asynq.QueueOpt:
				if v != q.name {
					return "", at, fmt.Errorf("it is for queue %q: want %q", v, q.name)
				}
			case asynq.TaskIDOpt:
				named = true
			}
		case time.Time:
			if o.Type() == asynq.ProcessAtOpt {
				at = v
			}
		case time.Duration:
			switch o.Type() {
			case asynq.ProcessInOpt:
				at = time.Now().Add(v)
			case asynq.UniqueOpt:
				unique = v
			}
		}
	}
	if at = at.Round(0); at.After(time.Now()) {
		text, err := at.MarshalText()
		if err != nil {
			return "", at, fmt.Errorf("its time: %w", err)
		}
		headers[notBefore] = string(text)
	}
	id = rand.Text()
	all := append([]asynq.Option{asynq.TaskID(id)}, t.Options...)
	info, err := q.client.EnqueueContext(ctx, asynq.NewTaskWithHeaders(t.Type, t.Payload, headers), append(all, asynq.Queue(q.name), asynq.ProcessIn(never))...)
	switch {
	case err == nil:
		id = info.ID
	case named:
		return "", at, err
	case errors.Is(err, asynq.ErrTaskIDConflict):
	case errors.Is(err, asynq.ErrDuplicateTask):
		if _, lost := q.inspector.GetTaskInfo(q.name, id); lost != nil {
			return "", at, err
		}
	default:
		return "", at, err
	}
	if unique > 0 {
		// asynq counts from the time for which a task is scheduled. Without the script a task that is archived is
		// unique for ever; others are until they end.
		_ = expire.Run(ctx, q.redis, []string{"asynq:{" + q.name + "}:t:" + id}, id, max(unique, time.Until(at.Add(unique))).Milliseconds()).Err()
	}
	return id, at, nil
}

// expire says for how long a task is unique.
var expire = redis.NewScript(`
	local key = redis.call("HGET", KEYS[1], "unique_key")
	if key and key ~= "" and redis.call("GET", key) == ARGV[1] then redis.call("PEXPIRE", key, ARGV[2]) end
	return 0`)

// timeOf returns when a task may run. A time that is none is no time.
func timeOf(headers map[string]string) (at time.Time) {
	_ = at.UnmarshalText([]byte(headers[notBefore]))
	return at
}

// jobOf returns the job that the headers of a task name. It reports false for tasks that are no business of the gate.
func jobOf(headers map[string]string) (job gate.Job, ok bool) {
	err := json.Unmarshal([]byte(headers[header]), &job)
	return job, err == nil
}

// A note is a gate.Note as it is in Redis.
type note struct {
	Kind    gate.NoteKind
	Task    string        `json:",omitempty"`
	Tasks   []gate.Task   `json:",omitempty"`
	Service time.Duration `json:",omitempty"`
	Cost    uint64        `json:",omitempty"`
	After   time.Duration `json:",omitempty"`
}

func (q *Queue) tell(ctx context.Context, n note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return q.redis.RPush(ctx, q.key(), text).Err()
}

// insist tells the gate of an end. While Redis does not take the note the task goes on, since asynq would
// try only once to file its end, and run the task again after its lease. Without the note the gate finds the end by
// comparing.
func (q *Queue) insist(ctx context.Context, n note) {
	for q.tell(context.WithoutCancel(ctx), n) != nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
	}
}

// await waits a moment until there are tasks for the workers here that have become free: asynq looks for one as soon as a task has
// returned, and if it finds none it sleeps for TaskCheckInterval.
func (q *Queue) await(ctx context.Context) {
	free := q.free.Add(1)
	defer q.free.Add(-1)
	for pause := 250 * time.Microsecond; pause < 4*time.Millisecond && ctx.Err() == nil; pause *= 2 {
		if n, err := q.redis.LLen(ctx, "asynq:{"+q.name+"}:pending").Result(); err != nil || n >= free {
			return
		}
		time.Sleep(pause)
	}
}

// Middleware tells the gate of the ends of tasks. Tasks without a job pass it untouched.
func (q *Queue) Middleware(next asynq.Handler) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) (err error) {
		if _, ok := jobOf(t.Headers()); !ok {
			return next.ProcessTask(ctx, t)
		}
		start := time.Now()
		err = errors.New("the handler panicked")
		defer func() {
			id, _ := asynq.GetTaskID(ctx)
			retried, _ := asynq.GetRetryCount(ctx)
			most, _ := asynq.GetMaxRetry(ctx)
			n := note{Task: id, Service: time.Since(start)}
			switch {
			case err == nil:
				n.Kind = gate.Finished
			case retried >= most, errors.Is(err, asynq.SkipRetry), errors.Is(err, asynq.RevokeTask):
				n.Kind = gate.Dropped
			default:
				n.Kind, n.After = gate.Failed, max(settle, q.delay(retried, err, t))
			}
			q.insist(ctx, n)
			q.await(ctx)
		}()
		err = next.ProcessTask(ctx, t)
		return err
	})
}

// SetDelay sets how long a failed task waits before it may be tried again. By default it is
// asynq.DefaultRetryDelayFunc. Call it before servers start.
func (q *Queue) SetDelay(f asynq.RetryDelayFunc) { q.delay = f }

// RetryDelay is the RetryDelayFunc for the servers of the queue. It holds failed tasks of jobs back
// for the gate, which waits for the delay of [Queue.SetDelay]. Other tasks get that delay from asynq.
func (q *Queue) RetryDelay(n int, err error, t *asynq.Task) time.Duration {
	if _, ok := jobOf(t.Headers()); ok {
		return never
	}
	return q.delay(n, err, t)
}

// Notes implements [gate.Backend].
func (q *Queue) Notes(ctx context.Context) ([]gate.Note, error) {
	if some, err := q.wait(ctx); err != nil || !some {
		return nil, err
	}
	texts, err := q.take(ctx)
	if err != nil {
		return nil, err
	}
	notes := make([]gate.Note, 0, len(texts))
	for _, text := range texts {
		var n note
		if json.Unmarshal([]byte(text), &n) == nil { // what is no note was not put there by this package
			if n.Kind == gate.Finished {
				q.ended.add(n.Task)
			}
			notes = append(notes, gate.Note(n))
		}
	}
	return notes, nil
}

// Tasks implements [gate.Backend]. Lists are read in the order in which a task goes through them, so
// that one that is let go meanwhile is not missed.
func (q *Queue) Tasks(ctx context.Context) ([]gate.Task, error) {
	q.ended.next()
	var tasks []gate.Task
	index := map[string]int{}
	for _, list := range []struct {
		of    func(string, ...asynq.ListOption) ([]*asynq.TaskInfo, error)
		state gate.State
	}{
		{q.inspector.ListScheduledTasks, gate.Held},
		{q.inspector.ListRetryTasks, gate.Held},
		{q.inspector.ListPendingTasks, gate.Released},
		{q.inspector.ListActiveTasks, gate.Released},
	} {
		for number := 1; ; number++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			infos, err := list.of(q.name, asynq.PageSize(page), asynq.Page(number))
			if errors.Is(err, asynq.ErrQueueNotFound) {
				return nil, nil // it comes into being with its first task
			}
			if err != nil {
				return nil, err
			}
			for _, info := range infos {
				job, ok := jobOf(info.Headers)
				if !ok || q.over(info) {
					continue
				}
				t := gate.Task{ID: info.ID, Job: job, State: list.state, NotBefore: timeOf(info.Headers)}
				if i, ok := index[t.ID]; ok {
					tasks[i] = t
					continue
				}
				index[t.ID] = len(tasks)
				tasks = append(tasks, t)
			}
			if len(infos) < page {
				break
			}
		}
	}
	q.ended.forget()
	return tasks, nil
}

// over reports whether a task has ended well and asynq could not file that: it is active until its lease ends, and would
// then be tried again. Such a task is deleted.
func (q *Queue) over(info *asynq.TaskInfo) bool {
	stray := info.State == asynq.TaskStateRetry && info.LastErr == asynq.ErrLeaseExpired.Error()
	if !stray && info.State != asynq.TaskStateActive || !q.ended.has(info.ID) {
		return false
	}
	if stray {
		_ = q.inspector.DeleteTask(q.name, info.ID) // else the next time
	}
	return true
}

// State implements [gate.Backend].
func (q *Queue) State(_ context.Context, id string) (gate.State, error) {
	info, err := q.inspector.GetTaskInfo(q.name, id)
	if errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return gate.Gone, nil
	}
	if err != nil {
		return gate.Gone, err
	}
	if q.over(info) {
		return gate.Gone, nil
	}
	switch info.State {
	case asynq.TaskStateScheduled, asynq.TaskStateRetry:
		return gate.Held, nil
	case asynq.TaskStatePending, asynq.TaskStateActive, asynq.TaskStateAggregating:
		return gate.Released, nil
	default:
		return gate.Gone, nil // archived or completed
	}
}

// Release implements [gate.Backend].
func (q *Queue) Release(ctx context.Context, id string) error {
	err := q.inspector.RunTask(q.name, id)
	if err == nil {
		q.ended.remove(id)
		return nil
	}
	if errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return fmt.Errorf("%w: %w", gate.ErrGone, err)
	}
	state, stateErr := q.State(ctx, id)
	switch {
	case stateErr != nil:
		return err
	case state == gate.Released:
		return nil // by an earlier call, whose answer was lost
	case state == gate.Gone:
		return fmt.Errorf("%w: %w", gate.ErrGone, err)
	}
	return err
}
