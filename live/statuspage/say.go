package statuspage

import (
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/live"
)

// A saying is the sentence at the top: what the state is, who waits because of whom, since when, and what would help.
type saying struct {
	Kind  string // "well", "waits" or "broken"
	Parts []words
}

// Words are a part of a sentence, which may lead somewhere.
type words struct {
	Text string
	Job  sojourn.JobID // 0: nowhere
	To   template.URL  // a query
	Bold bool
}

func (y *saying) add(format string, args ...any) {
	y.Parts = append(y.Parts, words{Text: fmt.Sprintf(format, args...)})
}

func (y *saying) bold(text string) { y.Parts = append(y.Parts, words{Text: text, Bold: true}) }

// String returns the sentence without what it leads to.
func (y saying) String() string {
	var b strings.Builder
	for _, p := range y.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// longWait is how long a job waits before the page speaks of it.
const longWait = 10 * time.Second

// say finds the sentence.
func (s *snap) say() (y saying) {
	y.Kind = "broken"
	slots := len(s.st.Slots)
	switch {
	case errors.Is(s.st.Err, live.ErrStalled):
		y.add("Nothing new starts: %s. What runs goes on, and no job is lost. Make room, or put right what else is wrong with the store: the pool tries it again every few seconds.", line(s.st.Err))
		return y
	case errors.Is(s.st.Err, live.ErrStandby):
		y.Kind = "waits"
		y.add("Standby: %s. This one takes over when the other has gone.", line(s.st.Err))
		return y
	case s.st.Err != nil:
		y.add("The pool is broken: %s. Its jobs have ended, and it takes no more. Put right what is wrong with the store, then start the program again: jobs that were acknowledged go on.", line(s.st.Err))
		return y
	case s.st.Alone != nil:
		y.Kind = "waits"
		y.add("Task %v runs alone, since it ran when the process before ended. Nothing else is started meanwhile.", s.st.Alone.TaskID)
		return y
	case s.st.Closed && s.all.Live == 0:
		y.Kind = "well"
		y.add("The pool is closed, and no job is left. Start the program again to run more.")
		return y
	}
	y.Kind = "well"
	if s.st.Closed {
		y.add("The pool is closed: it takes no more jobs, and %s to the end. ", verb(s.all.Live, "job goes on", "jobs go on"))
	}
	if s.all.Live == 0 {
		y.add("Idle: %d of %d slots are free. ", slots-s.all.Busy, slots)
		switch g := s.last; {
		case g.id == 0 && s.polled:
			y.add("No job is live: submit one.")
		case g.id == 0:
			y.add("No job has come yet: submit one.")
		case !g.failed:
			y.add("The last job, %s, ended at %s %s.", named(g.name, g.id), s.clock(g.end), g.how())
		default:
			y.add("The last job, %s, failed at %s: %s", named(g.name, g.id), s.clock(g.end), g.err)
		}
		return y
	}
	y.waits(s, slots)
	return y
}

// waits says who waits, and because of whom.
func (y *saying) waits(s *snap, slots int) {
	var poor *row
	if s.stuck.id != 0 && slots > 0 {
		y.Kind = "waits"
		y.Parts = append(y.Parts, words{Text: fmt.Sprint("Job ", s.stuck.id), Job: s.stuck.id})
		y.add(" cannot go on: %s. ", s.stuck.err)
	}
	free := 0
	for _, x := range s.st.Slots {
		if !x.Busy && !x.Leaving {
			free++
		}
	}
	aside, even, long := "", s.even(), []*row(nil) // who waits long
	for i := range s.tenants {
		switch t := &s.tenants[i]; {
		case t.Waiting == 0:
		case t.Paused:
			aside = fmt.Sprintf("%s is paused, and %s. ", short40(t.name), verb(t.Waiting, "task of it waits", "tasks of it wait"))
		case t.full(s.classes) != "":
			if aside = fmt.Sprintf("%s runs %s, its limit, and %s. ", short40(t.name), t.full(s.classes), verb(t.Waiting, "task of it waits", "tasks of it wait")); free > 0 {
				aside += "A higher limit would help it. "
			}
		case t.oldestJob == 0:
		default:
			if poor == nil || t.poorer(poor, even) {
				poor = t
			}
			if t.oldest >= longWait {
				long = append(long, t)
			}
		}
	}
	switch {
	case slots == 0:
		y.Kind = "waits"
		y.add("There are no slots, so nothing runs: the program must add some.")
		return
	case poor == nil || poor.oldest < longWait:
		y.quiet(s, aside, slots)
		return
	}
	y.Kind = "waits"
	kind := "" // of slots
	if c, ok := oneClass(poor.needs); ok && s.parts[c] != nil {
		for _, x := range s.st.Slots {
			if !x.Busy && !x.Leaving && x.Slot.Class != c {
				free--
			}
		}
		s = s.parts[c]
		poor = s.row(poor.number)
		slots, kind = len(s.st.Slots), fmt.Sprintf(" of class %d", c)
	}
	rich := s.culprit(poor)
	fair := poor.Busy > 0 && poor.entitled >= 0 && poor.entitled-float64(poor.Busy) < 1 // a slot is not divided
	if rich == nil && fair && float64(poor.Busy) < poor.entitled+0.5 {
		for i := range s.tenants {
			if t := &s.tenants[i]; t.number != poor.number && 2*t.Busy > s.all.Busy {
				rich = t
			}
		}
	}
	alone := ""
	y.bold(short40(poor.name) + " waits " + span4(poor.oldest))
	long = slices.DeleteFunc(long, func(t *row) bool { // who waits for slots of another class
		c, ok := oneClass(t.needs)
		d, all := oneClass(poor.needs)
		return ok && all && c != d
	})
	switch too := slices.DeleteFunc(long, func(t *row) bool { return t.number == poor.number || rich != nil && t.number == rich.number }); {
	case len(too) == 1:
		y.add(", and so does %s", short40(too[0].name))
	case len(too) > 1:
		y.add(", and so do %d other tenants", len(too))
	case rich == nil && free == 0 && aside == "":
		alone = " Nobody else waits long."
	}
	job := func(what string, id sojourn.JobID) { y.Parts = append(y.Parts, words{Text: what, Job: id}) }
	switch {
	case free > 0:
		y.add(" though %s free: ", verb(free, "slot"+kind+" is", "slots"+kind+" are"))
		job(fmt.Sprint("job ", poor.oldestJob), poor.oldestJob)
		y.add(" says why. ")
	case rich == nil:
		y.add(" behind its own tasks: it has %d of %d slots%s", poor.Busy, slots, kind)
		switch over := float64(poor.Busy) - poor.entitled; {
		case poor.entitled >= 0 && over >= 0.5:
			y.add(", %s above its share,", number(over))
		case poor.entitled >= 0:
			y.add(", its share,")
		}
		y.add(" and %s.%s ", verb(poor.Waiting, "task waits", "tasks wait"), alone)
	default:
		y.add(": ")
		y.bold(fmt.Sprintf("%s holds %d of %d slots%s", short40(rich.name), rich.Busy, slots, kind))
		since := s.since(rich, fair)
		switch over := float64(rich.Busy) - rich.entitled; {
		case fair && rich.Weight > poor.Weight:
			y.add(", by its weight of %s", number(rich.Weight))
			if since != "" {
				since = "," + since
			}
		case !fair && rich.entitled >= 0 && over >= 0.5:
			y.add(", %s above its share", number(over))
		}
		y.add("%s", since)
		if id, n := s.most(rich); n > 1 && n*2 > rich.Busy {
			y.add(", most of them in ")
			job(fmt.Sprint("job ", id), id)
		}
		y.add(". ")
		switch {
		case fair:
			y.add("%s has %d, about its share of %s. ", short40(poor.name), poor.Busy, number(poor.entitled))
		case poor.entitled > float64(poor.Busy):
			y.add("%s has %d of the %s it is entitled to. ", short40(poor.name), poor.Busy, number(poor.entitled))
		}
	}
	y.add("%s", aside)
	switch {
	case free > 0:
	case rich == nil:
		y.help(s, "More slots"+kind+" would help, or fewer tasks.", slots, kind == "")
	case fair && rich.Weight > poor.Weight:
		y.help(s, fmt.Sprintf("What would help: a lower weight for %s, or more slots%s.", short40(rich.name), kind), slots, kind == "")
	case fair:
		y.help(s, "What would help: more slots"+kind+", or fewer tasks.", slots, kind == "")
	case s.sharing:
		y.help(s, fmt.Sprintf("What would help: a limit for %s, or more slots%s.", short40(rich.name), kind), slots, kind == "")
	default:
		y.help(s, "What would help: a policy that divides slots among tenants, such as fair, or more slots"+kind+".", slots, kind == "")
	}
}

// oneClass returns the class of the slots that phases use, if it is the same for all.
func oneClass(needs []sojourn.Class) (c sojourn.Class, ok bool) {
	for i, need := range needs {
		if i > 0 && need != c {
			return 0, false
		}
		c = need
	}
	return c, len(needs) > 0
}

// row returns the row of a tenant, nil if there is none.
func (s *snap) row(number int) *row {
	for i := range s.tenants {
		if s.tenants[i].number == number {
			return &s.tenants[i]
		}
	}
	return nil
}

// in returns what a snapshot would be without slots of other classes.
func (s *snap) in(c sojourn.Class) *snap {
	of := *s
	of.st.Slots, of.tenants, of.holds, of.hour, of.all.Busy = nil, slices.Clone(s.tenants), map[int]map[sojourn.JobID]int{}, nil, 0
	for i := range s.hour {
		of.hour = append(of.hour, s.hour[i].in(c))
	}
	owner := s.owners()
	for _, x := range s.st.Slots {
		if x.Slot.Class != c {
			continue
		}
		of.st.Slots = append(of.st.Slots, x)
		if number, ok := owner[x.Task.Job]; x.Busy && ok {
			if of.holds[number] == nil {
				of.holds[number] = map[sojourn.JobID]int{}
			}
			of.holds[number][x.Task.Job]++
			of.all.Busy++
		}
	}
	for i := range of.tenants {
		x := &of.tenants[i]
		x.Busy = 0
		for _, n := range of.holds[x.number] { //sojourn:unordered a sum
			x.Busy += n
		}
		if x.entitled >= 0 {
			x.entitled = -1
			if share, ok := x.shares[c]; ok {
				x.entitled = share
			}
		}
	}
	return &of
}

// owners returns the numbers of the tenants whose jobs have slots.
func (s *snap) owners() map[sojourn.JobID]int {
	of := map[sojourn.JobID]int{}
	for number, jobs := range s.holds { //sojourn:unordered a map again
		for id := range jobs { //sojourn:unordered a map again
			of[id] = number
		}
	}
	return of
}

// even returns how many slots each tenant would have that has tasks, if all had as many.
func (s *snap) even() float64 {
	n := 0
	for i := range s.tenants {
		if t := &s.tenants[i]; t.Waiting+t.Busy > 0 {
			n++
		}
	}
	return float64(s.all.Busy) / float64(max(1, n))
}

// full says what a tenant runs that has reached its limit in all classes of slots, and "" of others.
func (t *row) full(classes []sojourn.Class) string {
	if t.jobs > 0 && t.active >= t.jobs {
		return verb(t.active, "job", "jobs")
	}
	most := 0
	for _, c := range classes {
		if t.most[c] == 0 {
			return ""
		}
		most += t.most[c]
	}
	if most == 0 || t.Busy < most {
		return ""
	}
	return verb(t.Busy, "task", "tasks")
}

// poorer reports whether a tenant rather than another one is the one that waits: who has less than its share goes before who floods and so waits
// longer, then who waits longer. Where nobody says what the share is, it is as much as everybody has.
func (t *row) poorer(u *row, even float64) bool {
	suffers := func(t *row) bool {
		share := t.entitled
		if share < 0 {
			share = min(even, float64(t.Waiting+t.Busy))
		}
		return t.oldest >= longWait && (t.Busy == 0 || float64(t.Busy) <= share-0.5) && share > 0
	}
	if a, b := suffers(t), suffers(u); a != b {
		return a
	}
	return t.oldest > u.oldest
}

// help says what would help, and asks what if there were more slots, if that can be foreseen.
func (y *saying) help(s *snap, text string, slots int, foreseen bool) {
	if y.add("%s ", text); !foreseen {
		return
	}
	more := max(1, slots/8)
	y.Parts = append(y.Parts, words{Text: fmt.Sprintf("What if there were %s?", verb(more, "slot more", "slots more")), To: template.URL(fmt.Sprint("slots=", more))})
}

// quiet says that nobody waits long.
func (y *saying) quiet(s *snap, aside string, slots int) {
	late, failing := s.all.Late+s.void, s.all.Failing
	if aside == "" && late == 0 && failing == 0 {
		y.add("All is well: ")
	}
	y.add("%s", aside)
	if s.all.oldestJob == 0 || s.all.oldest < time.Second {
		y.add("%d of %d slots are busy, and no job waits for others.", s.all.Busy, slots)
	} else {
		y.add("%d of %d slots are busy, and no job waits longer than %s.", s.all.Busy, slots, span4(s.all.oldest))
	}
	if late > 0 || failing > 0 {
		y.Kind = "waits"
	}
	if late > 0 {
		y.Parts = append(y.Parts, words{Text: " " + verb(late, "job is", "jobs are") + " late.", To: "state=late"})
	}
	if failing > 0 {
		y.Parts = append(y.Parts, words{Text: " " + verb(failing, "job has tasks", "jobs have tasks") + " that failed.", To: "state=failing"})
	}
}

// culprit returns who has slots that a tenant waits for: who is most above its share, else who has the most, nil if the
// tenant has what it is entitled to.
func (s *snap) culprit(poor *row) (rich *row) {
	over := 0.499
	for i := range s.tenants {
		if t := &s.tenants[i]; t.number != poor.number && t.entitled >= 0 && float64(t.Busy)-t.entitled > over {
			rich, over = t, float64(t.Busy)-t.entitled
		}
	}
	if rich != nil || poor.Busy > 0 && poor.entitled >= 0 && float64(poor.Busy) > poor.entitled-0.5 {
		return rich
	}
	for i := range s.tenants {
		if t := &s.tenants[i]; t.Busy > 0 && (rich == nil || t.Busy > rich.Busy) {
			rich = t
		}
	}
	if rich != nil && rich.number == poor.number {
		return nil
	}
	return rich
}

// since says since when a tenant has held more than its share, or than half of what runs if half is set or nobody knows its share: "" if that is not known.
func (s *snap) since(t *row, half bool) string {
	half = half || t.entitled < 0
	at, whole := s.now, true
	for i := len(s.hour) - 1; i >= 0; i-- {
		x := &s.hour[i]
		n := 0
		for _, p := range x.of {
			if p.who != nil && p.number == t.number {
				n = p.running
			}
		}
		if !half && float64(n) < t.entitled+0.5 || half && 2*n <= x.running || n == 0 {
			whole = false
			break
		}
		at = x.at
	}
	switch {
	case at == s.now:
		return ""
	case whole && len(s.hour) == samples:
		return " for more than an hour"
	}
	return " since " + s.clock(at)
}

// most returns the job of a tenant that has the most slots, and how many.
func (s *snap) most(t *row) (job sojourn.JobID, n int) {
	for id, k := range s.holds[t.number] { //sojourn:unordered a maximum in a total order
		if k > n || k == n && id < job {
			job, n = id, k
		}
	}
	return job, n
}

// wallAt returns the time of day at a time of the pool.
func (s *snap) wallAt(at sojourn.Time) time.Time { return s.wall.Add(at.Sub(s.now)) }

// clock writes the time of day, and the day if it is another one.
func (s *snap) clock(at sojourn.Time) string {
	t := s.wallAt(at)
	if t.Format(time.DateOnly) != s.wall.Format(time.DateOnly) {
		return t.Format("2 Jan 15:04")
	}
	return t.Format("15:04:05")
}

// span4 writes a span as a person says it: "36 s", "18 min", "3 h 05 min", "5 d 3 h".
func span4(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + span4(-max(d, -1<<62))
	case d < time.Second:
		return "below 1 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// number writes a number of slots: "10", "10.7".
func number(x float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
}

// verb writes "1 slot is" or "3 slots are".
func verb(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// count writes a number with commas.
func count(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// how says how a job has ended that has not failed.
func (g *gone) how() string {
	if g.err != "" {
		return "early: " + g.err
	}
	return "without an error"
}

func named(name string, id sojourn.JobID) string {
	if name == "" {
		return fmt.Sprint("job ", id)
	}
	return short40(name)
}

// short40 returns the beginning of a name, for sentences.
func short40(name string) string { return clipped(name, 40) }

// shown returns at most 200 runes of a name.
func shown(name string) string { return clipped(name, 200) }

// clipped returns at most so many runes of a name. What would hide, turn or break the line is left out.
func clipped(name string, most int) string {
	var out []rune
	for _, r := range name {
		switch {
		case unicode.IsControl(r) || r == 0x2028 || r == 0x2029:
			r = ' '
		case visible.Obeyed(r):
			continue
		}
		if len(out) == most {
			return string(out) + "…"
		}
		out = append(out, r)
	}
	return string(out)
}
