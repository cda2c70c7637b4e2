package asynq_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournasynq "github.com/sojourn-sched/sojourn/connect/gate/asynq"
)

// A deaf client of Redis loses the first answer to a script after arm, and sends the script again as it does
// when a connection breaks.
type deaf struct {
	asynq.RedisClientOpt
	arm *atomic.Bool
}

func (d deaf) MakeRedisClient() any {
	client := d.RedisClientOpt.MakeRedisClient().(*redis.Client)
	client.AddHook(d)
	return client
}

func (d deaf) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d deaf) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d deaf) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil && strings.HasPrefix(cmd.Name(), "eval") && d.arm.CompareAndSwap(true, false) {
			cmd.SetErr(nil)
			return next(ctx, cmd)
		}
		return err
	}
}

// Redis takes a task and its answer is lost: the task is in the queue once, and those behind it are, too. If the caller gave it an ID, nobody
// knows who put it in.
func TestLostAnswer(t *testing.T) { eachRedis(t, testLostAnswer) }

func testLostAnswer(t *testing.T, opt asynq.RedisClientOpt) {
	var arm atomic.Bool
	queue, err := sojournasynq.New(deaf{opt, &arm}, "default")
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	for i, tc := range []struct {
		options []asynq.Option
		want    error
	}{
		{nil, nil},
		{[]asynq.Option{asynq.Unique(time.Hour)}, nil},
		{[]asynq.Option{asynq.TaskID("mine")}, asynq.ErrTaskIDConflict},
	} {
		task := func(text string) sojournasynq.Task {
			return sojournasynq.Task{Type: "task", Payload: []byte(text), Options: tc.options}
		}
		id := fmt.Sprint(i)
		warm := task("warm") // Redis has the script afterwards
		warm.Options = nil
		if err := queue.Enqueue(t.Context(), gate.Job{ID: id}, warm); err != nil {
			t.Fatal(err)
		}
		arm.Store(true)
		tasks := []sojournasynq.Task{task("a" + id)}
		if tc.want == nil {
			tasks = append(tasks, task("b"+id))
		}
		if err := queue.Enqueue(t.Context(), gate.Job{ID: id}, tasks...); !errors.Is(err, tc.want) {
			t.Errorf("%d: error %v, want %v", i, err, tc.want)
		}
		if arm.Load() {
			t.Errorf("%d: no answer was lost", i)
		}
		all, err := queue.Tasks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, x := range all {
			if x.Job.ID == id {
				n++
			}
		}
		if n != len(tasks)+1 {
			t.Errorf("%d: %d tasks are in the queue, want %d", i, n, len(tasks)+1)
		}
	}
	// A task of somebody else is still a duplicate.
	other := sojournasynq.Task{Type: "task", Payload: []byte("a1"), Options: []asynq.Option{asynq.Unique(time.Hour)}}
	if err := queue.Enqueue(t.Context(), gate.Job{ID: "x"}, other); !errors.Is(err, asynq.ErrDuplicateTask) {
		t.Errorf("error %v of a task that is there, want ErrDuplicateTask", err)
	}
}

// A queue that does not exist is empty. Its first task makes it.
func TestUnknownQueue(t *testing.T) { eachRedis(t, testUnknownQueue) }

func testUnknownQueue(t *testing.T, opt asynq.RedisClientOpt) {
	ctx := t.Context()
	queue, err := sojournasynq.New(opt, "nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	if tasks, err := queue.Tasks(ctx); err != nil || len(tasks) != 0 {
		t.Errorf("tasks %v, error %v, want none", tasks, err)
	}
	if state, err := queue.State(ctx, "x"); err != nil || state != gate.Gone {
		t.Errorf("state %v, error %v, want Gone", state, err)
	}
	if err := queue.Release(ctx, "x"); !errors.Is(err, gate.ErrGone) {
		t.Errorf("error %v, want ErrGone", err)
	}
	if err := queue.Enqueue(ctx, gate.Job{ID: "a"}, sojournasynq.Task{Type: "task"}); err != nil {
		t.Fatal(err)
	}
	if tasks, err := queue.Tasks(ctx); err != nil || len(tasks) != 1 || tasks[0].State != gate.Held {
		t.Errorf("tasks %v, error %v, want a held one", tasks, err)
	}
}

// A header that is no job makes no task of the gate: it runs, fails and is tried again as asynq's own tasks are.
func TestNoJob(t *testing.T) { eachRedis(t, testNoJob) }

func testNoJob(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 1, opt)
	h.queue.SetDelay(func(int, error, *asynq.Task) time.Duration { return 0 })
	h.handle = func(_ context.Context, id string) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.runs[id] == 1 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	h.gate(newFair(), gate.Options{})
	client := asynq.NewClient(opt)
	defer client.Close()
	for i, text := range []string{"", "{", `[]`, `{"ID": 7}`, `"a"`} {
		p, err := json.Marshal(payload{Job: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		task := asynq.NewTaskWithHeaders("task", p, map[string]string{"sojourn-job": text})
		if _, err := client.Enqueue(task, asynq.TaskID(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	h.wait(5)
	h.once(func(string) int { return 1 })
}

// The clocks of producers are wrong by years: the policy refuses none of their jobs, and the tasks run, each once.
func TestWrongClocks(t *testing.T) { eachRedis(t, testWrongClocks) }

func testWrongClocks(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 1, opt)
	client := asynq.NewClientFromRedisClient(h.redis)
	var log bytes.Buffer
	h.gate(newFair(), gate.Options{Compare: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil))})
	h.enqueue("first", 1, 0)
	h.wait(1) // from now on the gate knows of tasks by notes alone
	for i, wrong := range []int{-1000, -1, 0, 1, 1000} {
		id := fmt.Sprint(i)
		p, err := json.Marshal(payload{Job: id})
		if err != nil {
			t.Fatal(err)
		}
		task := asynq.NewTaskWithHeaders("task", p, map[string]string{"sojourn-job": fmt.Sprintf(`{"ID":%q}`, id)})
		if _, err := client.Enqueue(task, asynq.TaskID(id), asynq.ProcessIn(1e6*time.Hour)); err != nil {
			t.Fatal(err)
		}
		note, err := json.Marshal(map[string]any{"Kind": gate.Added, "Tasks": []gate.Task{
			{ID: id, Job: gate.Job{ID: id}, State: gate.Held, Since: time.Now().AddDate(wrong, 0, 0)}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.redis.RPush(t.Context(), "asynq:{default}:sojourn", note).Err(); err != nil {
			t.Fatal(err)
		}
	}
	h.wait(6)
	h.stop()
	h.once(none)
	if log.Len() > 0 {
		t.Errorf("the gate says %s", &log)
	}
}

// A handler does not answer and does not heed its context. Its place is taken until the timeout of its task. Then asynq holds
// the task for the gate, which lets it go again. The late answer of the first attempt does no harm.
func TestHandlerNeverAnswers(t *testing.T) { eachRedis(t, testHandlerNeverAnswers) }

func testHandlerNeverAnswers(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 1, opt)
	h.queue.SetDelay(func(int, error, *asynq.Task) time.Duration { return 0 })
	answer := make(chan struct{})
	h.handle = func(_ context.Context, id string) error {
		h.mu.Lock()
		stuck := id[0] == 's' && h.runs[id] == 1
		h.mu.Unlock()
		if stuck {
			<-answer
			return errors.New("late")
		}
		return nil
	}
	h.gate(newFair(), gate.Options{Compare: 200 * time.Millisecond})
	for i := range workers {
		h.enqueue("stuck", 1, time.Millisecond, asynq.TaskID(fmt.Sprint("s", i)), asynq.Timeout(time.Second))
	}
	h.enqueue("good", 8, time.Millisecond)
	h.wait(workers + 8)
	close(answer)
	h.enqueue("after", 2*workers, time.Millisecond)
	h.wait(3*workers + 8)
	h.once(func(id string) int {
		if len(id) == 2 {
			return 1
		}
		return 0
	})
}
