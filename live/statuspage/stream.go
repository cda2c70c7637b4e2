package statuspage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/live"
)

const (
	mostVisitors = 100                    // of the stream; others are told to ask again
	tickEvery    = time.Second            // between two events of the stream
	quietTicks   = 10                     // after which there is one though nothing has changed
	writeWithin  = 5 * time.Second        // a visitor takes an event, or is gone
	streamFor    = 30 * time.Second       // then the browser asks anew, so that a server that stops waits no longer
	padding      = 2048                   // bytes that some proxies wait for
	first        = 150 * time.Millisecond // how long a page waits for a forecast
)

// A stream tells all visitors the same, once a second: that there is something new.
type stream struct {
	board *board

	mu       sync.Mutex
	visitors map[chan string]bool
	stop     context.CancelFunc // ends the only goroutine; nil if there are no visitors
}

func newStream(b *board) *stream { return &stream{board: b, visitors: map[chan string]bool{}} }

// enter adds a visitor, and starts the goroutine for the first one. It reports false if there are too many.
func (s *stream) enter(c chan string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.visitors) >= mostVisitors {
		return false
	}
	s.visitors[c] = true
	if s.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		go s.run(ctx)
	}
	return true
}

// leave takes a visitor away, and ends the goroutine with the last one.
func (s *stream) leave(c chan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.visitors, c)
	if len(s.visitors) == 0 && s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// end ends the streams of all visitors, and with them the goroutine.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.visitors { //sojourn:unordered all are told the same
		close(c)
	}
	clear(s.visitors)
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// run tells all visitors each second that there is something new, until the pool has nothing to do any more. If a policy panics, the streams
// end, and the program goes on: those who ask for the page learn of it.
func (s *stream) run(ctx context.Context) {
	defer func() {
		if recover() != nil {
			s.end()
		}
	}()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	was, quiet := "", 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.board.snaps.clear() // one that was taken just before the second is over would hide for another one what has happened
		snap, err := s.board.snap(ctx)
		if err != nil {
			return
		}
		if snap.st.Closed && snap.all.Live == 0 || snap.st.Err != nil && !errors.Is(snap.st.Err, live.ErrStalled) && !errors.Is(snap.st.Err, live.ErrStandby) {
			s.tell("data: " + snap.wall.Format(time.RFC3339) + "\n\n")
			s.end()
			return
		}
		now := snap.mark()
		if quiet++; now == was && quiet < quietTicks {
			s.tell(": nothing new\n\n")
			continue
		}
		was, quiet = now, 0
		s.tell("data: " + snap.wall.Format(time.RFC3339) + "\n\n")
	}
}

// mark is the same for two snapshots that differ in nothing but the time.
func (s *snap) mark() string {
	return fmt.Sprint(s.all.Live, s.all.Waiting, s.all.Busy, s.all.Late, s.all.Failing, s.all.Ended, s.all.Failed, s.last.id, s.void, s.st.Closed, s.st.Err, len(s.st.Slots), len(s.hour), s.now.Sub(0)/sampleEvery)
}

func (s *stream) tell(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.visitors { //sojourn:unordered all are told the same
		select {
		case c <- text:
		default: // it has not taken the one before
		}
	}
}

// ServeHTTP sends events until the visitor is gone, or for a while.
func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := make(chan string, 1)
	if !s.enter(c) {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d visitors watch: reload the page to see what is new", mostVisitors), http.StatusServiceUnavailable)
		return
	}
	defer s.leave(c)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	to := http.NewResponseController(w)
	send := func(text string) bool {
		_ = to.SetWriteDeadline(time.Now().Add(writeWithin)) // recorders of tests have none
		_, err := fmt.Fprint(w, text)
		return err == nil && to.Flush() == nil
	}
	if !send(fmt.Sprintf("retry: 2000\n: %0*d\n\n", padding, 0)) {
		return
	}
	over := time.NewTimer(streamFor)
	defer over.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-over.C:
			return
		case text, more := <-c:
			if !more || !send(text) {
				return
			}
		}
	}
}
