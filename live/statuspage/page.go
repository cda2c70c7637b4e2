// Package statuspage shows what a pool of package live does: which job is to be served next, why each one
// waits, what each slot runs, and who is late. Use it in the server that you have for metrics:
//
//	mux.Handle("/sojourn/", http.StripPrefix("/sojourn", statuspage.Handler(pool)))
//
// The page is at /, the same as JSON at /status.json. Both take the parameter jobs, the number of jobs to show at
// most: 100 if it is absent. The page changes nothing, and names jobs as their submitters did: do not show it to
// strangers.
//
// A request locks the pool for as long as it takes to rank all jobs, and then once for each job
// that is shown.
package statuspage

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn"
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
	Ignoring []string `json:"tasks_that_ignore_their_contexts"`
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
	Held     int           `json:"held"`
	Error    string        `json:"error"`
	Why      string        `json:"why"`     // the job waits, as the policy says
	Explain  []Quantity    `json:"explain"` // all that determines its rank
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

var page = template.Must(template.New("page").Funcs(template.FuncMap{"seconds": seconds}).Parse(source))

// seconds writes a number of seconds, or what a pointer has, with one digit after the point.
func seconds(v any) string {
	if p, ok := v.(*float64); ok {
		v = *p
	}
	return fmt.Sprintf("%.1f", v)
}

// Handler returns a handler of the page of a pool.
func Handler(p *live.Pool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if most, ok := wanted(w, r); ok {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_ = page.Execute(w, Take(p, most)) // the other side may be gone
		}
	})
	mux.HandleFunc("GET /status.json", func(w http.ResponseWriter, r *http.Request) {
		if most, ok := wanted(w, r); ok {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(Take(p, most)) // the other side may be gone
		}
	})
	return mux
}

// wanted returns how many jobs a request wants to see.
func wanted(w http.ResponseWriter, r *http.Request) (most int, ok bool) {
	w.Header().Set("Cache-Control", "no-store")
	text := r.FormValue("jobs")
	if text == "" {
		return 100, true
	}
	most, err := strconv.Atoi(text)
	if err != nil || most < 0 {
		http.Error(w, fmt.Sprintf("jobs=%q: want a number of jobs", text), http.StatusBadRequest)
		return 0, false
	}
	return most, true
}

// Take returns what a pool does now, with at most the given number of jobs.
func Take(p *live.Pool, most int) *Page {
	st := p.Status()
	pg := &Page{Now: time.Duration(st.Now).Seconds(), Closed: st.Closed, Live: len(st.Jobs), Jobs: []Job{}, Slots: []Slot{}, Ignoring: []string{}}
	for i := range st.Jobs {
		j := &st.Jobs[i]
		if j.Late(st.Now) {
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
	for _, t := range st.Ignoring {
		pg.Ignoring = append(pg.Ignoring, t.String())
	}
	return pg
}

func job(p *live.Pool, j *live.JobStatus, now sojourn.Time) Job {
	out := Job{ID: j.ID, Name: j.Name, Pool: j.Pool, Age: j.Age.Seconds(), Late: j.Late(now), Void: j.Void, Tasks: j.Progress.Tasks,
		Done: j.Progress.Done, Running: j.Progress.Running, Failed: j.Progress.Failed, Held: j.Progress.Held, Explain: []Quantity{}}
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
