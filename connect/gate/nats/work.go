package nats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// ErrDrop is the error of a task that is not to be tried again, for the function of [Queue.Work].
var ErrDrop = errors.New("connect/gate/nats: do not try again")

// A crewState is what a server of Work tells in its key.
type crewState struct {
	Workers int
	Tasks   []string

	heard time.Time
}

// crew is a call of Work.
type crew struct {
	q       *Queue
	id      string
	workers int
	handle  func(context.Context, Task) error

	mu      sync.Mutex
	running map[string]int
}

// Work runs tasks that were let go, so many at a time, until ctx ends. Then it waits until they have returned, and
// returns the error of ctx. A task whose function returns nil has ended. After an error it is held again for as long as Options.Delay says, unless it
// wraps [ErrDrop] or the attempt was the last one; then the task is kept as PREFIX.dead.ID in the held stream. A panic is an error, and so is
// [runtime.Goexit]. If the function returns an error after ctx has ended, another server gets the task.
//
// Other clients of NATS may work beside, with the consumer "workers" of the work stream. They acknowledge a task that has ended. The
// gate does not count them.
func (q *Queue) Work(ctx context.Context, workers int, handle func(context.Context, Task) error) error {
	if workers < 1 {
		return fmt.Errorf("connect/gate/nats: %d workers: want at least 1", workers)
	}
	c := &crew{q: q, id: rand.Text(), workers: workers, handle: handle, running: map[string]int{}}
	ended := make(chan struct{})
	var beats, all sync.WaitGroup
	beats.Go(func() { c.beat(ctx, ended) })
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				// The request ends at the server. To end it here could lose a task until AckWait.
				m, err := q.consumer.Next(js.FetchMaxWait(patience))
				switch {
				case err == nil && ctx.Err() != nil:
					_ = m.Nak()
				case err == nil:
					c.run(ctx, m)
				case errors.Is(err, nats.ErrNoResponders) && ctx.Err() == nil: // somebody has deleted the consumer, or the server starts
					call, cancel := context.WithTimeout(ctx, patience)
					_, _ = q.workers(call) // else the next time
					cancel()
					wait(ctx, pause)
				case !errors.Is(err, nats.ErrTimeout):
					wait(ctx, pause)
				}
			}
		})
	}
	all.Wait()
	close(ended)
	beats.Wait()
	return ctx.Err()
}

// wait waits, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// beat tells that the server lives, until it has ended. One that stops takes no more.
func (c *crew) beat(ctx context.Context, ended chan struct{}) {
	key := "server." + c.id
	for {
		s := crewState{Workers: c.workers}
		if ctx.Err() != nil {
			s.Workers = 0
		}
		c.mu.Lock()
		s.Tasks = slices.Sorted(maps.Keys(c.running))
		c.mu.Unlock()
		text, err := json.Marshal(s)
		if err == nil && c.q.conn.IsConnected() {
			call, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease)
			_, _ = c.q.alive.Put(call, key, text) // else the next time
			cancel()
		}
		select {
		case <-ended:
			call, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease)
			defer cancel()
			_ = c.q.alive.Delete(call, key) // else it runs out
			return
		case <-time.After(beat):
		}
	}
}

// run runs a task.
func (c *crew) run(ctx context.Context, m js.Msg) {
	q := c.q
	t := Task{ID: strings.TrimPrefix(m.Subject(), q.prefix+"work."), Data: m.Data(), Header: free(m.Headers()), Attempt: attempt(m.Headers())}
	c.count(t.ID, 1)
	defer c.count(t.ID, -1)
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(q.opts.AckWait / 3):
				_ = m.InProgress()
			}
		}
	}()
	start := time.Now()
	err := c.call(ctx, t)
	took := time.Since(start)
	switch {
	case err == nil:
		q.insist(ctx, m.DoubleAck)
	case ctx.Err() != nil:
		_ = m.Nak()
	case errors.Is(err, ErrDrop), q.opts.Attempts > 0 && t.Attempt >= q.opts.Attempts:
		q.back(ctx, m, "dead."+t.ID, nats.Header{headTook: {took.String()}})
	default:
		q.back(ctx, m, "held."+t.ID, nats.Header{headTook: {took.String()}, headAttempt: {strconv.Itoa(t.Attempt + 1)}, headAfter: {max(0, q.opts.Delay(t.Attempt)).String()}})
	}
}

func (c *crew) count(id string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[id] += n; c.running[id] == 0 {
		delete(c.running, id)
	}
}

// call calls the function. A panic is an error, and so is runtime.Goexit, which ends the goroutine.
func (c *crew) call(ctx context.Context, t Task) error {
	ended := make(chan error, 1)
	go func() {
		err := fmt.Errorf("connect/gate/nats: task %q has called runtime.Goexit", t.ID)
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("connect/gate/nats: task %q: panic: %v", t.ID, r)
			}
			ended <- err
		}()
		err = c.handle(ctx, t)
	}()
	return <-ended
}

// back puts a task that has failed into the held stream, and then ends its message, of which no sample tells. If
// somebody else has ended the message, the task has ended.
func (q *Queue) back(ctx context.Context, m js.Msg, subject string, header nats.Header) {
	meta, err := m.Metadata()
	if err != nil {
		return
	}
	for key, values := range m.Headers() {
		if header[key] == nil && !strings.HasPrefix(key, "Nats-") {
			header[key] = values
		}
	}
	there := false
	q.insist(ctx, func(ctx context.Context) error {
		_, err := q.work.GetMsg(ctx, meta.Sequence.Stream)
		if errors.Is(err, js.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		after := uint64(0)
		last, err := q.held.GetLastMsgForSubject(ctx, q.prefix+subject)
		switch {
		case err == nil && last.Header.Get(headGone) != "":
			return nil // it is being deleted
		case err == nil && strings.HasPrefix(subject, "held.") && attempt(last.Header) > attempt(m.Headers()):
			there = true // by an earlier call, or by another worker
			return nil
		case err == nil:
			after = last.Sequence // the gate has let it go, and deletes that one in this moment
		case !errors.Is(err, js.ErrMsgNotFound):
			return err
		}
		_, err = q.api.PublishMsg(ctx, &nats.Msg{Subject: q.prefix + subject, Header: header, Data: m.Data()}, js.WithExpectLastSequencePerSubject(after))
		there = err == nil
		return err
	})
	if there {
		_ = m.Term()
	}
}

// insist calls f until it succeeds. It gives up when NATS gives the task to another worker, and at the first error after ctx has ended.
func (q *Queue) insist(ctx context.Context, f func(context.Context) error) {
	for end := time.Now().Add(q.opts.AckWait); ; time.Sleep(pause) {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		err := f(call)
		cancel()
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return
		}
	}
}

// beat enters what a server tells.
func (v *view) beat(m js.Msg, _ *js.MsgMetadata) {
	id := m.Subject()[strings.LastIndex(m.Subject(), ".")+1:]
	var s crewState
	v.mu.Lock()
	defer v.mu.Unlock()
	if json.Unmarshal(m.Data(), &s) != nil { // its key was deleted
		delete(v.servers, id)
		return
	}
	s.heard = time.Now()
	v.servers[id] = s
	for _, task := range s.Tasks {
		if r := v.released[task]; r != nil {
			r.running = true
		}
	}
}

// Servers implements [gate.Fleet].
func (q *Queue) Servers(ctx context.Context) (gate.Servers, error) {
	v, err := q.lead(ctx)
	if err != nil {
		return gate.Servers{}, err
	}
	all := gate.Servers{Beat: lease}
	v.mu.Lock()
	was := slices.Sorted(maps.Keys(v.released))
	v.mu.Unlock()
	info, err := q.consumer.Info(ctx)
	if err != nil {
		return gate.Servers{}, q.mend(ctx, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(v.servers)) {
		s := v.servers[id]
		if time.Since(s.heard) > lease {
			delete(v.servers, id)
			continue
		}
		all.Live = append(all.Live, gate.Server{ID: id, Workers: s.Workers, Tasks: s.Tasks})
	}
	for _, id := range was {
		if r := v.released[id]; r != nil && (r.running || info.NumPending == 0) {
			all.Running = append(all.Running, id)
		}
	}
	return all, nil
}
