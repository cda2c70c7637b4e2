package door_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/door"
)

// A request under one more invented name costs no more where 10,000 tenants wait than where 100 do: the door does not look at all of them.
func TestInventedNamesCostLittle(t *testing.T) {
	took := func(tenants int) (least time.Duration) {
		inDoor(t, 1, door.Options{MaxTenants: tenants, MaxWaiting: tenants}, func(t *testing.T, d *door.Door) {
			ctx, cancel := context.WithCancel(bg)
			first := must(d.Enter(bg, door.Request{}))
			var wg sync.WaitGroup
			for i := range tenants {
				wg.Go(func() { _, _ = d.Enter(ctx, door.Request{Tenant: fmt.Sprint(i)}) })
			}
			synctest.Wait()
			for round := range 5 {
				from := spent()
				for i := range 2000 {
					if _, err := d.Enter(bg, door.Request{Tenant: fmt.Sprint("invented", round, i)}); !errors.Is(err, door.ErrFull) {
						t.Fatal(err)
					}
				}
				if d := spent() - from; round == 0 || d < least {
					least = d
				}
			}
			cancel()
			wg.Wait()
			first.Leave()
		})
		return max(least, time.Millisecond)
	}
	if few, many := took(100), took(10_000); many > 10*few {
		t.Errorf("2,000 requests take %v with 10,000 tenants and %v with 100", many, few)
	}
}

// spent returns the processor time of this process.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
