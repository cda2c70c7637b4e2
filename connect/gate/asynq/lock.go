package asynq

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// lease is how long a gate that is silent keeps the queue.
const lease = 2500 * time.Millisecond

// A lock is what a queue knows of the lock of its gate.
type lock struct {
	mu    sync.Mutex
	gate  string    // that had it the last time
	until time.Time // it had it at least until then
	term  uint64
}

var (
	// takeLock takes or keeps the lock. It returns 0 if another gate has it, 1 if nobody had it, 2 if the gate had it.
	takeLock = redis.NewScript(`
		local holder = redis.call("GET", KEYS[1])
		if holder and holder ~= ARGV[1] then return 0 end
		redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
		return holder and 2 or 1`)

	freeLock = redis.NewScript(`
		if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("DEL", KEYS[1]) end
		return 0`)

	// takeNotes takes notes, unless another gate has the lock.
	takeNotes = redis.NewScript(`
		local holder = redis.call("GET", KEYS[2])
		if holder and holder ~= ARGV[1] then return 0 end
		local notes = redis.call("LRANGE", KEYS[1], 0, ARGV[2] - 1)
		redis.call("LTRIM", KEYS[1], #notes, -1)
		return notes`)
)

func (q *Queue) lockKey() string { return q.key() + ":gate" }

// Lock implements [gate.Locker].
func (q *Queue) Lock(ctx context.Context, name string) (term uint64, held time.Duration, err error) {
	l := &q.lock
	l.mu.Lock()
	defer l.mu.Unlock()
	start := time.Now()
	got, err := takeLock.Run(ctx, q.redis, []string{q.lockKey()}, name, lease.Milliseconds()).Int()
	switch {
	case err != nil:
		return 0, 0, err
	case got == 0:
		return 0, 0, gate.ErrLocked
	case got == 1, l.gate != name, !start.Before(l.until):
		l.term++ // the answer to an earlier call may have been lost, so that Redis says 2
	}
	l.gate, l.until = name, start.Add(lease)
	return l.term, lease, nil
}

// Unlock implements [gate.Locker].
func (q *Queue) Unlock(ctx context.Context, name string) error {
	return freeLock.Run(ctx, q.redis, []string{q.lockKey()}, name).Err()
}

// holder returns the gate that had the lock the last time.
func (q *Queue) holder() string {
	q.lock.mu.Lock()
	defer q.lock.mu.Unlock()
	return q.lock.gate
}

// wait waits until there is a note. It leaves the note to the gate that has the lock.
func (q *Queue) wait(ctx context.Context) (some bool, err error) {
	err = q.redis.BLMove(ctx, q.key(), q.key(), "LEFT", "LEFT", poll).Err()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil, err
}

// take takes notes.
func (q *Queue) take(ctx context.Context) ([]string, error) {
	got, err := takeNotes.Run(ctx, q.redis, []string{q.key(), q.lockKey()}, q.holder(), batch).Result()
	if err != nil {
		return nil, err
	}
	list, ok := got.([]any)
	if !ok {
		return nil, gate.ErrLocked
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i], _ = list[i].(string)
	}
	return texts, nil
}
