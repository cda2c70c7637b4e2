package trial

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

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
