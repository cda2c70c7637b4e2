package river_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournriver "github.com/sojourn-sched/sojourn/connect/gate/river"
)

// A queue that does not exist is empty, though another one has rows. Rows that are put into it are held like any others.
func TestUnknownQueue(t *testing.T) {
	h := newHost(t, 1, 0, nil)
	ctx := t.Context()
	queue, err := sojournriver.New(h.pool, sojournriver.Options{Queue: "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	h.insert("other", 1, 0)
	if tasks, err := queue.Tasks(ctx); err != nil || len(tasks) != 0 {
		t.Errorf("tasks %v, error %v, want none", tasks, err)
	}
	if state, err := queue.State(ctx, "1000000"); err != nil || state != gate.Gone {
		t.Errorf("state %v, error %v, want Gone", state, err)
	}
	if err := queue.Release(ctx, "1000000"); !errors.Is(err, gate.ErrGone) {
		t.Errorf("error %v, want ErrGone", err)
	}
	if _, err := queue.Insert(ctx, h.client, gate.Job{ID: "a"}, rows("a", 1, 0)...); err != nil {
		t.Fatal(err)
	}
	if tasks, err := queue.Tasks(ctx); err != nil || len(tasks) != 1 || tasks[0].State != gate.Held {
		t.Errorf("tasks %v, error %v, want a held one", tasks, err)
	}
}

// The clock of the database is wrong by years against that of the gate: the policy refuses none of the jobs, and the rows
// run, each once.
func TestWrongClocks(t *testing.T) {
	h := newHost(t, 1, 5*time.Millisecond, nil)
	for i, wrong := range []string{"-1000", "-1", "0", "1", "1000"} {
		job := fmt.Sprint(i)
		h.insert(job, 3, time.Millisecond)
		if _, err := h.pool.Exec(t.Context(), `UPDATE river_job SET created_at = now() + $1 * interval '1 year', scheduled_at = now() + $1 * interval '1 year'
			WHERE args->>'job' = $2`, wrong, job); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	stop := h.gate(newFair(), gate.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	h.wait(15)
	stop()
	h.ran(15, nil)
	if strings.Contains(log.String(), "refuses") {
		t.Errorf("the gate says %s", &log)
	}
}

// A worker does not answer and does not heed the end of its context. Its row counts as running, the others go on with the workers
// that are left, and its place is free when it answers.
func TestWorkerNeverAnswers(t *testing.T) {
	answer := make(chan struct{})
	h := newHost(t, 1, 5*time.Millisecond, func(_ context.Context, row *river.Job[Args]) error {
		if row.Args.Job == "stuck" {
			<-answer
		}
		return nil
	})
	h.gate(newFair(), gate.Options{Compare: 100 * time.Millisecond})
	h.insert("stuck", workers-1, 0)
	h.until("the rows that are stuck run", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.runs) == workers-1
	})
	h.insert("good", 12, time.Millisecond)
	h.wait(12)
	tasks, err := h.queue.Tasks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	running := 0
	for _, task := range tasks {
		if task.Job.ID == "stuck" && task.State == gate.Released {
			running++
		}
	}
	if running != workers-1 {
		t.Errorf("%d rows are running, want %d", running, workers-1)
	}
	close(answer)
	h.insert("after", 2*workers, time.Millisecond)
	h.wait(12 + 3*workers - 1)
	h.ran(12+3*workers-1, nil)
}
