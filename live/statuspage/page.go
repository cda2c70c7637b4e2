// Package statuspage shows what a pool of package live does: which job is to be served next, why each one
// waits, what each slot runs, and who is late. Use it in the server that you have for metrics:
//
//	mux.Handle("/sojourn/", http.StripPrefix("/sojourn", statuspage.Handler(pool)))
//
// Tier: kit.
//
// The page is at /, the same as JSON at /status.json. Both take the parameter jobs, the number of jobs to show at
// most: 100 if it is absent. The page changes nothing, and names jobs as their submitters did: do not show it to
// strangers.
//
// A request has at most 1,024 bytes of parameters, and its body is not read (TestBodiesAreNotRead). Each answer, an error
// too, tells browsers to run no script, to load nothing, and to show it in no frame (TestHeaders). What the page of another
// origin makes a browser ask for is refused, unless its user goes to the page (TestOtherSites). Browsers say who asks over
// HTTPS and to localhost only.
//
// /readyz answers 503, with the reason, if the pool is broken ([live.Pool.Err]), and 200 otherwise. It asks for no parameter and
// looks at no job.
//
// A request locks the pool for as long as it takes to rank all jobs, and then once for each job
// that is shown.
//
// The page can also say when each job will start and finish. The pool then needs a policy in a [forecast.Watch], and the
// page a way to make another policy of that kind, which it asks in simulations of what comes:
//
//	another := func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }
//	w := forecast.New(policy)
//	pool, err := live.New(w, live.Options{Slots: 8})
//	...
//	statuspage.Handler(pool, statuspage.WithForecast(w, another))
//
// Visitors can then ask what if there were more slots, fewer, one more job, or another policy that [WithPolicy] has added. The
// parameters are slots, tasks with each (one more job of so many tasks, each of which takes so long), and policy:
// /status.json?slots=2&tasks=10&each=90s&policy=fair. Nothing changes but the forecast.
//
// Forecasts are made one at a time, and each one is kept for a second: however many visitors ask for whatever, they use one
// processor at most (TestOneForecastAtATime). If more than eight changes are asked about at once, the page says so in place
// of the forecast.
package statuspage

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/live"
)

// A Page is what is shown. Times are in seconds, ages and deadlines since the same instant as Now.
type Page struct {
	Now      float64  `json:"now_seconds"`
	Closed   bool     `json:"closed"`
	Live     int      `json:"live_jobs"`
	Late     int      `json:"late_jobs"`
	Jobs     []Job    `json:"jobs"` // the first to be served at the front
	Slots    []Slot   `json:"slots"`
	Ignoring []string `json:"tasks_that_ignore_their_contexts"` // each with its attempt and slot

	Broken   string `json:"broken,omitempty"`   // why the pool is broken; see [live.Pool.Err]
	Alone    string `json:"alone,omitempty"`    // the task that runs alone, since it ran when the process before ended; see [live.Status].Alone
	Observer string `json:"observer,omitempty"` // the panic of the observer, which is told nothing more

	// Forecast says that jobs have a Start and a Finish, and NoForecast why they have none though they should.
	Forecast   bool   `json:"forecast,omitempty"`
	NoForecast string `json:"no_forecast,omitempty"`

	WhatIf   *WhatIf  `json:"what_if,omitempty"`  // the change that the request asks about
	Policies []string `json:"policies,omitempty"` // that can be asked about
}

// A Job is a live job.
type Job struct {
	ID       sojourn.JobID `json:"id"`
	Name     string        `json:"name"`
	Pool     string        `json:"pool"`
	Age      float64       `json:"age_seconds"`
	Deadline *float64      `json:"deadline_seconds"` // null if there is none
	Late     bool          `json:"late"`             // the deadline has passed, or Void is not empty
	Void     string        `json:"void"`             // why the policy's promise does not hold
	Tasks    int           `json:"tasks"`
	Done     int           `json:"done"`
	Running  int           `json:"running"`
	Failed   int           `json:"failed"`
	Lost     int           `json:"lost"`         // attempts that ended with their process
	GivenUp  int           `json:"failed_tasks"` // tasks that have failed for good, without the job
	Suspects int           `json:"suspects"`     // tasks that wait until they are started alone
	Parked   bool          `json:"parked"`       // there is no handler of its name
	Held     int           `json:"held"`
	Error    string        `json:"error"`
	Why      string        `json:"why"`     // the job waits, as the policy says
	Explain  []Quantity    `json:"explain"` // all that determines its rank

	// Start and Finish are when the job will start and finish if no other job comes: see package forecast. They are null
	// without a forecast, and Start also after the start.
	Start  *Interval `json:"start,omitempty"`
	Finish *Interval `json:"finish,omitempty"`

	// Otherwise is when the job would finish after the change that the request asks about.
	Otherwise *Interval `json:"what_if_finish,omitempty"`
}

// An Interval has the 5 %, 50 % and 95 % quantiles of an instant.
type Interval struct {
	Low    float64 `json:"p5_seconds"`
	Median float64 `json:"p50_seconds"`
	High   float64 `json:"p95_seconds"`
}

// A Quantity is one of those that determine the rank of a job.
type Quantity struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// A Slot is a slot of the pool.
type Slot struct {
	ID      sojourn.SlotID `json:"id"`
	Class   sojourn.Class  `json:"class"`
	Node    sojourn.NodeID `json:"node"`
	Leaving bool           `json:"leaving"`
	Task    string         `json:"task"` // "" if the slot is idle
	Job     sojourn.JobID  `json:"job"`  // 0 if the slot is idle
	Attempt uint32         `json:"attempt"`
	Stopped string         `json:"stopped"` // why the attempt was asked to stop
}

var page = template.Must(template.New("page").Funcs(template.FuncMap{"seconds": seconds, "in": in}).Parse(source))

// in writes an interval as a span from now.
func in(now float64, i *Interval) string {
	low, high := seconds(max(0, i.Low-now)), seconds(max(0, i.High-now))
	if low == high {
		return low
	}
	return low + " to " + high
}

// seconds writes a number of seconds, or what a pointer has, with one digit after the point.
func seconds(v any) string {
	if p, ok := v.(*float64); ok {
		v = *p
	}
	return fmt.Sprintf("%.1f", v)
}

// An Option changes what a handler shows.
type Option struct {
	watch   *forecast.Watch
	another func() (sojourn.Policy, error)
	name    string // of another; only without watch
}

// WithForecast shows when jobs will start and finish. w is the policy of the pool, and another returns a new policy like
// the one in w.
func WithForecast(w *forecast.Watch, another func() (sojourn.Policy, error)) Option {
	return Option{watch: w, another: another}
}

// WithPolicy lets visitors ask when jobs would finish if another policy were in charge from now on. make returns a new one.
// It needs WithForecast.
func WithPolicy(name string, make func() (sojourn.Policy, error)) Option {
	return Option{name: name, another: make}
}

// Handler returns a handler of the page of a pool.
func Handler(p *live.Pool, options ...Option) http.Handler {
	mux := http.NewServeMux()
	o := newAsked(options)
	fs := &forecasts{asked: o, turn: make(chan struct{}, 1), made: map[change]*made{}}
	serve := func(path, kind string, write func(io.Writer, *Page) error) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			ask, err := asks(r)
			var (
				most int
				q    *WhatIf
			)
			if err == nil {
				most, err = wanted(ask)
			}
			if err == nil {
				q, err = o.change(ask)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			pg := Take(p, most)
			pg.foresee(r.Context(), fs, q)
			w.Header().Set("Content-Type", kind)
			_ = write(w, pg) // the other side may be gone
		})
	}
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := p.Err(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n") // the other side may be gone
	})
	serve("/{$}", "text/html; charset=utf-8", func(w io.Writer, pg *Page) error { return page.Execute(w, pg) })
	serve("/status.json", "application/json", func(w io.Writer, pg *Page) error { return json.NewEncoder(w).Encode(pg) })
	return guarded(mux)
}

// A forecast of a page has so many draws, and is not made of more tasks.
const (
	draws    = 20
	maxTasks = 20_000
)

func interval(i *forecast.Interval) *Interval {
	if i == nil {
		return nil
	}
	at := func(t sojourn.Time) float64 { return time.Duration(t).Seconds() }
	return &Interval{at(i.Low), at(i.Median), at(i.High)}
}

// wanted returns how many jobs the parameters ask for.
func wanted(ask query) (int, error) {
	text := ask.Get("jobs")
	if text == "" {
		return 100, nil
	}
	most, err := strconv.Atoi(text)
	if err != nil || most < 0 {
		return 0, fmt.Errorf("jobs=%q: want a number of jobs", text)
	}
	return most, nil
}

// late reports whether a job is late: its deadline has passed, or the policy has said that its promise does not hold.
func late(j *live.JobStatus, now sojourn.Time) bool {
	return j.Void != "" || j.Deadline > 0 && j.Deadline < now
}

// Take returns what a pool does now, with at most the given number of jobs.
func Take(p *live.Pool, most int) *Page {
	st := p.Status()
	pg := &Page{Now: time.Duration(st.Now).Seconds(), Closed: st.Closed, Live: len(st.Jobs), Jobs: []Job{}, Slots: []Slot{}, Ignoring: []string{}}
	for i := range st.Jobs {
		j := &st.Jobs[i]
		if late(j, st.Now) {
			pg.Late++
		}
		if i < most {
			pg.Jobs = append(pg.Jobs, job(p, j, st.Now))
		}
	}
	for _, s := range st.Slots {
		out := Slot{ID: s.Slot.ID, Class: s.Slot.Class, Node: s.Slot.Node, Leaving: s.Leaving}
		if s.Busy {
			out.Task, out.Job, out.Attempt = s.Task.String(), s.Task.Job, s.Attempt
		}
		if s.Stopped != nil {
			out.Stopped = s.Stopped.Error()
		}
		pg.Slots = append(pg.Slots, out)
	}
	if t := st.Alone; t != nil {
		pg.Alone = t.TaskID.String()
	}
	for _, t := range st.Ignoring {
		pg.Ignoring = append(pg.Ignoring, fmt.Sprintf("%v attempt %d on slot %d", t.TaskID, t.Attempt, t.Slot))
	}
	if st.Err != nil {
		pg.Broken = st.Err.Error()
	}
	if st.Observer != nil {
		pg.Observer, _, _ = strings.Cut(st.Observer.Error(), "\n") // without the stack
	}
	return pg
}

func job(p *live.Pool, j *live.JobStatus, now sojourn.Time) Job {
	out := Job{ID: j.ID, Name: j.Name, Pool: j.Pool, Age: j.Age.Seconds(), Late: late(j, now), Void: j.Void, Tasks: j.Progress.Tasks,
		Done: j.Progress.Done, Running: j.Progress.Running, Failed: j.Progress.Failed, Lost: j.Progress.Lost, GivenUp: j.Progress.FailedTasks, Suspects: j.Progress.Suspects, Parked: j.Progress.Parked, Held: j.Progress.Held, Explain: []Quantity{}}
	if j.Deadline > 0 {
		at := time.Duration(j.Deadline).Seconds()
		out.Deadline = &at
	}
	if j.Progress.Err != nil {
		out.Error = j.Progress.Err.Error()
	}
	attrs, _ := p.Explain(j.ID) // none if the job has ended since
	for _, a := range attrs {
		out.Explain = append(out.Explain, Quantity{a.Key, a.Value.String()})
		if a.Key == "why" {
			out.Why = a.Value.String()
		}
	}
	return out
}
