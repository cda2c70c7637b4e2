// Command service is an HTTP service that runs jobs for three tenants, and can be killed at any moment: start it again with the same
// folder, and it goes on.
//
//	go run ./examples/service -dir /tmp/service -addr localhost:8080
//	curl -d '{"key":"1","tenant":"a","tasks":5,"ms":2000}' localhost:8080/jobs
//	curl localhost:8080/jobs/1
//
// A client that gets no answer sends its request again, with the same key. What became of each job is appended to the file outcomes in
// the folder, at least once. GET /status/ is a page of the pool, with forecasts.
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
	if err := run(ctx, *dir, *addr, newPolicy, journal.OpenFiles); err != nil {
		log.Fatal(err)
	}
}

// newPolicy returns the policy that decides: tenants share by weight, and the jobs of one go by least work.
func newPolicy() (sojourn.Policy, error) {
	pools := map[string]fair.Pool{}
	for tenant, weight := range map[string]float64{"a": 3, "b": 2, "c": 1} { //sojourn:unordered a map again
		pools[tenant] = fair.Pool{Weight: weight, Policy: func() sojourn.Policy {
			p, err := leastwork.New(leastwork.Options{})
			if err != nil {
				panic(err) // the zero Options are valid
			}
			return p
		}}
	}
	return fair.New(fair.Options{Pools: pools, Strict: true})
}

// run serves until ctx ends. Then it leaves the jobs to the next process.
func run(ctx context.Context, dir, addr string, newPolicy func() (sojourn.Policy, error), open func(string) (journal.Store, error)) (err error) {
	policy, err := newPolicy()
	if err != nil {
		return err
	}
	store, err := open(filepath.Join(dir, "journal"))
	if err != nil {
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
	outcomes, err := os.OpenFile(filepath.Join(dir, "outcomes"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer outcomes.Close()
	work := worker{filepath.Join(dir, "ledger")}
	recorder := statuspage.NewRecorder(live.Log(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	pool, err := live.New(j, live.Options{
		Slots: 8,
		// Whoever kills the service often, from outside, makes tasks look like the reason: let a task be there 10 times.
		Retry:    live.Retry{Attempts: 3, Backoff: 100 * time.Millisecond, Jitter: 0.5, Deaths: 10},
		Handlers: map[string]live.Handler{"work": work.run},
		Observer: recorder,
		OnEnd: func(_ context.Context, e live.Ended) error {
			_, err := fmt.Fprintf(outcomes, "%s %v\n", e.Key, e.Outcome)
			return err
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
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return errors.Join(err, suspend(pool))
	}
	server := &http.Server{Handler: mux}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Println("serving on", listener.Addr())
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = server.Close()
	}
	return errors.Join(err, suspend(pool))
}

// suspend leaves the jobs to the next process. Tasks have 3 s to end.
func suspend(p *live.Pool) error {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	if err := p.Suspend(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// A request is what a client submits, and the payload of the job.
type request struct {
	Key    string `json:"key"`
	Tenant string `json:"tenant"`
	Tasks  int    `json:"tasks"`
	Millis int    `json:"ms"` // that each task takes
}

// A worker does the work of tasks, and keeps a ledger of what it has done.
type worker struct{ ledger string }

func (w worker) run(ctx context.Context, t live.Task, payload []byte) error {
	var r request
	if err := json.Unmarshal(payload, &r); err != nil {
		return err
	}
	if err := w.enter("start %s %v#%d", r.Key, t.TaskID, t.Attempt); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Duration(r.Millis) * time.Millisecond):
	}
	return w.enter("done %s %v#%d", r.Key, t.TaskID, t.Attempt)
}

func (w worker) enter(format string, args ...any) error {
	f, err := os.OpenFile(w.ledger, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, format+"\n", args...)
	return errors.Join(err, f.Close())
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
		again, err := s.pool.Retry(r.Context(), h.ID())
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		write(w, answer{ID: again.ID(), Key: again.Key(), Tenant: again.Pool()})
	}
}

func (s service) ended(w http.ResponseWriter, _ *http.Request) { write(w, s.pool.Ended()) }

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the other side may be gone
}
