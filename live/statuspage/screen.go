package statuspage

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/live"
)

// The page. The headers of answers have the digest of the style: no part of it depends on the pool.
var (
	//go:embed page.css
	style string
	//go:embed page.js
	script string
	//go:embed page.html
	source string

	page = template.Must(template.New("page").Funcs(template.FuncMap{"acting": acting, "count": count}).Parse(source))
)

// A screen is what the template shows.
type screen struct {
	Base  string // leads to the front page
	Style template.CSS
	Title string
	Wrong string // what was asked wrongly, or cannot be done
	Field string // that is wrong
	Token string // of actions; "" if the visitor may not act

	Now, Zone template.HTML
	Says      saying
	Observer  string
	Ignoring  []string
	Cards     []card
	Charts    [2]chart
	Polled    bool
	Tenants   []tenantLine
	Cut       int
	Sharing   bool
	Tabs      []tab
	Filter    filter
	Order     string
	Lines     []line4
	From, To  int
	Found     string
	Earlier   template.URL
	Later     template.URL
	Query     template.URL // of CSV and JSON
	Empty     string
	Cells     []cell4
	MoreCells int
	Foresees  bool
	NoFore    string
	Firsts    string // of which jobs the forecast is, if not of all
	Policies  []string
	Ask       *whatIf
	Compare   *comparison
	Job       *jobScreen
}

// acting is what the buttons of a tenant need.
func acting(token string, t tenantLine) any {
	return struct {
		Token string
		Line  tenantLine
	}{token, t}
}

// A card is a number at the top.
type card struct{ Number, What, More, Kind string }

// A tenantLine is a row of the tenants' table.
type tenantLine struct {
	tenantModel
	Name, Brief, Pool, Sign string
	Colour                  int
	Query                   template.URL
	Weight, Share, Word     string
	Bar, Tick               float64 // of 100
	P50, P90, Trend, Oldest string
	Several, HasShare       bool
	Limits                  []limit
}

// A limit is how many tasks a tenant may run on slots of a class; Most is "" where nothing limits them.
type limit struct {
	Class sojourn.Class
	Name  string // of the class, "" if there is only one
	Most  string
}

type tab struct {
	Name, State, Count string
	Query              template.URL
	On                 bool
}

// A line4 is a row of the jobs' table.
type line4 struct {
	ID           sojourn.JobID
	Name, Tenant string
	Sign         string
	Colour       int
	Done, Tasks  string
	Part         int // of 100
	Waited       string
	At           template.HTML // when it was submitted or has ended
	Due, Ends    template.HTML
	Late         string
	Why          []words
	Bad          bool
	Otherwise    template.HTML
}

// A cell4 is a slot.
type cell4 struct {
	Title, Sign string
	Job         sojourn.JobID
	Colour      int
	Kind        string // "idle", "leaving", ""
}

// when writes a time of day.
func (s *snap) when(at sojourn.Time) template.HTML {
	t := s.wallAt(at)
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + s.clock(at) + `</time>`)
}

func (s *snap) interval(i *forecast.Interval) template.HTML {
	if i == nil {
		return ""
	}
	switch d := i.High.Sub(i.Low); {
	case d < time.Second:
		return s.when(i.Median)
	case d >= 2*time.Minute && i.High.Sub(s.now) < 20*time.Hour:
		from, to := s.wallAt(i.Low), s.wallAt(i.High)
		return template.HTML(`<time datetime="` + from.Format(time.RFC3339) + `">` + from.Format("15:04") + `</time> – <time datetime="` + to.Format(time.RFC3339) + `">` + to.Format("15:04") + `</time>`)
	}
	return s.when(i.Low) + " – " + s.when(i.High)
}

// An answer is a page that was made.
type answer struct {
	code int
	body []byte
}

func (s *site) send(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body) // the other side may be gone
}

// serve answers with the page of a request, which all who ask for the same within a second share.
func (s *site) serve(w http.ResponseWriter, r *http.Request, make func(ctx context.Context, sc *screen, sn *snap) (code int, err error)) {
	may := s.acts.may(r)
	sn, err := s.board.snap(r.Context())
	if err != nil {
		return // nobody waits for an answer
	}
	pages := &s.pages
	if r.URL.Query().Get("q") != "" {
		pages = &s.searches
	}
	a, err := pages.get(r.Context(), fmt.Sprint(int64(sn.now), may, r.URL.Path, "?", r.URL.RawQuery), func() (a answer, err error) {
		sc := s.frame(sn, may)
		if a.code, err = make(r.Context(), sc, sn); err == nil {
			var b bytes.Buffer
			err = page.Execute(&b, sc)
			a.body = b.Bytes()
		}
		return a, err
	})
	if err != nil {
		refuse(w, r, err)
		return
	}
	s.send(w, a)
}

// frame returns what each page has.
func (s *site) frame(sn *snap, may bool) *screen {
	zone, _ := sn.wall.Zone()
	sc := &screen{Style: template.CSS(style), Now: sn.when(sn.now), Zone: template.HTML(template.HTMLEscapeString(zone)), Says: sn.says, Polled: sn.polled,
		Title: fmt.Sprintf("%d jobs, %d late", sn.all.Live, sn.all.Late+sn.void), Filter: filter{Page: 1, Size: 50}, Foresees: s.watch != nil, Policies: s.names, Sharing: sn.sharing}
	if may {
		sc.Token = s.acts.token
	}
	if err := sn.st.Observer; err != nil {
		sc.Observer = line(err)
	}
	for _, t := range sn.st.Ignoring {
		sc.Ignoring = append(sc.Ignoring, fmt.Sprintf("%v attempt %d on slot %d", t.TaskID, t.Attempt, t.Slot))
	}
	return sc
}

// serveHome answers with the front page.
func (s *site) serveHome(w http.ResponseWriter, r *http.Request) {
	f, q, err := s.parameters(r, filter{Page: 1, Size: 50})
	s.serve(w, r, func(ctx context.Context, sc *screen, sn *snap) (int, error) {
		code := http.StatusOK
		if err != nil {
			code, sc.Wrong = http.StatusBadRequest, err.Error()
			if e, ok := err.(*wrong); ok {
				sc.Field = e.field
			}
		}
		return code, s.home(ctx, sc, sn, f, q)
	})
}

// serveWrong answers with the front page and what cannot be done.
func (s *site) serveWrong(w http.ResponseWriter, r *http.Request, code int, why string) {
	sn, err := s.board.snap(r.Context())
	if err != nil {
		return
	}
	sc := s.frame(sn, s.acts.may(r))
	sc.Wrong = why
	var b bytes.Buffer
	if err = s.home(r.Context(), sc, sn, sc.Filter, nil); err == nil {
		err = page.Execute(&b, sc)
	}
	if err != nil {
		http.Error(w, why, code)
		return
	}
	s.send(w, answer{code, b.Bytes()})
}

// home fills in the front page. Without a state of the visitor's choice, it lists what there is.
func (s *site) home(ctx context.Context, sc *screen, sn *snap, f filter, q *whatIf) error {
	if f.State == "" {
		if f.State = "waiting"; sn.all.idle == 0 && sn.all.Live > 0 {
			f.State = "running"
		}
	}
	sc.Filter = f
	signs := sn.letters()
	sc.Cards = sn.cards()
	if sn.all.Live+sn.all.Ended > 0 || len(sn.hour) > 1 {
		sc.Charts = sn.charts()
	}
	for i := range sn.tenants {
		if sc.Tenants = append(sc.Tenants, sn.tenantLine(&sn.tenants[i], signs)); i == 49 {
			break
		}
	}
	sc.Cut = sn.cut + len(sn.tenants) - len(sc.Tenants)
	var fc, then map[sojourn.JobID]*forecast.Job
	if s.watch != nil && sn.all.Live > 0 {
		x, err := s.forecasts.soon(ctx, change{})
		if err != nil {
			sc.NoFore = line(err)
		}
		fc, sc.Firsts = byJob(x), firsts(x, sn.all.Waiting+sn.all.Busy)
		if q != nil && err == nil {
			if sc.Compare, err = s.compare(ctx, sn, q); err != nil {
				sc.NoFore = line(err)
			} else if g, err := s.forecasts.soon(ctx, change{q.Policy, q.Slots, q.Tasks, q.each()}); err == nil {
				then = byJob(g)
			}
		}
	}
	sc.Ask = q
	if s.watch == nil || sn.all.Live == 0 { // the question leads nowhere
		for i := range sc.Says.Parts {
			if p := &sc.Says.Parts[i]; len(p.To) > 6 && p.To[:6] == "slots=" {
				sc.Says.Parts = slices.Delete(slices.Clone(sc.Says.Parts), i, i+1)
				break
			}
		}
	}
	l, err := s.board.list(ctx, sn, f)
	if err != nil {
		return err
	}
	for i := range l.rows {
		if x := &l.rows[i]; x.gone != nil || x.st.ID != 0 {
			sc.Lines = append(sc.Lines, sn.line(x, signs, fc, then))
		}
	}
	sc.list(sn, f, l)
	sc.slots(sn, signs)
	return nil
}

// list says which part of the jobs is shown, and leads to the others.
func (sc *screen) list(sn *snap, f filter, l *list) {
	counts := map[string]int{"waiting": sn.all.idle, "running": sn.all.active, "late": sn.all.Late + sn.void, "failing": sn.all.Failing, "ended": sn.all.Ended, "all": sn.all.Live}
	for _, state := range states {
		g := f
		g.State, g.Page = state, 1
		name := map[string]string{"waiting": "Waiting", "running": "Running", "late": "Late", "failing": "Failing", "ended": "Ended, 1 h", "all": "All"}[state]
		sc.Tabs = append(sc.Tabs, tab{name, state, count(counts[state]), g.query(), state == f.State})
	}
	sc.Query = f.query()
	sc.Found = count(l.found)
	sc.From, sc.To = (f.Page-1)*f.Size+1, (f.Page-1)*f.Size+len(l.rows)
	if f.Page > 1 {
		g := f
		g.Page = min(f.Page-1, max(1, (l.found+f.Size-1)/max(1, f.Size)))
		sc.Earlier = g.query()
	}
	if sc.To < l.found && len(l.rows) > 0 {
		g := f
		g.Page++
		sc.Later = g.query()
	}
	switch {
	case f.State == "ended":
		sc.Order = "the last to end first"
	case sn.small:
		sc.Order = "the next to be served first"
	default:
		sc.Order = "the oldest first"
	}
	if len(l.rows) == 0 {
		switch {
		case l.found > 0:
			sc.Empty = fmt.Sprintf("This page is empty: there are %s.", verb(l.found, "job", "jobs"))
		case f.Pool != "" || f.Text != "":
			sc.Empty = "No job is like that: change the filter, or look at all."
		case f.State == "ended" && sn.polled:
			sc.Empty = "Jobs that have ended are not known: give the pool a recorder (NewRecorder and WithRecorder)."
		case f.State == "ended":
			sc.Empty = "No job has ended in the last hour."
		case f.State == "late":
			sc.Empty = "No job is late."
		case f.State == "failing":
			sc.Empty = "Nothing has failed."
		case f.State == "waiting" && sn.all.Live > 0:
			sc.Empty = "No job waits: something of each one runs."
		case sn.all.Live > 0:
			sc.Empty = "No job is in this state."
		case errors.Is(sn.st.Err, live.ErrStandby):
			sc.Empty = "This process has no job: the one that leads has them."
		case sn.st.Closed || sn.st.Err != nil && !errors.Is(sn.st.Err, live.ErrStalled):
			sc.Empty = "No job is left."
		default:
			sc.Empty = "There is no job: submit one."
		}
	}
}

// query returns the parameters of a filter.
func (f filter) query() template.URL {
	v := url.Values{"state": {f.State}}
	if f.Pool != "" {
		v.Set("pool", f.Pool)
	}
	if f.Text != "" {
		v.Set("q", f.Text)
	}
	if f.Page > 1 {
		v.Set("page", strconv.Itoa(f.Page))
	}
	if f.Size != 50 {
		v.Set("jobs", strconv.Itoa(f.Size))
	}
	return template.URL(v.Encode())
}

func byJob(f *forecast.Forecast) map[sojourn.JobID]*forecast.Job {
	of := map[sojourn.JobID]*forecast.Job{}
	if f != nil {
		for i := range f.Jobs {
			of[f.Jobs[i].ID] = &f.Jobs[i]
		}
	}
	return of
}

// cards are the numbers at the top.
func (s *snap) cards() []card {
	slots, leaving, late, failing := len(s.st.Slots), 0, s.all.Late+s.void, s.all.Failing
	for _, x := range s.st.Slots {
		if x.Leaving {
			leaving++
		}
	}
	busy := card{fmt.Sprintf("%s of %s", count(s.all.Busy), count(slots)), "slots busy", "", ""}
	if n := len(s.classes); n > 1 && n <= mostClasses {
		busy.More = s.byClass()
	}
	if leaving > 0 {
		if busy.More != "" {
			busy.More += "; "
		}
		busy.More += fmt.Sprintf("%d leaving", leaving)
	}
	wait := card{count(s.all.Waiting), "tasks wait", "", ""}
	if s.all.Waiting == 1 {
		wait.What = "task waits"
	}
	if s.all.oldestJob != 0 {
		wait.More = "the oldest " + span4(s.all.oldest)
	}
	for i := range s.tenants {
		if t := &s.tenants[i]; len(s.tenants) > 1 && 2*t.Waiting > s.all.Waiting && s.all.Waiting > 0 {
			if wait.More != "" {
				wait.More += "; "
			}
			wait.More += fmt.Sprintf("%s of %s", count(t.Waiting), short40(t.name))
		}
	}
	kind := func(n int, what string) string {
		if n > 0 {
			return what
		}
		return ""
	}
	return []card{busy, wait,
		{count(late), "late", "past the deadline", kind(late, "bad")},
		{count(failing), "failing", "a task has failed", kind(failing, "bad")},
		{count(s.all.Ended), "ended", fmt.Sprintf("in the last hour, %s failed", count(s.all.Failed)), ""}}
}

const mostClasses = 4 // of which the card of the slots tells each

// byClass says how many slots of each class are busy.
func (s *snap) byClass() string {
	busy, all := map[sojourn.Class]int{}, map[sojourn.Class]int{}
	for _, x := range s.st.Slots {
		all[x.Slot.Class]++
		if x.Busy {
			busy[x.Slot.Class]++
		}
	}
	var parts []string
	for _, c := range s.classes {
		parts = append(parts, fmt.Sprintf("class %d: %s of %s", c, count(busy[c]), count(all[c])))
	}
	return strings.Join(parts, "; ")
}

// tenantLine returns the row of a tenant. Bars are in parts of all slots.
func (s *snap) tenantLine(t *row, signs map[int]string) tenantLine {
	slots := float64(max(1, len(s.st.Slots), s.all.Busy))
	out := tenantLine{tenantModel: t.tenantModel, Name: shown(t.name), Brief: short40(t.name), Pool: t.key, Sign: signs[t.number], Colour: colour(t.number), Bar: 100 * float64(t.Busy) / slots, Several: t.number < 0,
		Query: filter{State: "all", Pool: t.key, Page: 1, Size: 50}.query()}
	if t.Weight > 0 {
		out.Weight = number(t.Weight)
		for _, c := range s.classes {
			l := limit{Class: c}
			if len(s.classes) > 1 {
				l.Name = fmt.Sprintf(" of class %d", c)
			}
			if n := t.most[c]; n > 0 {
				l.Most = fmt.Sprint(n)
			}
			out.Limits = append(out.Limits, l)
		}
	}
	if t.entitled >= 0 {
		out.HasShare, out.Share, out.Tick = true, number(t.entitled), 100*t.entitled/slots
		switch d := float64(t.Busy) - t.entitled; {
		case d >= 0.5:
			out.Word = "▲ " + number(d) + " above its share"
		case d <= -0.5:
			out.Word = "▼ " + number(-d) + " below its share"
		default:
			out.Word = "its share"
		}
	}
	text := func(w *window, percent uint64) string {
		if d, ok := w.quantile(percent); ok {
			return span4(d)
		}
		return "–"
	}
	out.P50, out.P90 = text(&t.hour, 50), text(&t.hour, 90)
	if now, ok := t.now.quantile(90); ok {
		if was, ok := t.before.quantile(90); ok {
			switch {
			case now > was*3/2 && now > time.Second:
				out.Trend = "↗ worse"
			case was > now*3/2 && was > time.Second:
				out.Trend = "↘ better"
			default:
				out.Trend = "→ same"
			}
		}
	}
	if t.oldestJob != 0 {
		out.Oldest = span4(t.oldest)
	}
	return out
}

// line returns the row of a job.
func (s *snap) line(x *listed, signs map[int]string, fc, then map[sojourn.JobID]*forecast.Job) line4 {
	if g := x.gone; g != nil {
		out := line4{ID: g.id, Name: shown(g.name), Tenant: shown(g.who.name), Sign: cmp.Or(signs[g.who.number], "·"), Colour: colour(g.who.number), Done: count(g.done), Tasks: count(g.all), Part: 100 * g.done / max(1, g.all),
			Waited: span4(g.end.Sub(g.at)), At: s.when(g.end), Bad: g.failed}
		out.Why = []words{{Text: cmp.Or(shown(g.err), "ended without an error")}}
		if g.late {
			out.Late = "late"
		}
		return out
	}
	j := &x.st
	out := line4{ID: j.ID, Name: shown(j.Name), Tenant: shown(cmpName(j.Pool)), Sign: cmp.Or(signs[x.tenant.number], "·"), Colour: colour(x.tenant.number), Done: count(j.Progress.Done), Tasks: count(j.Progress.Tasks),
		Part: 100 * j.Progress.Done / max(1, j.Progress.Tasks), Waited: span4(max(0, s.now.Sub(x.times[since]))), At: s.when(x.at), Bad: x.is("failing")}
	switch {
	case x.running > 0:
		out.Waited = "runs"
	case x.waiting == 0:
		out.Waited = "–"
	}
	if j.Deadline > 0 {
		out.Due = s.when(j.Deadline)
		if j.Deadline < s.now {
			out.Late = "late " + span4(s.now.Sub(j.Deadline))
		}
	}
	if j.Void != "" && out.Late == "" {
		out.Late = "late: " + shown(j.Void)
	}
	if f := fc[j.ID]; f != nil && f.Finish != nil {
		out.Ends = s.interval(f.Finish)
		if out.Late == "" && j.Deadline > 0 && f.Finish.Median > j.Deadline {
			out.Late = "will be late"
		}
	}
	if f := then[j.ID]; f != nil {
		out.Otherwise = s.interval(f.Finish)
	}
	out.Why = s.why(x)
	return out
}

// why says in a line why a job is where it is.
func (s *snap) why(x *listed) []words {
	p := &x.st.Progress
	t, kind := s.row(x.tenant.number), ""
	say := func(format string, args ...any) []words { return []words{{Text: fmt.Sprintf(format, args...)}} }
	last := shown(x.last)
	switch {
	case p.Err != nil:
		return say("has failed, and waits for the end of what runs: %s", shown(line(p.Err)))
	case p.Parked:
		return say("parked: there is no handler of its name")
	case p.Suspects > 0:
		return say("%s to run alone", verb(p.Suspects, "task waits", "tasks wait"))
	case x.next > s.now:
		return say("retries at %s · %s", s.clock(x.next), cmp.Or(last, "a task has failed"))
	case x.spec.Release > s.now:
		return say("starts at %s at the earliest", s.clock(x.spec.Release))
	case x.turn != 0:
		return []words{{Text: "waits for the end of "}, {Text: fmt.Sprint("job ", x.turn), Job: x.turn}, {Text: ", which comes before it in its sequence"}}
	case x.bad != nil && last != "":
		return say("%s", last)
	case p.Running > 0 && p.Tasks > p.Done+p.Running:
		return say("runs %s; %s", verb(p.Running, "task", "tasks"), verb(p.Tasks-p.Done-p.Running-p.FailedTasks, "task waits", "tasks wait"))
	case p.Running > 0:
		return say("runs %s", verb(p.Running, "task, its last", "tasks, its last"))
	case p.Tasks == p.Done+p.FailedTasks:
		return say("open: it has no task to run now")
	case t != nil && t.Paused:
		return say("its tenant is paused")
	case t == nil:
		return say("waits for a slot")
	}
	if c, ok := oneClass(needs(x.spec)); ok && s.parts[c] != nil {
		s, kind = s.parts[c], fmt.Sprintf(" of class %d", c)
		t = s.row(t.number)
	}
	rich := s.culprit(t)
	begin := fmt.Sprintf("its tenant has %s", verb(t.Busy, "slot"+kind, "slots"+kind))
	if t.entitled >= 0 {
		begin = fmt.Sprintf("its tenant has %d of the %s slots%s of its share", t.Busy, number(t.entitled), kind)
	}
	if rich == nil {
		return []words{{Text: begin}}
	}
	id, n := s.most(rich)
	if id == x.spec.ID || n == 0 {
		return []words{{Text: begin}}
	}
	return []words{{Text: begin + "; "}, {Text: fmt.Sprint("job ", id), Job: id}, {Text: fmt.Sprintf(" of %s has %d", short40(rich.name), n)}}
}

const mostCells = 256

// slots draws the slots.
func (sc *screen) slots(s *snap, signs map[int]string) {
	owner := s.owners()
	for i, x := range s.st.Slots {
		if i == mostCells {
			sc.MoreCells = len(s.st.Slots) - i
			break
		}
		c := cell4{Sign: "–", Kind: "idle", Title: fmt.Sprintf("slot %d", x.Slot.ID)}
		if x.Slot.Node != 0 || len(s.classes) > 1 {
			c.Title += fmt.Sprintf(" of class %d on node %d", x.Slot.Class, x.Slot.Node)
		}
		if x.Busy {
			number, ok := owner[x.Task.Job]
			c.Job, c.Kind, c.Sign = x.Task.Job, "", "·"
			if ok {
				c.Colour, c.Sign = colour(number), cmp.Or(signs[number], "·")
			}
			c.Title += fmt.Sprintf(": task %v, attempt %d", x.Task, x.Attempt)
			if x.Stopped != nil {
				c.Title += ", asked to stop: " + line(x.Stopped)
			}
		} else {
			c.Title += ": idle"
		}
		if x.Leaving {
			c.Kind += " leaving"
			c.Title += ", leaving"
		}
		sc.Cells = append(sc.Cells, c)
	}
}
