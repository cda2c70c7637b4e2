package asynq_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hibiken/asynq"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournasynq "github.com/sojourn-sched/sojourn/connect/gate/asynq"
)

// Many tasks go to Redis together, and each is in the queue once, in whichever number. If one of them cannot be put in, those before it
// are in the queue and those after it are not.
func TestManyTasks(t *testing.T) { eachRedis(t, testManyTasks) }

func testManyTasks(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 0, opt)
	ctx := t.Context()
	want := 0
	for _, n := range []int{1, 2, 513} {
		for _, bad := range []int{-1, 0, n / 2, n - 1} {
			var tasks []sojournasynq.Task
			for i := range n {
				task := sojournasynq.Task{Type: "task", Payload: fmt.Append(nil, n, bad, i)}
				if i == bad {
					task.Type = " "
				}
				tasks = append(tasks, task)
			}
			err := h.queue.Enqueue(ctx, gate.Job{ID: "a"}, tasks...)
			if bad < 0 {
				want += n
				if err != nil {
					t.Fatal(err)
				}
				continue
			}
			want += bad
			if place := fmt.Sprintf("task %d of %d", bad+1, n); err == nil || !strings.Contains(err.Error(), place) {
				t.Errorf("error %v, want one about %s", err, place)
			}
		}
	}
	same := sojournasynq.Task{Type: "task", Options: []asynq.Option{asynq.TaskID("same")}}
	if err := h.queue.Enqueue(ctx, gate.Job{ID: "a"}, same, same, same); !errors.Is(err, asynq.ErrTaskIDConflict) || !strings.Contains(err.Error(), "task 2 of 3") {
		t.Errorf("error %v, want one about task 2 of 3", err)
	}
	tasks, err := h.queue.Tasks(ctx)
	if err != nil || len(tasks) != want+1 {
		t.Errorf("%d tasks are in the queue, error %v, want %d", len(tasks), err, want+1)
	}
}

// A gate that has lost its lease in the middle of a take takes no notes, and finds that the term has changed when it has the lock again.
func TestLostLease(t *testing.T) { eachRedis(t, testLostLease) }

func testLostLease(t *testing.T, opt asynq.RedisClientOpt) {
	h := newHost(t, 0, opt)
	ctx := t.Context()
	term, lease, err := h.queue.Lock(ctx, "first")
	if err != nil || lease <= 0 {
		t.Fatalf("lease %v, error %v", lease, err)
	}
	if again, _, err := h.queue.Lock(ctx, "first"); err != nil || again != term {
		t.Errorf("term %d, error %v, want %d", again, err, term)
	}
	h.enqueue("a", 3, 0)
	other, err := sojournasynq.New(opt, "default")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, _, err := other.Lock(ctx, "second"); !errors.Is(err, gate.ErrLocked) {
		t.Errorf("error %v, want ErrLocked", err)
	}
	if err := other.Unlock(ctx, "second"); err != nil {
		t.Error(err)
	}
	if _, _, err := h.queue.Lock(ctx, "beside"); !errors.Is(err, gate.ErrLocked) {
		t.Errorf("error %v of another gate on the same queue, want ErrLocked", err)
	}
	const key = "asynq:{default}:sojourn:gate"
	if err := h.redis.Del(ctx, key).Err(); err != nil { // the lease has run out
		t.Fatal(err)
	}
	if _, _, err := other.Lock(ctx, "second"); err != nil {
		t.Fatal(err)
	}
	if notes, err := h.queue.Notes(ctx); !errors.Is(err, gate.ErrLocked) {
		t.Errorf("notes %v, error %v, want ErrLocked", notes, err)
	}
	if err := h.queue.Unlock(ctx, "first"); err != nil {
		t.Error(err)
	}
	if notes, err := other.Notes(ctx); err != nil || len(notes) != 1 || len(notes[0].Tasks) != 3 {
		t.Errorf("notes %v, error %v, want one of three tasks", notes, err)
	}
	if err := other.Unlock(ctx, "second"); err != nil {
		t.Error(err)
	}
	if again, _, err := h.queue.Lock(ctx, "first"); err != nil || again == term {
		t.Errorf("term %d, error %v, want another one than %d", again, err, term)
	}
}
