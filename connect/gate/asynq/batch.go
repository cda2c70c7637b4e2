package asynq

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// chunk is how many tasks are sent to Redis together.
const chunk = 512

// together calls f for 0 to n-1, each in a goroutine of its own. Commands that they send to Redis with the context that
// they get go together: when each of them waits for an answer or has returned, all commands go in one pipeline, in the
// order of the numbers.
func together(ctx context.Context, n int, f func(ctx context.Context, i int)) {
	r := &round{ctx: ctx, left: n}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			defer r.leave()
			f(context.WithValue(ctx, seat{}, place{r, i}), i)
		})
	}
	all.Wait()
}

type seat struct{} // key of a place in a context

// A place is that of a goroutine in a round.
type place struct {
	*round
	number int
}

// A round gathers one command of each goroutine that has not returned.
type round struct {
	ctx     context.Context // without a place, since a client sends commands of its own when it connects
	mu      sync.Mutex
	left    int // goroutines
	waiting []command
	send    func([]redis.Cmder) // the way to Redis
}

type command struct {
	redis.Cmder
	number int
	done   chan struct{}
}

// do sends a command with those of the others.
func (p place) do(cmd redis.Cmder, send func([]redis.Cmder)) {
	c := command{cmd, p.number, make(chan struct{})}
	p.mu.Lock()
	p.waiting, p.send = append(p.waiting, c), send
	p.flush()
	<-c.done
}

func (r *round) leave() {
	r.mu.Lock()
	r.left--
	r.flush()
}

// flush sends the commands if nobody is missing. It unlocks r.
func (r *round) flush() {
	if len(r.waiting) == 0 || len(r.waiting) < r.left {
		r.mu.Unlock()
		return
	}
	sent, send := r.waiting, r.send
	r.waiting = nil
	r.mu.Unlock()
	slices.SortFunc(sent, func(x, y command) int { return cmp.Compare(x.number, y.number) })
	cmds := make([]redis.Cmder, len(sent))
	for i := range sent {
		cmds[i] = sent[i].Cmder
	}
	send(cmds)
	for i := range sent {
		close(sent[i].done)
	}
}

// A hook lets commands of a round go together.
type hook struct{ client redis.UniversalClient }

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		p, ok := ctx.Value(seat{}).(place)
		if !ok {
			return next(ctx, cmd)
		}
		p.do(cmd, func(cmds []redis.Cmder) {
			pipe := h.client.Pipeline()
			for _, c := range cmds {
				_ = pipe.Process(p.ctx, c)
			}
			_, _ = pipe.Exec(p.ctx) // each command has its error
		})
		return cmd.Err()
	}
}
