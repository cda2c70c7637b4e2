package trial

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
)

// brief is how long what an interrupt stops may take to say what it has: a policy may be long in one call.
const brief = 200 * time.Millisecond

// Keep is [Parallel] for calls that give something, which the functions that they return keep, one at a time. If ctx ends, Keep waits
// only briefly for the calls under way. What they give later is lost.
func Keep(ctx context.Context, n int, f func(ctx context.Context, i int) (keep func(), err error)) error {
	var mu sync.Mutex
	late := false
	ended := make(chan error, 1)
	go func() {
		ended <- Parallel(ctx, n, func(ctx context.Context, i int) error {
			keep, err := f(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			if keep != nil && !late {
				keep()
			}
			return err
		})
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(brief):
		mu.Lock()
		late = true
		mu.Unlock()
		return errors.New("interrupted")
	}
}

// Parallel calls f(0) to f(n-1), as many at a time as there are processors. An
// error ends the contexts of the calls with a greater number and nothing more is
// started; those with a lesser one go on, so that the error of the least number is
// returned whatever the timing. If ctx ends, an error says so.
func Parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	var (
		mu     sync.Mutex
		next   int
		failed = n // the least number that failed
		first  error
		cancel = map[int]context.CancelFunc{} // of the calls under way
		wg     sync.WaitGroup
	)
	work := func() {
		mu.Lock()
		defer mu.Unlock()
		for next < failed && ctx.Err() == nil {
			i := next
			next++
			running, stop := context.WithCancel(ctx)
			cancel[i] = stop
			mu.Unlock()
			err := f(running, i)
			stop()
			mu.Lock()
			delete(cancel, i)
			if err == nil || i > failed {
				continue
			}
			failed, first = i, err
			for k, stop := range cancel {
				if k > i {
					stop()
				}
			}
		}
	}
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(work)
	}
	wg.Wait()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return first
}
