// Command service is an HTTP service that runs jobs for three tenants, and can be killed at any moment: start it again with the same
// folder, and it goes on.
//
//	go run ./examples/service -dir /tmp/service -addr localhost:8080
//	curl -d '{"key":"1","tenant":"a","tasks":5,"ms":2000}' localhost:8080/jobs
//	curl localhost:8080/jobs/1
//
// Who gets no answer, or 503, sends the request again, with the same key. What became of each job is appended to the file outcomes in the folder, at least
// once. /status/ is a page, with forecasts. A second process with the same folder is a standby, and answers 503 until the first one has gone.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

func main() {
	dir := flag.String("dir", "", "the folder of the service")
	addr := flag.String("addr", "localhost:8080", "where it listens")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir, *addr, newPolicy, journal.FollowFiles); err != nil {
		log.Fatal(err)
	}
}

// newPolicy returns the policy that decides: tenants share by weight, and the jobs of one go by least work.
func newPolicy() (sojourn.Policy, error) {
	inner := func() sojourn.Policy {
		p, _ := leastwork.New(leastwork.Options{}) // the zero Options are valid
		return p
	}
	pools := map[string]fair.Pool{"a": {Weight: 3, Policy: inner}, "b": {Weight: 2, Policy: inner}, "c": {Weight: 1, Policy: inner}}
	return fair.New(fair.Options{Pools: pools, Strict: true})
}

// run serves until ctx ends. Then it leaves the jobs to the next process.
func run(ctx context.Context, dir, addr string, newPolicy func() (sojourn.Policy, error), open func(string) (journal.Store, error)) (err error) {
	policy, err := newPolicy()
	store, e := open(filepath.Join(dir, "journal"))
	if err := errors.Join(err, e); err != nil {
		return err
	}
	watch := forecast.New(policy)
	j, err := journal.Open(store, watch, journal.Options{Retry: true, Another: func() (sojourn.Policy, error) {
		p, err := newPolicy()
		return forecast.New(p), err
	}})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	broken := make(failure, 2)
	recorder := statuspage.NewRecorder(broken, live.Log(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	pool, err := live.New(j, live.Options{
		Slots: 8,
		// Whoever kills the service often, from outside, makes tasks look like the reason: let a task be there 10 times.
		Retry:    live.Retry{Attempts: 3, Backoff: 100 * time.Millisecond, Jitter: 0.5, Deaths: 10},
		Handlers: map[string]live.Handler{"work": folder(dir).work},
		Observer: recorder,
		OnEnd: func(_ context.Context, e live.Ended) error {
			return folder(dir).enter("outcomes", "%s %v", e.Key, e.Outcome)
		},
	})
	if err != nil {
		return err
	}
	s := service{pool}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /jobs", s.submit)
	mux.HandleFunc("GET /jobs/{id}", s.show)
	mux.HandleFunc("DELETE /jobs/{id}", s.cancel)
	mux.HandleFunc("POST /jobs/{id}/retry", s.retry)
	mux.HandleFunc("GET /ended", s.ended)
	mux.Handle("/status/", http.StripPrefix("/status", statuspage.Handler(pool, statuspage.WithForecast(watch, newPolicy), statuspage.WithRecorder(recorder))))
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := pool.Err(); errors.Is(err, live.ErrStandby) && !strings.HasPrefix(r.URL.Path, "/status/") {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		} else {
			mux.ServeHTTP(w, r)
		}
	})}
	go func() { broken <- server.Serve(listener) }()
	fmt.Println("serving on", listener.Addr())
	select {
	case err = <-broken: // who supervises the process starts it again
	case <-ctx.Done():
		err = server.Close()
	}
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second) // for tasks to end
	defer stop()
	if e := pool.Suspend(ctx); !errors.Is(e, context.DeadlineExceeded) {
		err = errors.Join(err, e)
	}
	return err
}

// A failure is why the process cannot go on.
type failure chan error

func (f failure) Note(n live.Note) {
	if n.Kind == live.PoolBroken {
		f <- n.Err
	}
}

// A request is what a client submits, and the payload of the job.
type request struct {
	Key    string `json:"key"`
	Tenant string `json:"tenant"`
	Tasks  int    `json:"tasks"`
	Millis int    `json:"ms"` // that each task takes
}

// A folder is that of the service. It has a ledger of what tasks have done.
type folder string

func (f folder) work(ctx context.Context, t live.Task, payload []byte) error {
	var r request
	if err := json.Unmarshal(payload, &r); err != nil {
		return err
	}
	if err := f.enter("ledger", "start %s %v#%d", r.Key, t.TaskID, t.Attempt); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Duration(r.Millis) * time.Millisecond):
	}
	return f.enter("ledger", "done %s %v#%d", r.Key, t.TaskID, t.Attempt)
}

func (f folder) enter(name, format string, args ...any) error {
	file, err := os.OpenFile(filepath.Join(string(f), name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, format+"\n", args...)
	return errors.Join(err, file.Close())
}

// A service answers requests.
type service struct{ pool *live.Pool }

// An answer is what a client is told of a job.
type answer struct {
	ID        sojourn.JobID  `json:"id"`
	Key       string         `json:"key"`
	Tenant    string         `json:"tenant"`
	Duplicate bool           `json:"duplicate,omitempty"` // it had been submitted before
	Progress  *live.Progress `json:"progress,omitempty"`
	Ended     *live.Ended    `json:"ended,omitempty"`
}

func (s service) submit(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&q); err != nil || q.Key == "" || q.Tasks < 1 || q.Tasks > 1000 || q.Millis < 0 {
		http.Error(w, "want a key, a tenant, tasks (1 to 1000) and ms", http.StatusBadRequest)
		return
	}
	payload, _ := json.Marshal(q) // it was JSON before
	h, err := s.pool.Submit(r.Context(), live.Job{Name: "work", Pool: q.Tenant, Key: q.Key, Handler: "work", Payload: payload,
		Phases: []live.Phase{{Tasks: q.Tasks, Estimate: time.Duration(q.Millis) * time.Millisecond}}})
	duplicate := errors.Is(err, live.ErrDuplicate)
	var refused *sojourn.EventError
	switch {
	case err == nil, duplicate:
		write(w, answer{ID: h.ID(), Key: h.Key(), Tenant: h.Pool(), Duplicate: duplicate})
	case errors.As(err, &refused):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// find returns the job that a request names, or answers that there is none.
func (s service) find(w http.ResponseWriter, r *http.Request) (*live.Handle, bool) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	h, ok := s.pool.Handle(sojourn.JobID(id))
	if err != nil || !ok {
		http.Error(w, "no such job", http.StatusNotFound)
		return nil, false
	}
	return h, true
}

func (s service) show(w http.ResponseWriter, r *http.Request) {
	if h, ok := s.find(w, r); ok {
		a := answer{ID: h.ID(), Key: h.Key(), Tenant: h.Pool()}
		if e, ok := h.Ended(); ok {
			a.Ended = &e
		} else {
			p := h.Progress()
			a.Progress = &p
		}
		write(w, a)
	}
}

func (s service) cancel(w http.ResponseWriter, r *http.Request) {
	if h, ok := s.find(w, r); ok {
		h.Cancel()
	}
}

func (s service) retry(w http.ResponseWriter, r *http.Request) {
	if h, ok := s.find(w, r); ok {
		if again, err := s.pool.Retry(r.Context(), h.ID()); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		} else {
			write(w, answer{ID: again.ID(), Key: again.Key(), Tenant: again.Pool()})
		}
	}
}

func (s service) ended(w http.ResponseWriter, _ *http.Request) { write(w, s.pool.Ended()) }

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the other side may be gone
}
