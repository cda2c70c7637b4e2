package live_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/live"
)

type requestKey struct{}

// A witness is a handler that writes down what its contexts have of a request. Its first two attempts at each task fail.
type witness struct {
	mu   sync.Mutex
	saw  []string
	runs int
}

func (w *witness) handle(ctx context.Context, t live.Task, _ []byte) error {
	err := sleep(time.Minute)(ctx, t)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs++
	if v := ctx.Value(requestKey{}); v != nil {
		w.saw = append(w.saw, fmt.Sprintf("%v#%d: value %v", t.TaskID, t.Attempt, v))
	}
	if at, ok := ctx.Deadline(); ok {
		w.saw = append(w.saw, fmt.Sprintf("%v#%d: deadline %v", t.TaskID, t.Attempt, at))
	}
	if err != nil && !errors.Is(context.Cause(ctx), live.ErrSlotRemoved) {
		w.saw = append(w.saw, fmt.Sprintf("%v#%d: %v", t.TaskID, t.Attempt, context.Cause(ctx)))
	}
	if err == nil && t.Attempt < 3 {
		return errors.New("it fails at first")
	}
	return err
}

// However the context of Submit ends, a durable job goes on: its first attempts, those after a failure, those after its slot was
// removed, and those of the next process. Nothing of the context reaches them.
func TestDurableContext(t *testing.T) {
	why := errors.New("the client has gone")
	for name, end := range map[string]func(ctx context.Context) (context.Context, func()){
		"stays": func(ctx context.Context) (context.Context, func()) { return ctx, func() {} },
		"cancel": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancel(ctx)
			return ctx, cancel
		},
		"cause": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(why) }
		},
		"deadline": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, 90*time.Second) // in the second attempt
			context.AfterFunc(ctx, cancel)
			return ctx, func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, w := t.TempDir(), new(witness)
				o := live.Options{Slots: 2, Retry: live.Retry{Attempts: 9, Backoff: time.Second}, Handlers: map[string]live.Handler{"h": w.handle}}
				j := openFIFO(dir)
				p := must(live.New(j, o))
				ctx, over := end(context.WithValue(bg, requestKey{}, "secret"))
				h := must(p.Submit(ctx, live.Job{Handler: "h", Phases: []live.Phase{{Tasks: 3}, {Tasks: 1}}}))
				over()
				time.Sleep(30 * time.Second)
				wantError(t, "Remove", p.Remove(0), nil)
				must(p.AddSlots(1, p.Status().Slots[0].Slot))
				time.Sleep(2 * time.Minute)
				if h.Progress().Ended {
					t.Errorf("the job has ended: %v", h.Wait(bg))
				}
				stop, cancel := context.WithCancel(bg)
				cancel()
				wantError(t, "Suspend", p.Suspend(stop), context.Canceled)
				wantError(t, "Close of the journal", j.Close(), nil)

				j = openFIFO(dir)
				p = must(live.New(j, o))
				for _, h := range p.Handles() {
					wantError(t, "the job", h.Wait(bg), nil)
				}
				if len(w.saw) > 0 || w.runs < 4*3 {
					t.Errorf("%d attempts saw of the request: %q", w.runs, w.saw)
				}
				wantError(t, "Close", errors.Join(p.Close(bg), j.Close()), nil)
			})
		})
	}
}

// A server hands its requests' contexts to Submit, and each answers before its job has run.
func TestDurableJobOfRequest(t *testing.T) {
	gate := make(chan struct{})
	j := openFIFO(t.TempDir())
	p := must(live.New(j, live.Options{Slots: 2, Retry: live.Retry{Attempts: 2}, Handlers: map[string]live.Handler{
		"h": func(ctx context.Context, task live.Task, _ []byte) error {
			<-gate // until all requests are over
			if task.Attempt == 1 && task.Index == 0 {
				return errors.New("it fails at first")
			}
			if ctx.Value(http.ServerContextKey) != nil || ctx.Value(requestKey{}) != nil {
				t.Error("the attempt sees the request")
			}
			return ctx.Err()
		},
	}}))
	var handles []*live.Handle
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, r.URL.Path))
		h, err := p.Submit(r.Context(), live.Job{Handler: "h", Phases: []live.Phase{{Tasks: 2}, {Tasks: 1}}})
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		handles = append(handles, h)
	}))
	for range 4 {
		answer := must(http.Get(server.URL + "/jobs"))
		_ = answer.Body.Close()
		if answer.StatusCode != 200 {
			t.Fatal(answer.Status)
		}
	}
	server.Close() // waits for the ends of the requests and of their contexts
	close(gate)
	for _, h := range handles {
		wantError(t, "a job of a request", h.Wait(bg), nil)
	}
	wantError(t, "Close", errors.Join(p.Close(bg), j.Close()), nil)
}

// A durable task submits another job with its own context. That job outlives the attempt; without a journal it does not.
func TestJobOfTask(t *testing.T) {
	for _, durable := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var p *live.Pool
			var child *live.Handle
			o := live.Options{Slots: 2, Handlers: map[string]live.Handler{
				"child": func(ctx context.Context, task live.Task, _ []byte) error { return sleep(time.Minute)(ctx, task) },
				"parent": func(ctx context.Context, _ live.Task, _ []byte) (err error) {
					child, err = p.Submit(ctx, live.Job{Handler: "child", Phases: []live.Phase{{Tasks: 1}}})
					return err
				},
			}}
			want := context.Canceled
			if durable {
				j := openFIFO(t.TempDir())
				p = must(live.New(j, o))
				defer j.Close()
				want = nil
			} else {
				p = must(live.New(newFIFO(), o))
			}
			wantError(t, "the parent", must(p.Submit(bg, live.Job{Handler: "parent", Phases: []live.Phase{{Tasks: 1}}})).Wait(bg), nil)
			wantError(t, fmt.Sprint("the child, durable ", durable), child.Wait(bg), want)
			wantError(t, "Close", p.Close(bg), nil)
		})
	}
}
