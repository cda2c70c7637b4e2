package trial

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

func TestParallel(t *testing.T) {
	var calls [100]atomic.Int32
	err := Parallel(context.Background(), len(calls), func(_ context.Context, i int) error {
		calls[i].Add(1)
		return nil
	})
	for i := range calls {
		if n := calls[i].Load(); n != 1 || err != nil {
			t.Fatalf("f(%d) was called %d times, error %v", i, n, err)
		}
	}
}

// An error ends the calls with greater numbers. A call with a lesser number goes on, and
// its error is returned although it comes later.
func TestParallelError(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	later, earlier := errors.New("call 3"), errors.New("call 2")
	var started atomic.Int32
	ended := make(chan struct{}) // closed when a call above 3 has ended
	err := Parallel(context.Background(), 1_000_000, func(ctx context.Context, i int) error {
		started.Add(1)
		switch {
		case i == 2:
			<-ended
			if ctx.Err() != nil {
				t.Error("call 2 was cancelled")
			}
			return earlier
		case i == 3:
			for started.Load() < 5 {
				runtime.Gosched()
			}
			return later
		case i > 3:
			<-ctx.Done()
			close(ended)
			return fmt.Errorf("run %d: %w", i, ctx.Err())
		}
		return nil
	})
	if err != earlier || started.Load() != 5 {
		t.Errorf("error %v after %d calls, want %v after 5", err, started.Load(), earlier)
	}
}
