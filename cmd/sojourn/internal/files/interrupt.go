package files

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// grace is how long a program may take to end in order after an interrupt.
const grace = 600 * time.Millisecond

// Interruptible returns a context that ends when the process is interrupted: by SIGINT, SIGTERM, or SIGHUP, of a terminal that is
// closed. If the program has not ended after the grace, or is interrupted once more, what is not finished is removed, stderr gets a
// line that begins with name, and exit is called with status 1. Until stop is called a signal has this meaning; before and after
// it has the usual one. If exit is nil, the second interrupt has, too.
func Interruptible(parent context.Context, name string, stderr io.Writer, exit func(int)) (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, signals()...)
	go func() {
		select {
		case <-interrupts:
		case <-ctx.Done():
			if len(interrupts) == 0 {
				return
			}
		}
		cancel()
		if exit == nil {
			signal.Stop(interrupts)
			return
		}
		select {
		case <-interrupts:
		case <-time.After(grace):
		}
		removeUnfinished()
		said := make(chan struct{})
		go func() {
			fmt.Fprintf(stderr, "%s: interrupted\n", name)
			close(said)
		}()
		select { // it may be a pipe that nobody reads
		case <-said:
		case <-time.After(grace / 6):
		}
		exit(1)
	}()
	return ctx, func() {
		signal.Stop(interrupts)
		cancel()
	}
}

// signals are those that interrupt a program. One that the process was started to ignore, as nohup does, stays ignored.
func signals() []os.Signal {
	list := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}
