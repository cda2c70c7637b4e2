package statuspage

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A jobScreen is the page of a job.
type jobScreen struct {
	ID           sojourn.JobID
	Name, Tenant string
	Live         bool
	Retries      bool // tasks wait after a failure
	Line         line4
	Facts        [][2]template.HTML
	Timeline     template.HTML
	Attempts     []attemptLine
	More         int
	Took         []tookLine
	Explain      []quantity
	Unexplained  bool // there are too many jobs to ask the policy
	Helps        []string
	Error        string
}

type attemptLine struct {
	Task, Slot string
	Attempt    uint32
	Start, End template.HTML
	Took, Text string
	Bad        bool
}

type tookLine struct {
	Job  sojourn.JobID
	Name string
	Part string
}

const mostAttempts = 200

// serveJob answers with the page of a job.
func (s *site) serveJob(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.ParseUint(r.PathValue("id"), 10, 64)
	id := sojourn.JobID(n)
	s.serve(w, r, func(ctx context.Context, sc *screen, sn *snap) (int, error) {
		sc.Base = "../"
		x, ok := s.board.find(sn, id)
		if !ok || x.gone == nil && x.st.ID == 0 {
			sc.Wrong = fmt.Sprintf("Job %s is not live, and not among those that are known to have ended in the last hour. Look for it by its name or its error.", shown(r.PathValue("id")))
			err := s.home(ctx, sc, sn, sc.Filter, nil)
			return http.StatusNotFound, err
		}
		s.job(ctx, sc, sn, &x, id)
		return http.StatusOK, nil
	})
}

// job fills in the page of a job.
func (s *site) job(ctx context.Context, sc *screen, sn *snap, x *listed, id sojourn.JobID) {
	signs := sn.letters()
	l := sn.line(x, signs, nil, nil)
	j := &jobScreen{ID: id, Name: l.Name, Tenant: l.Tenant, Live: x.gone == nil, Line: l, Error: shown(x.last), Retries: x.next > sn.now}
	sc.Job, sc.Title = j, fmt.Sprintf("job %d %s", id, short40(l.Name))
	fact := func(name string, value template.HTML) {
		j.Facts = append(j.Facts, [2]template.HTML{template.HTML(name), value})
	}
	end := sn.now
	fact("submitted", sn.when(x.at))
	if x.gone != nil {
		end = x.gone.end
		fact("ended", sn.when(end))
		fact("took", template.HTML(span4(end.Sub(x.at))))
	} else {
		fact("age", template.HTML(span4(sn.now.Sub(x.at))))
		if x.next > sn.now {
			fact("retries at", sn.when(x.next))
		}
	}
	fact("tasks done", template.HTML(l.Done+" of "+l.Tasks))
	if l.Due != "" {
		fact("due", l.Due)
	}
	own, took := s.board.rec.spansOf(id, x.at, end)
	j.Timeline = sn.timeline(own, x.at, end)
	if n := len(own) - mostAttempts; n > 0 {
		j.More, own = n, own[n:]
	}
	for _, a := range own {
		line := attemptLine{Task: fmt.Sprintf("%d/%d", a.task.Phase, a.task.Index), Slot: fmt.Sprint(a.slot), Attempt: a.attempt, Text: "runs"}
		if a.start >= 0 {
			line.Start, line.Took = sn.when(a.start), span4(cmp.Or(a.end, sn.now).Sub(a.start))
		}
		if a.end != 0 {
			line.End, line.Text, line.Bad = sn.when(a.end), cmp.Or(shown(a.err), "succeeded"), a.err != ""
		}
		j.Attempts = append(j.Attempts, line)
	}
	j.Took = s.board.tookLines(took)
	if x.gone != nil {
		return
	}
	if j.Unexplained = sn.all.Live > mostExplained; !j.Unexplained {
		j.Explain, _ = s.board.explain(id)
		for i := range j.Explain {
			j.Explain[i].Value = shown(j.Explain[i].Value)
		}
	}
	if s.watch == nil {
		return
	}
	f, err := s.forecasts.soon(ctx, change{})
	if err != nil {
		sc.NoFore = line(err)
		return
	}
	if me := byJob(f)[id]; me != nil {
		if me.Start != nil && len(own) == 0 {
			fact("will start", sn.interval(me.Start))
		}
		if me.Finish != nil {
			fact("will end", sn.interval(me.Finish))
		}
	}
	for _, c := range append([]change{{slots: 1}, {slots: max(2, len(sn.st.Slots)/8)}}, policies(s.names)...) {
		q := whatIf{Policy: c.policy, Slots: c.slots}
		g, err := s.forecasts.soon(ctx, c)
		was, is := byJob(f)[id], byJob(g)[id]
		if err != nil || was == nil || is == nil || was.Finish == nil || is.Finish == nil {
			continue
		}
		d := is.Finish.Median.Sub(was.Finish.Median)
		text := fmt.Sprintf("It would end as soon %s.", q.String())
		switch {
		case d < -time.Second:
			text = fmt.Sprintf("It would end at %s, %s sooner, %s.", sn.clock(is.Finish.Median), span4(-d), q.String())
		case d > time.Second:
			text = fmt.Sprintf("It would end at %s, %s later, %s.", sn.clock(is.Finish.Median), span4(d), q.String())
		}
		j.Helps = append(j.Helps, text)
	}
}

func policies(names []string) (all []change) {
	for _, name := range names {
		all = append(all, change{policy: name})
	}
	return all
}

// mostExplained is the most live jobs with which the policy is asked to explain one: it may look at all.
const mostExplained = 2 * ranked

// tookLines says who had the slots while a job waited for its first task: the six jobs that had the most.
func (b *board) tookLines(took map[sojourn.JobID]time.Duration) (lines []tookLine) {
	ids, total := []sojourn.JobID{}, 0.0
	for id, d := range took { //sojourn:unordered sorted below
		ids = append(ids, id)
		total += d.Seconds()
	}
	slices.SortFunc(ids, func(x, y sojourn.JobID) int { return cmp.Or(cmp.Compare(took[y], took[x]), cmp.Compare(x, y)) })
	names := map[sojourn.JobID]string{}
	for _, g := range b.rec.goneJobs() {
		names[g.id] = g.name
	}
	b.rec.mu.Lock()
	defer b.rec.mu.Unlock()
	for _, id := range ids[:min(6, len(ids))] {
		if part := 100 * took[id].Seconds() / total; part >= 0.5 {
			name := names[id]
			if j := b.rec.jobs.get(id); j != nil {
				name = short(j.spec.Name) + ", " + j.tenant.name
			}
			lines = append(lines, tookLine{id, shown(name), fmt.Sprintf("%.0f %%", part)})
		}
	}
	return lines
}

// timeline draws the attempts of a job between two times, each with a bar in a row of its slot.
func (s *snap) timeline(own []span, from, to sojourn.Time) template.HTML {
	if len(own) == 0 || to <= from {
		return ""
	}
	const most, left, right = 24, 62, 590
	rows := map[sojourn.SlotID]int{}
	for _, a := range own {
		if _, ok := rows[a.slot]; !ok && len(rows) < most {
			rows[a.slot] = len(rows)
		}
	}
	x := func(at sojourn.Time) float64 {
		return left + (right-left)*float64(max(from, min(at, to)).Sub(from))/float64(to.Sub(from))
	}
	var b strings.Builder
	height := 22*len(rows) + 24
	fmt.Fprintf(&b, `<svg viewBox="0 0 600 %d" role="img" aria-label="The attempts, by slot: the table below has the same">`, height)
	for slot, r := range rows { //sojourn:unordered each in a place of its own
		fmt.Fprintf(&b, `<text x="0" y="%d">slot %d</text><path class="grid" d="M%d %dH%d"/>`, 22*r+15, slot, left, 22*r+21, right)
	}
	for _, a := range own {
		r, ok := rows[a.slot]
		if !ok || a.start < 0 {
			continue
		}
		class, text := "good", "succeeded"
		switch {
		case a.end == 0:
			class, text = "runs", "runs"
		case a.err != "":
			class, text = "fails", shown(a.err)
		}
		start, end := x(a.start), x(cmp.Or(a.end, s.now))
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="16"><title>%s</title></rect>`, class, start, 22*r+3, max(2, end-start),
			template.HTMLEscapeString(fmt.Sprintf("task %d/%d, attempt %d, from %s: %s", a.task.Phase, a.task.Index, a.attempt, s.clock(a.start), text)))
		if class == "fails" {
			fmt.Fprintf(&b, `<path class="cross" d="M%.1f %dl8 10m0 -10l-8 10"/>`, max(left, end-11), 22*r+6)
		}
	}
	for i, anchor := range []string{"start", "end"} {
		at := []sojourn.Time{from, to}[i]
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="%s">%s</text>`, x(at), height-5, anchor, s.clock(at))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
