// Package statuspage is the dashboard of a pool of package live: who waits because of whom, since when, and what would help. Use it
// in the server that you have for metrics:
//
//	rec := statuspage.NewRecorder()
//	pool, err := live.New(policy, live.Options{Slots: 8, Observer: rec})
//	...
//	mux.Handle("/sojourn/", http.StripPrefix("/sojourn", statuspage.Handler(pool, statuspage.WithRecorder(rec))))
//
// Tier: kit.
//
// The page is at /, that of a job at /job/ and its ID, the same as JSON at /status.json, and a list of jobs at /jobs.csv. Parameters
// filter jobs: state (waiting, running, late, failing, ended, all), pool, q (a part of a name, a tenant or an error, or an ID), page, and
// jobs, the number of jobs on a page: at most 500, or the status is 400. The page names jobs as their submitters did: do not show it
// to strangers. It changes nothing, unless [WithActions] says who may. In JSON, times are in seconds of the clock of the pool, what is not
// known is null, and pageModel in page.go says what each key means.
//
// The page renews itself: /events tells each second that there is something new, to 100 visitors at most, who share one snapshot a second
// (TestOneSnapshotASecond). It ends after 30 s, and browsers ask anew (TestStreamsEnd). The page is whole without scripts.
//
// Without a [Recorder] the page knows no last hour, no attempts and no jobs that have ended, and each snapshot looks at all live
// jobs. With one, a request looks at 1,024 jobs at most while others wait, however many there are (TestMillionJobs); it looks at all only
// to search and to count, and not if its visitor has gone. Up to 1,000 live jobs are listed in the order in which
// the policy serves them, and JSON explains the first 50 of an answer; above, the oldest is first. Who asks for what nobody else has asked for in
// the same second waits for its turn; where 16 searches wait, one more is refused with status 503 (TestManySearches).
//
// A request has at most 1,024 bytes of parameters, and no body is read but that of an action (TestBodiesAreNotRead). Each answer, an error
// too, tells browsers to run no script but the page's, to load nothing, and to show it in no frame (TestHeaders). What the page of another
// origin makes a browser ask for is refused, unless its user goes to the page (TestOtherSites). Browsers say who asks over
// HTTPS and to localhost only.
//
// /readyz answers 503, with the reason, if the pool is broken or stalled ([live.Pool.Err]), and 200 otherwise, also if it is a standby that can take
// over: so a deployment that replaces one process after the other goes on. /leadz answers 200 only in the process that leads and works, and otherwise
// 503 with what /readyz says: it is for who sends requests to one of several processes. Both ask for no parameter and look at no job (TestStandbyPage).
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
// If more than 2,000 jobs are live, or more than 20,000 tasks are there, ends are those of the first 2,000 jobs, in the order in which they will be served, and
// the page says so: "Of many jobs" in package forecast says what that means (TestForecastOfTheFirst).
//
// Visitors can then ask what if there were more slots, fewer, one more job, or another policy that [WithPolicy] has added. The
// parameters are slots, tasks with each (one more job of so many tasks, each of which takes so long), and policy:
// /status.json?slots=2&tasks=10&each=90s&policy=fair. Nothing changes but the forecast.
//
// Forecasts are made one at a time, and each one is kept for a second: however many visitors ask for whatever, they use one
// processor at most (TestOneForecastAtATime). If more than eight changes are asked about at once, the page says so in place
// of the forecast. A page that renews itself goes on with an older one: it uses a twentieth of a processor.
package statuspage

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/live"
)

// A pageModel is what is shown, as JSON. Times are in seconds, ages and deadlines since the same instant as Now.
type pageModel struct {
	Now      float64     `json:"now_seconds"`
	Closed   bool        `json:"closed"`
	Live     int         `json:"live_jobs"`
	Late     int         `json:"late_jobs"`
	Jobs     []jobModel  `json:"jobs"` // the first to be served at the front
	Slots    []slotModel `json:"slots"`
	Ignoring []string    `json:"tasks_that_ignore_their_contexts"` // each with its attempt and slot

	Broken   string `json:"broken,omitempty"`   // why the pool is broken; see [live.Pool.Err]
	Standby  string `json:"standby,omitempty"`  // who has the jobs: see [live.ErrStandby]
	Alone    string `json:"alone,omitempty"`    // the task that runs alone, since it ran when the process before ended; see [live.Status].Alone
	Observer string `json:"observer,omitempty"` // the panic of the observer, which is told nothing more

	// Forecast says that jobs have a Start and a Finish, and NoForecast why they have none though they should.
	Forecast   bool   `json:"forecast,omitempty"`
	NoForecast string `json:"no_forecast,omitempty"`

	// Foreseen is how many of the live jobs have a Finish if not all have one: those that are served first. Where a job behind them
	// overtakes, they end later than that.
	Foreseen int `json:"foreseen_jobs,omitempty"`

	// Says is the sentence of the page: who waits because of whom, since when, and what would help.
	Says    string        `json:"says"`
	Busy    int           `json:"busy_slots"`
	Waiting int           `json:"waiting_tasks"`
	Oldest  float64       `json:"oldest_wait_seconds"` // since the oldest job of which nothing runs was submitted or last ran
	Failing int           `json:"failing_jobs"`        // a task has failed, and not succeeded since
	Tenants []tenantModel `json:"tenants"`             // at most 200, the one with the most tasks first
	Found   int           `json:"found_jobs"`          // that the filter lets through, of which Jobs has a page

	WhatIf   *whatIf  `json:"what_if,omitempty"`  // the change that the request asks about
	Policies []string `json:"policies,omitempty"` // that can be asked about
}

// A jobModel is a job that is listed.
type jobModel struct {
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
	Explain  []quantity    `json:"explain"` // all that determines its rank

	// Start and Finish are when the job will start and finish if no other job comes: see package forecast. They are null
	// without a forecast, and Start also after the start.
	Start  *quantiles `json:"start,omitempty"`
	Finish *quantiles `json:"finish,omitempty"`

	// Otherwise is when the job would finish after the change that the request asks about.
	Otherwise *quantiles `json:"what_if_finish,omitempty"`

	Retry *float64 `json:"retry_seconds,omitempty"` // when the first task that waits after a failure is tried again
	Ended *float64 `json:"ended_seconds,omitempty"` // null while the job is live
}

// A tenantModel is the jobs of one [live.Job].Pool. Waits are those from Submit to the first task, of jobs that started in the last hour.
type tenantModel struct {
	Name     string   `json:"name"`
	Live     int      `json:"live_jobs"`
	Late     int      `json:"late_jobs"`
	Failing  int      `json:"failing_jobs"`
	Waiting  int      `json:"waiting_tasks"`
	Busy     int      `json:"busy_slots"`
	Entitled *float64 `json:"entitled_slots"` // null if the policy does not divide slots among tenants
	Weight   float64  `json:"weight,omitempty"`
	Paused   bool     `json:"paused"`
	Oldest   float64  `json:"oldest_wait_seconds"`
	P50      *float64 `json:"wait_p50_seconds"` // null if none has started
	P90      *float64 `json:"wait_p90_seconds"`
	Ended    int      `json:"ended_jobs_last_hour"`
	Failed   int      `json:"failed_jobs_last_hour"` // of Ended
}

// Quantiles are the 5 %, 50 % and 95 % quantiles of an instant.
type quantiles struct {
	Low    float64 `json:"p5_seconds"`
	Median float64 `json:"p50_seconds"`
	High   float64 `json:"p95_seconds"`
}

// A quantity is one of those that determine the rank of a job.
type quantity struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// A slotModel is a slot of the pool.
type slotModel struct {
	ID      sojourn.SlotID `json:"id"`
	Class   sojourn.Class  `json:"class"`
	Node    sojourn.NodeID `json:"node"`
	Leaving bool           `json:"leaving"`
	Task    string         `json:"task"` // "" if the slot is idle
	Job     sojourn.JobID  `json:"job"`  // 0 if the slot is idle
	Attempt uint32         `json:"attempt"`
	Stopped string         `json:"stopped"` // why the attempt was asked to stop
}

// An Option changes what a handler shows or may do.
type Option func(*site)

// WithForecast shows when jobs will start and finish. w is the policy of the pool, and another returns a new policy like
// the one in w.
func WithForecast(w *forecast.Watch, another func() (sojourn.Policy, error)) Option {
	return func(s *site) { s.watch, s.another = w, another }
}

// WithPolicy lets visitors ask when jobs would finish if another policy were in charge from now on. make returns a new one.
// It needs WithForecast.
func WithPolicy(name string, make func() (sojourn.Policy, error)) Option {
	return func(s *site) {
		if s.policies[name] == nil {
			s.names = append(s.names, name)
		}
		s.policies[name] = make
	}
}

// WithRecorder shows what a recorder has kept: the last hour, jobs that have ended, attempts. It is the Options.Observer of the pool.
func WithRecorder(r *Recorder) Option {
	return func(s *site) {
		if r != nil {
			s.board.rec = r
		}
	}
}

// A site is what a handler has.
type site struct {
	questions
	board     *board
	forecasts *forecasts
	stream    *stream
	pages     memo[string, answer]
	searches  memo[string, answer]     // pages for which all jobs are looked at
	data      memo[string, *pageModel] // for JSON and CSV
	acts      actions
}

// Bounds of how many different things are asked for in a second, or wait for their turn; others are refused with status 503.
const (
	mostPages    = 2 * mostVisitors
	mostSearches = 16
)

// Handler returns a handler of the page of a pool.
func Handler(p *live.Pool, options ...Option) http.Handler {
	s := &site{questions: questions{policies: map[string]func() (sojourn.Policy, error){}}, board: newBoard(p, nil)}
	for _, o := range options {
		o(s)
	}
	s.pages.most, s.searches.most, s.data.most = mostPages, mostSearches, mostSearches
	s.forecasts = newForecasts(&s.questions)
	s.stream = newStream(s.board)
	mux := http.NewServeMux()
	for _, path := range []string{"/readyz", "/leadz"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			text := "ok"
			if err := p.Err(); err != nil {
				if path == "/leadz" || !canLead(err) {
					http.Error(w, err.Error(), http.StatusServiceUnavailable)
					return
				}
				text = err.Error()
			}
			_, _ = io.WriteString(w, text+"\n") // the other side may be gone
		})
	}
	mux.HandleFunc("GET /status.json", s.serveJSON)
	mux.HandleFunc("GET /jobs.csv", s.serveCSV)
	mux.HandleFunc("GET /page.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = io.WriteString(w, script)
	})
	mux.Handle("GET /events", s.stream)
	mux.HandleFunc("GET /{$}", s.serveHome)
	mux.HandleFunc("GET /job/{id}", s.serveJob)
	if s.acts.allowed != nil {
		mux.HandleFunc("POST /act", s.serveAct)
	}
	return guarded(mux)
}

// canLead reports whether an error of a pool says that it is a standby that has tried to take over in vain neither now nor lately.
func canLead(err error) bool {
	var s interface{ CanLead() bool }
	return errors.Is(err, live.ErrStandby) && (!errors.As(err, &s) || s.CanLead())
}

// asked returns the page that a request for data asks for, and the change. It answers if that is wrong, and returns nil.
func (s *site) asked(w http.ResponseWriter, r *http.Request, size, explained int) (*pageModel, *whatIf) {
	f, q, err := s.parameters(r, filter{State: "all", Page: 1, Size: size})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, nil
	}
	sn, err := s.board.snap(r.Context())
	if err != nil {
		return nil, nil // nobody waits for an answer
	}
	pg, err := s.data.get(r.Context(), fmt.Sprintf("%d %d %q", sn.now, explained, []any{f}), func() (*pageModel, error) {
		return s.board.page(r.Context(), sn, f, explained)
	})
	if err != nil {
		refuse(w, r, err)
		return nil, nil
	}
	own := *pg
	own.Jobs = slices.Clone(pg.Jobs)
	return &own, q
}

// refuse says why there is no answer, unless nobody waits for one.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusInternalServerError
	switch {
	case r.Context().Err() != nil:
		return
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "2")
		code = http.StatusServiceUnavailable
	}
	http.Error(w, err.Error(), code)
}

// serveJSON answers with a pageModel.
func (s *site) serveJSON(w http.ResponseWriter, r *http.Request) {
	pg, q := s.asked(w, r, 100, mostExplains)
	if pg == nil {
		return
	}
	pg.foresee(r.Context(), s.forecasts, q)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(pg) // the other side may be gone
}

// serveCSV answers with a row for each job that the filter lets through, at most 500 in one answer.
func (s *site) serveCSV(w http.ResponseWriter, r *http.Request) {
	pg, _ := s.asked(w, r, mostJobs, 0)
	if pg == nil {
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="jobs.csv"`)
	c := csv.NewWriter(w)
	_ = c.Write([]string{"id", "name", "tenant", "age_seconds", "tasks", "done", "running", "failed", "late", "error"})
	for i := range pg.Jobs {
		j := &pg.Jobs[i]
		_ = c.Write([]string{fmt.Sprint(j.ID), cell(j.Name), cell(j.Pool), seconds(j.Age), fmt.Sprint(j.Tasks), fmt.Sprint(j.Done), fmt.Sprint(j.Running), fmt.Sprint(j.Failed), fmt.Sprint(j.Late), cell(j.Error)})
	}
	c.Flush()
}

// cell writes a text so that no program for tables takes it for a formula.
func cell(text string) string {
	text = clipped(text, len(text))
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// seconds writes a number of seconds with one digit after the point.
func seconds(v float64) string { return fmt.Sprintf("%.1f", v) }

// A forecast of a page has so many draws, and looks at so many tasks.
const (
	draws    = 20
	maxTasks = 20_000 // see forecast.Question
)

func interval(i *forecast.Interval) *quantiles {
	if i == nil {
		return nil
	}
	return &quantiles{inSeconds(i.Low), inSeconds(i.Median), inSeconds(i.High)}
}

func inSeconds(t sojourn.Time) float64 { return time.Duration(t).Seconds() }

// mostJobs is the most jobs that one answer lists, and mostExplains the most that it explains: for each the policy may look at all.
const (
	mostJobs     = 500
	mostExplains = 50
)

// A wrong parameter is one that the page does not understand.
type wrong struct{ field, text string }

func (e *wrong) Error() string { return e.text }

func wrongf(field, format string, args ...any) error {
	return &wrong{field, fmt.Sprintf(format, args...)}
}

// parameters returns which jobs a request asks for, those of f if it does not say, and which change it asks about.
func (s *site) parameters(r *http.Request, f filter) (filter, *whatIf, error) {
	ask, err := asks(r)
	if err != nil {
		return f, nil, err
	}
	g := f
	g.Text, g.Pool = ask.Get("q"), ask.Get("pool")
	if err := ask.whole("jobs", &g.Size, 0, mostJobs); err != nil {
		return f, nil, err
	}
	if err := ask.whole("page", &g.Page, 1, 1<<30); err != nil {
		return f, nil, err
	}
	if text := ask.Get("state"); text != "" {
		if !slices.Contains(states, text) {
			return g, nil, wrongf("state", "state=%q: want one of %s", text, strings.Join(states, ", "))
		}
		g.State = text
	}
	q, err := s.change(ask)
	return g, q, err
}

// whole reads a parameter that is a whole number, if it is there.
func (q query) whole(name string, to *int, least, most int) error {
	text := q.Get(name)
	if text == "" {
		return nil
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < least || v > most {
		return wrongf(name, "%s=%q: want a number from %d to %d", name, text, least, most)
	}
	*to = v
	return nil
}

// late reports whether a job is late: its deadline has passed, or the policy has said that its promise does not hold.
func late(j *live.JobStatus, now sojourn.Time) bool {
	return j.Void != "" || j.Deadline > 0 && j.Deadline < now
}

// page returns what a pool does, with a list of jobs, the first of which are explained.
func (b *board) page(ctx context.Context, s *snap, f filter, explained int) (*pageModel, error) {
	l, err := b.list(ctx, s, f)
	if err != nil {
		return nil, err
	}
	st := &s.st
	pg := &pageModel{Now: inSeconds(s.now), Closed: st.Closed, Live: s.all.Live, Late: s.all.Late + s.void, Jobs: []jobModel{}, Slots: []slotModel{}, Ignoring: []string{},
		Says: s.says.String(), Busy: s.all.Busy, Waiting: s.all.Waiting, Oldest: s.all.Oldest, Failing: s.all.Failing, Tenants: []tenantModel{}, Found: l.found}
	for i := range l.rows {
		if x := &l.rows[i]; x.gone != nil || x.st.ID != 0 {
			pg.Jobs = append(pg.Jobs, b.job(s, x, len(pg.Jobs) < explained))
		}
	}
	for i := range s.tenants {
		pg.Tenants = append(pg.Tenants, s.tenants[i].tenantModel)
	}
	for _, x := range st.Slots {
		out := slotModel{ID: x.Slot.ID, Class: x.Slot.Class, Node: x.Slot.Node, Leaving: x.Leaving}
		if x.Busy {
			out.Task, out.Job, out.Attempt = x.Task.String(), x.Task.Job, x.Attempt
		}
		if x.Stopped != nil {
			out.Stopped = x.Stopped.Error()
		}
		pg.Slots = append(pg.Slots, out)
	}
	if t := st.Alone; t != nil {
		pg.Alone = t.TaskID.String()
	}
	for _, t := range st.Ignoring {
		pg.Ignoring = append(pg.Ignoring, fmt.Sprintf("%v attempt %d on slot %d", t.TaskID, t.Attempt, t.Slot))
	}
	if errors.Is(st.Err, live.ErrStandby) {
		pg.Standby = st.Err.Error()
	} else if st.Err != nil {
		pg.Broken = st.Err.Error()
	}
	if st.Observer != nil {
		pg.Observer, _, _ = strings.Cut(st.Observer.Error(), "\n") // without the stack
	}
	return pg, nil
}

// job returns a listed job. It is explained if that is wanted and there are few live ones.
func (b *board) job(s *snap, x *listed, explained bool) jobModel {
	if g := x.gone; g != nil {
		end := inSeconds(g.end)
		return jobModel{ID: g.id, Name: g.name, Pool: g.who.name, Age: g.end.Sub(g.at).Seconds(), Late: g.late, Tasks: g.all, Done: g.done, Error: g.err, Ended: &end, Explain: []quantity{}}
	}
	j := &x.st
	out := jobModel{ID: j.ID, Name: j.Name, Pool: j.Pool, Age: j.Age.Seconds(), Late: late(j, s.now), Void: j.Void, Tasks: j.Progress.Tasks,
		Done: j.Progress.Done, Running: j.Progress.Running, Failed: j.Progress.Failed, Lost: j.Progress.Lost, GivenUp: j.Progress.FailedTasks, Suspects: j.Progress.Suspects, Parked: j.Progress.Parked, Held: j.Progress.Held, Explain: []quantity{}}
	if j.Deadline > 0 {
		at := inSeconds(j.Deadline)
		out.Deadline = &at
	}
	if x.next > 0 {
		at := inSeconds(x.next)
		out.Retry = &at
	}
	out.Error = x.last
	if j.Progress.Err != nil {
		out.Error = j.Progress.Err.Error()
	}
	if explained && s.small {
		out.Explain, out.Why = b.explain(j.ID)
	}
	return out
}

// explain returns the quantities that determine the rank of a job, and the one that says why it waits.
func (b *board) explain(id sojourn.JobID) (all []quantity, why string) {
	all = []quantity{}
	attrs, _ := b.pool.Explain(id) // none if the job has ended since
	for _, a := range attrs {
		all = append(all, quantity{a.Key, a.Value.String()})
		if a.Key == "why" {
			why = a.Value.String()
		}
	}
	return all, why
}
