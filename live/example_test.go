package live_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// open opens the jobs of a folder.
func open(dir string) (*live.Pool, *journal.Journal, error) {
	policy, err := fifo.New(fifo.Options{})
	if err != nil {
		return nil, nil, err
	}
	store, err := journal.OpenFiles(dir)
	if err != nil {
		return nil, nil, err
	}
	j, err := journal.Open(store, policy, journal.Options{})
	if err != nil {
		return nil, nil, err
	}
	greet := func(_ context.Context, t live.Task, payload []byte) error {
		fmt.Printf("task %d, attempt %d: %s\n", t.Index, t.Attempt, payload)
		return nil
	}
	pool, err := live.New(j, live.Options{Slots: 1, Handlers: map[string]live.Handler{"greet": greet}})
	return pool, j, err
}

// A job outlives its pool: the next one goes on with it.
func ExamplePool_Suspend() {
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	pool, j, err := open(dir)
	if err != nil {
		log.Fatal(err)
	}
	if err := pool.Drain(0); err != nil { // so that nothing runs yet
		log.Fatal(err)
	}
	if _, err := pool.Submit(ctx, live.Job{Handler: "greet", Payload: []byte("hello"), Phases: []live.Phase{{Tasks: 2}}}); err != nil {
		log.Fatal(err)
	}
	if err := pool.Suspend(ctx); err != nil {
		log.Fatal(err)
	}
	if err := j.Close(); err != nil {
		log.Fatal(err)
	}

	// Another process.
	pool, j, err = open(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range pool.Handles() {
		fmt.Println("job", h.ID(), "ended with", h.Wait(ctx))
	}
	if err := pool.Close(ctx); err != nil {
		log.Fatal(err)
	}
	if err := j.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// task 0, attempt 1: hello
	// task 1, attempt 1: hello
	// job 1 ended with <nil>
}
