package statuspage

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strconv"
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
		if y.add(" cannot go on: %s. ", s.stuck.err); s.stuck.end > 0 {
			y.add("Nothing of it has run since %s. ", s.clock(s.stuck.end))
		}
	}
	free := 0
	for _, x := range s.st.Slots {
		if !x.Busy && !x.Leaving {
			free++
		}
	}
	even, long, back := s.even(), []*row(nil), []*row(nil) // who waits long, and whom a limit or a pause holds back
	for i := range s.tenants {
		switch t := &s.tenants[i]; {
		case t.Waiting == 0:
		case t.Paused || t.full(s.classes) != "":
			back = append(back, t)
		case t.oldestJob == 0:
		default:
			if poor == nil || poor.number < 0 && t.oldest >= longWait || t.number >= 0 && t.poorer(poor, even) {
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
		y.bold("There are no slots, so nothing runs")
		y.add("%s, and %s: the program must add some.", s.nothingSince(), verb(s.all.Waiting, "task waits", "tasks wait"))
		return
	case poor == nil || poor.oldest < longWait:
		y.quiet(s, poor, back, free)
		return
	case !slices.ContainsFunc(s.st.Slots, func(x live.SlotStatus) bool { return !x.Leaving }):
		y.Kind = "waits"
		y.bold("All " + verb(slots, "slot is", "slots are") + " leaving, so nothing starts any more")
		y.add(", and %s: the program must add some.", verb(s.all.Waiting, "task waits", "tasks wait"))
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
	if rich != nil && 4*rich.Busy < slots { // nobody floods: there are many
		rich = nil
	}
	alone := ""
	waits := " waits "
	if poor.number < 0 {
		waits = " wait "
	}
	above := rich != nil && s.least[rich.number] > poor.priority // all that it runs
	if len(s.tenants) == 1 && poor.Name == "" {
		y.bold("The oldest job waits " + span4(poor.oldest))
		y.add(": all %s are busy, and %s. ", verb(slots, "slot"+kind, "slots"+kind), verb(poor.Waiting, "task waits", "tasks wait"))
		if free == 0 {
			y.help(s, "More slots"+kind+" would help, or fewer tasks.", slots, kind == "")
			return
		}
		y.Parts = y.Parts[:len(y.Parts)-1]
	} else {
		y.bold(short40(poor.name) + waits + span4(poor.oldest))
	}
	long = slices.DeleteFunc(long, func(t *row) bool { // who waits for slots of another class
		c, ok := oneClass(t.needs)
		d, all := oneClass(poor.needs)
		return ok && all && c != d
	})
	too := slices.DeleteFunc(long, func(t *row) bool { return t.number == poor.number || rich != nil && t.number == rich.number })
	switch {
	case len(too) == 1 && too[0].number >= 0:
		y.add(", and so does %s", short40(too[0].name))
	case slices.ContainsFunc(too, func(t *row) bool { return t.number < 0 }): // of which a row is the sum
		y.add(", and so do more than %s other tenants", count(len(too)))
	case len(too) > 1:
		y.add(", and so do %s other tenants", count(len(too)))
	case rich == nil && free == 0 && len(back) == 0:
		alone = " Nobody else waits long."
	}
	job := func(what string, id sojourn.JobID) { y.Parts = append(y.Parts, words{Text: what, Job: id}) }
	switch {
	case free > 0:
		y.add(" though %s free: ", verb(free, "slot"+kind+" is", "slots"+kind+" are"))
		job(fmt.Sprint("job ", poor.oldestJob), poor.oldestJob)
		y.add(" says why. ")
	case rich == nil && (len(too) > 0 || 2*poor.Busy < s.all.Busy):
		most := slices.MaxFunc(s.tenants, func(a, b row) int { return cmp.Compare(a.Busy, b.Busy) })
		y.add(": ")
		y.bold(fmt.Sprintf("all %s are busy, and nobody has more than %d", verb(slots, "slot"+kind, "slots"+kind), most.Busy))
		y.add(". ")
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
		case above:
			if y.add(", by its priority of %d", s.least[rich.number]); since != "" {
				since = "," + since
			}
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
	y.heldBack(s, back, free)
	switch {
	case free > 0:
	case rich != nil && above:
		y.help(s, fmt.Sprintf("What would help: a lower priority for jobs of %s, or more slots%s.", short40(rich.name), kind), slots, kind == "")
	case rich != nil && rich.Waiting == 0: // it takes no more
		y.help(s, fmt.Sprintf("What would help: the end of what %s runs, or more slots%s.", short40(rich.name), kind), slots, kind == "")
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

// nothingSince says since when nothing runs: "" if that is not known.
func (s *snap) nothingSince() string {
	at, whole := s.now, true
	for i := len(s.hour) - 1; i >= 0 && whole; i-- {
		if whole = s.hour[i].running == 0; whole {
			at = s.hour[i].at
		}
	}
	switch {
	case at == s.now || s.polled:
		return ""
	case whole && len(s.hour) == samples:
		return " for more than an hour"
	}
	return " since " + s.clock(at)
}

// heldBack says who waits though it is not for others: the one that does so longest.
func (y *saying) heldBack(s *snap, back []*row, free int) {
	if len(back) == 0 {
		return
	}
	t := slices.MaxFunc(back, func(a, b *row) int { return cmp.Or(cmp.Compare(a.oldest, b.oldest), cmp.Compare(a.Waiting, b.Waiting)) })
	is, helps := " is paused", "To resume it would help. "
	if !t.Paused {
		is, helps = fmt.Sprintf(" runs %s, its limit", t.full(s.classes)), "A higher limit would help it. "
	}
	y.bold(short40(t.name) + is)
	if y.add(", and %s", verb(t.Waiting, "task of it waits", "tasks of it wait")); t.oldestJob != 0 && t.oldest >= longWait {
		y.add(", the oldest for %s", span4(t.oldest))
	}
	if y.add(". "); free > 0 {
		y.add("%s", helps)
	}
	switch n := len(back) - 1; {
	case n == 1:
		for _, u := range back {
			if u != t && u.Paused {
				y.add("%s is paused, too. ", short40(u.name))
			} else if u != t {
				y.add("%s is at its limit, too. ", short40(u.name))
			}
		}
	case n > 1:
		y.add("%d other tenants are paused or at their limits, too. ", n)
	}
}

// quiet says that nobody waits long for others. The one that waits longest for them is poor, nil if there is none.
func (y *saying) quiet(s *snap, poor *row, back []*row, free int) {
	late, failing := s.all.Late+s.void, s.all.Failing
	fails := func() {
		if failing == 0 {
			return
		}
		whose := ""
		for i := range s.tenants {
			if t := &s.tenants[i]; t.Failing == failing && len(s.tenants) > 1 {
				whose = " of " + short40(t.name)
			}
		}
		y.Parts = append(y.Parts, words{Text: verb(failing, "job"+whose+" has tasks", "jobs"+whose+" have tasks") + " that failed", To: "state=failing"})
		if s.bad.err != "" {
			y.add(", the last at %s: %s", s.clock(s.bad.end), clipped(s.bad.err, 120))
		}
		y.add(". ")
	}
	if len(back) == 0 && late == 0 && failing == 0 && s.all.Failed == 0 && s.stuck.id == 0 {
		y.add("All is well: ")
	}
	mostly := 2*failing > s.all.Live
	if mostly {
		fails()
	}
	y.heldBack(s, back, free)
	if s.all.Busy == 0 && s.release > s.now && len(back) == 0 {
		y.add("%s until %s, when the next job may start: ", verb(s.all.Waiting, "task waits", "tasks wait"), s.clock(s.release))
	}
	y.add("%s of %s slots are busy, and no ", count(s.all.Busy), count(len(s.st.Slots)))
	switch {
	case poor == nil || poor.oldest < time.Second:
		y.add("job waits for others.")
	case len(back) > 0:
		y.add("other job waits longer than %s.", span4(poor.oldest))
	default:
		y.add("job waits longer than %s.", span4(poor.oldest))
	}
	if late > 0 || failing > 0 || slices.ContainsFunc(back, func(t *row) bool { return t.Paused || t.oldest >= longWait }) {
		y.Kind = "waits"
	}
	if late > 0 {
		y.Parts = append(y.Parts, words{Text: " " + verb(late, "job is", "jobs are") + " late.", To: "state=late"})
	}
	if failing > 0 && !mostly {
		y.add(" ")
		fails()
	}
	if n := s.all.Failed; n > 0 && failing == 0 {
		y.Parts = append(y.Parts, words{Text: " " + verb(n, "job has", "jobs have") + " failed in the last hour", To: "state=ended"})
		if s.dead.id != 0 {
			y.add(", the last at %s: %s", s.clock(s.dead.end), clipped(s.dead.err, 120))
		}
		if y.add("."); 2*n > s.all.Ended {
			y.Kind = "waits"
		}
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

// number writes a number of slots: "10", "10.7", "0.006".
func number(x float64) string {
	if x > 0 && x < 0.095 {
		return strconv.FormatFloat(x, 'g', 1, 64)
	}
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
