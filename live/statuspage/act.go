package statuspage

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn"
)

// WithActions lets those visitors act whose requests the function allows: cancel a job, try again at once what waits after a
// failure, pause a tenant, resume it, and change its weight and how many tasks it may run at a time. Without it there are no such buttons, and nothing can be posted.
//
// An action is a POST with a token that the page has. What another site makes a browser send is refused with status 403, whoever
// is allowed (TestActionsOfOtherSites).
func WithActions(allowed func(*http.Request) bool) Option {
	return func(s *site) { s.acts.allowed, s.acts.token = allowed, rand.Text() }
}

// WithLog writes each action to a logger, those that fail and those that are refused as warnings.
func WithLog(l *slog.Logger) Option {
	return func(s *site) { s.acts.log = l }
}

type actions struct {
	allowed func(*http.Request) bool
	token   string // of this handler
	log     *slog.Logger
}

// mostForm is the most bytes that the body of an action may have.
const mostForm = 64 << 10

// may reports whether the page shows a visitor the buttons.
func (a *actions) may(r *http.Request) bool { return a.allowed != nil && a.allowed(r) }

// own reports whether a POST comes from a page of this origin, as far as the browser says.
func own(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin" // of a proxy, the host may be another one than the browser's
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err == nil && u.Host == r.Host
	}
	return true
}

// serveAct does what a visitor asks, and leads back to the page.
func (s *site) serveAct(w http.ResponseWriter, r *http.Request) {
	a := &s.acts
	tell := func(level slog.Level, err error, attrs ...any) {
		if a.log != nil {
			if err != nil {
				attrs = append(attrs, "error", err)
			}
			a.log.Log(r.Context(), level, "action on the page of a pool", append(attrs, "remote", r.RemoteAddr)...)
		}
	}
	refuse := func(code int, why string) {
		tell(slog.LevelWarn, fmt.Errorf("%s", why))
		s.serveWrong(w, r, code, why)
	}
	if !own(r) {
		refuse(http.StatusForbidden, "A page of another site asks for this. Nothing was done.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if err := r.ParseForm(); err != nil {
		refuse(http.StatusBadRequest, "The form cannot be read. Nothing was done: "+err.Error())
		return
	}
	form := r.PostForm
	if subtle.ConstantTimeCompare([]byte(form.Get("token")), []byte(a.token)) != 1 {
		refuse(http.StatusForbidden, "The page is older than the program. Nothing was done: reload the page, and ask again.")
		return
	}
	if !a.allowed(r) {
		refuse(http.StatusForbidden, "You are not allowed to do this. Nothing was done.")
		return
	}
	what, back := form.Get("do"), "./"
	id, _ := strconv.ParseUint(form.Get("job"), 10, 64)
	job, tenant := sojourn.JobID(id), form.Get("pool")
	var err error
	switch what {
	case "cancel", "retry":
		err = s.actOnJob(r, what, job)
		back = fmt.Sprint("job/", job)
	case "pause", "resume", "weight", "limit":
		err = s.actOnTenant(what, tenant, form)
	default:
		err = fmt.Errorf("there is no action %q", what)
	}
	attrs := []any{"do", what, "job", id, "tenant", tenant, "weight", form.Get("weight")}
	if what == "limit" {
		for _, key := range slices.Sorted(maps.Keys(form)) {
			if strings.HasPrefix(key, "limit-") {
				attrs = append(attrs, shown(key), shown(form.Get(key)))
			}
		}
	}
	if err != nil {
		tell(slog.LevelWarn, err, attrs...)
		s.serveWrong(w, r, http.StatusConflict, "Nothing was done: "+err.Error())
		return
	}
	tell(slog.LevelInfo, nil, attrs...)
	s.board.snaps.clear()
	s.pages.clear()
	s.searches.clear()
	s.data.clear()
	w.Header().Set("Location", back)
	w.WriteHeader(http.StatusSeeOther)
}

func (s *site) actOnJob(r *http.Request, what string, id sojourn.JobID) error {
	h, ok := s.board.pool.Handle(id)
	switch {
	case !ok:
		return fmt.Errorf("job %d is not live, and is not remembered", id)
	case what == "cancel" && h.Progress().Ended:
		return fmt.Errorf("job %d has ended", id)
	case what == "cancel":
		h.Cancel()
		return nil
	case !h.Progress().Ended:
		if p := s.board.rec.pool; p == nil || !p.Hasten(id) {
			return fmt.Errorf("no task of job %d waits after a failure, or the pool has no recorder", id)
		}
		return nil
	}
	_, err := s.board.pool.Retry(r.Context(), id)
	return err
}

func (s *site) actOnTenant(what, tenant string, form url.Values) error {
	name, known := s.board.rec.named(tenant)
	if _, ok := s.board.pool.Settings(name); !ok || !known {
		return fmt.Errorf("the policy has no tenant %q to %s", shown(tenant), what)
	}
	change, err := tenantChange(what, form)
	if err != nil {
		return err
	}
	return s.board.pool.ChangePool(name, change)
}

// tenantChange returns what a form says to do with a tenant.
func tenantChange(what string, form url.Values) (func(*sojourn.Pool), error) {
	switch what {
	case "pause", "resume":
		return func(n *sojourn.Pool) { n.Paused = what == "pause" }, nil
	case "weight":
		v, err := strconv.ParseFloat(form.Get("weight"), 64)
		if err != nil || !(v > 0) {
			return nil, fmt.Errorf("weight %q: want a number above 0", shown(form.Get("weight")))
		}
		return func(n *sojourn.Pool) { n.Weight = v }, nil
	}
	limits := sojourn.Slots{} // 0: none
	for key := range form {   //sojourn:unordered each class by itself
		class, ok := strings.CutPrefix(key, "limit-")
		if !ok {
			continue
		}
		c, err := strconv.ParseUint(class, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("there is no class %q", shown(class))
		}
		v, most := 0, strings.TrimSpace(form.Get(key))
		if most != "" {
			if v, err = strconv.Atoi(most); err != nil || v < 1 {
				return nil, fmt.Errorf("at most %q tasks: want a number above 0, or nothing for as many as there are slots", shown(most))
			}
		}
		limits[sojourn.Class(c)] = v
	}
	return func(n *sojourn.Pool) {
		if n.Max == nil {
			n.Max = sojourn.Slots{}
		}
		maps.Copy(n.Max, limits)
		maps.DeleteFunc(n.Max, func(_ sojourn.Class, v int) bool { return v == 0 })
	}, nil
}
