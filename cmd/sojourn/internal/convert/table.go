package convert

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// A table describes a kind of log. The reader of tables turns its rows into jobs.
type table struct {
	// columns are, for each field, the columns that may hold it: the first that a row has a value in
	// counts. The form is that of --columns: TITLE or TITLE:UNIT.
	columns map[field][]string

	needs   []string // titles without which a file is of another table of the format
	header  []string // of files that do not begin with the titles
	quotes  bool     // cells may stand in quotes
	comma   rune     // what is between cells; 0 is what the first row has most of
	front   []string // of lines of KEY=VALUE words: the cells in front
	keys    []string // known keys of such lines
	objects []string // of JSON: the keys of lists of records; not nil if the log is JSON
	derive  func(record []byte, set func(path, value string)) error

	states  map[string]drop                           // by a word in the column state, in lower case
	done    string                                    // if not empty, other states are events, not rows
	opens   map[string]drop                           // events that a row of the same ID ends
	element func(id string) (array string, part bool) // of an ID: that of its array, and whether it is a part of another row's job
	joined  func(id string) string                    // of an ID: that of the rows that are tasks of one job; may be nil
	zeros   bool                                      // 0 is no instant and no ID
	single  bool                                      // a size that is not told is 1
	waits   bool                                      // the wait tells the arrival better than its column
	waves   bool                                      // tasks that are more than the parallelism run in waves within the run time
	export  string                                    // the command that writes such a log
}

// A drop is a reason for which a row is no job.
type drop int

const (
	kept drop = iota
	neverRan
	stillRuns
	noArrival
	noRunTime
	noSize
	backward
	negative
	repeated
	partOf
	otherKind
	cutOff
	numDrops
)

var dropTexts = [numDrops]string{
	neverRan:  "rows dropped, never ran",
	stillRuns: "rows dropped, still running",
	noArrival: "rows dropped, time of submission unknown",
	noRunTime: "rows dropped, run time unknown",
	noSize:    "rows dropped, size unknown or 0",
	backward:  "rows dropped, end before start",
	negative:  "rows dropped, negative run time",
	repeated:  "rows dropped, the same row was there before",
	partOf:    "rows dropped, parts of a job that has a row of its own",
	otherKind: "rows dropped, of another kind than Job",
	cutOff:    "rows dropped, cut off at the end of the file",
}

// dropHints say what helps where --strict refuses a row.
var dropHints = [numDrops]string{
	noArrival: "; --columns arrival=TITLE names the column of the time of submission",
	noRunTime: "; --columns duration=TITLE, or start=TITLE,end=TITLE, names the columns of the run time",
	noSize:    "; --columns tasks=TITLE names the column of the size",
	otherKind: "; kubectl get jobs -A -o json exports Jobs alone",
}

// A remark is something that the reader assumes.
type remark int

const (
	arrivedAtStart remark = iota
	oneTask
	startedEarly
	noEstimate
	roundedUp
	inWaves
	attemptsFailed
	attemptsUnknown
	tasksMissing
	numRemarks
)

var remarkTexts = [numRemarks]string{
	arrivedAtStart:  "rows without a time of submission, taken to arrive when they started",
	oneTask:         "rows of a table without a column of sizes, one task each (see --columns tasks=TITLE)",
	startedEarly:    "rows kept, started before they were submitted",
	noEstimate:      "rows without a requested time, no estimate",
	roundedUp:       "rows that take a part of a slot, given all of it (see --slot-size)",
	inWaves:         "jobs with more tasks than run at a time, each given the run time divided by the waves",
	attemptsFailed:  "attempts left out, unsuccessful or one success too many",
	attemptsUnknown: "attempts left out, of a stage that no job has",
	tasksMissing:    "tasks left out, announced but not finished",
}

// A logged job is a job in the making: the tasks of its rows.
type logged struct {
	arrival, deadline int64 // in nanoseconds since the zero of the log; deadline 0 is none
	name, pool        string
	weight            float64
	parallelism       uint32
	tasks             int
	parts             []part
	needs             [][]int // of each phase; nil: each waits for the one before
	file              string
	line              int // of its first row
}

// A part is a number of equal tasks.
type part struct {
	took, estimate time.Duration
	tasks          int
	phase          int32
}

// A bound field is a column that holds a field, or several that make its text.
type bound struct {
	columns []int
	unit    string
	given   bool // by --columns
	used    bool
	title   string
}

// A tableReader reads logs into jobs.
type tableReader struct {
	*table
	options *Conversion
	zone    *time.Location
	forms   map[string]string // of the latest date of each unit
	comma   bool              // is the decimal point
	slot    *big.Rat
	most    int     // tasks of a job
	speed   float64 // of a host, in floating-point operations a second; 0 is unknown

	file string
	rows rows
	at   [numFields][]bound

	jobs    []*logged
	known   map[string]*logged // by the text of the column job
	seen    map[run]bool
	open    map[string]drop   // by ID: rows that wait for another one
	texts   map[string]string // each text is kept once
	dropped [numDrops]int64
	counts  [numRemarks]int64
	columns Columns  // used in the files
	steps   bool     // a log of sacct is read as another table
	empty   Columns  // that --columns names, and no row has a value in
	members []string // of the first record in JSON, if no row became a job
	busy    busy
	app     sparkApp
}

// The most tasks of a job.
const maxJobTasks = 1 << 24

// readTables returns the jobs of logs, by arrival. All are held in memory.
func (f *Conversion) readTables(in []Input, speed float64, stats *trace.Stats) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		r, err := newTableReader(f)
		r.speed = speed
		read := r.read
		if f.From == "spark" {
			read = r.readSpark
		}
		inOrder(in)
		for _, file := range in {
			if err == nil {
				err = read(file.Reader, file.Name)
			}
		}
		err = cmp.Or(err, r.endSpark())
		f.notes = r.notes()
		if err != nil {
			yield(nil, err)
			return
		}
		counted(r.list(), stats)(yield)
	}
}

func newTableReader(f *Conversion) (*tableReader, error) {
	r := &tableReader{
		options: f, known: map[string]*logged{}, seen: map[run]bool{}, open: map[string]drop{}, texts: map[string]string{},
		zone: time.UTC, forms: map[string]string{}, slot: big.NewRat(1, 1), most: maxJobTasks,
	}
	if f.Zone != "" {
		zone, err := time.LoadLocation(f.Zone)
		if err != nil {
			return r, fmt.Errorf("--zone %q is not the name of a time zone, such as Europe/Berlin", short(f.Zone))
		}
		r.zone = zone
	}
	if f.SlotSize != "" {
		size, ok := number(f.SlotSize, false)
		if !ok || size.Sign() <= 0 {
			return r, fmt.Errorf("--slot-size %q is not a number above 0, such as 0.25", short(f.SlotSize))
		}
		r.slot = size
	}
	return r, nil
}

// read reads a log.
func (r *tableReader) read(from io.Reader, file string) error {
	r.file = file
	text, err := unzipped(from)
	if err != nil {
		return in(file, &placed{1, 1, err})
	}
	if err := r.begin(text); err != nil {
		return in(file, err)
	}
	for {
		err := r.rows.next()
		var cut unended
		switch {
		case err == io.EOF:
			r.end()
			return nil
		case errors.As(err, &cut):
			err = r.drop(cutOff)
		case err == nil:
			err = r.take()
		}
		if err != nil {
			return in(file, err)
		}
	}
}

// hint says how such a log is made, if the format knows.
func (r *tableReader) hint() string {
	if r.export == "" {
		return ""
	}
	return "; such a log is written by " + r.export
}

// begin finds out which of the format's tables the file is, and where its fields are.
func (r *tableReader) begin(text *bufio.Reader) error {
	list := tables[r.options.From]
	r.table = &list[0]
	first, _ := text.Peek(1 << 12)
	if first := strings.TrimLeft(string(first), " \t\r\n"); first != "" && (first[0] == '{' || first[0] == '[') {
		i := slices.IndexFunc(list, func(t table) bool { return t.objects != nil })
		if i < 0 {
			return &placed{1, 1, fmt.Errorf("want %s, found JSON%s", r.options.From, cmp.Or(r.hint(), ": jq -r prints members as a table, such as by '[.submitted, .took] | @csv', behind a row of titles"))}
		}
		r.table = &list[i]
	} else if r.objects != nil {
		if i := slices.IndexFunc(list, func(t table) bool { return t.objects == nil }); i >= 0 {
			r.table = &list[i]
		} else if first == "" {
			return &placed{1, 1, errors.New("the file is empty: want JSON")}
		} else {
			return &placed{1, 1, fmt.Errorf("want JSON, found %q: export it by %s", short(first[:min(len(first), 60)]), r.export)}
		}
	}
	if r.options.From == "batsim" {
		var err error
		if text, err = r.profiles(text); err != nil {
			return err
		}
	}
	switch {
	case r.objects != nil:
		o, err := newObjects(text, r.objects, r.wanted(), r.derive)
		if err != nil {
			return err
		}
		r.rows = o
	case r.keys != nil:
		r.rows = newPairs(text, r.front, r.wanted())
	default:
		return r.beginCells(text, list)
	}
	_, err := r.bind()
	return err
}

// beginCells reads the first row of a table.
func (r *tableReader) beginCells(text *bufio.Reader, list []table) error {
	separator := r.table.comma
	if s, err := ParseSeparator(r.options.Separator); err == nil && s != 0 {
		separator = s
	}
	c, err := newCells(text, separator, r.quotes)
	if err != nil {
		return err
	}
	r.comma = c.comma == ";"
	r.rows = c
	for i := range list {
		t := &list[i]
		if t.objects == nil && !slices.ContainsFunc(t.needs, func(title string) bool { return place(title, c.head) == nil }) {
			r.table = t
			break
		}
		if len(t.header) == len(c.head) && !slices.ContainsFunc(c.head, func(title string) bool { return place(title, t.header) != nil }) {
			r.table, c.head = t, t.header // and the first row is one of the others
			if _, err := r.bind(); err != nil {
				return err
			}
			return r.take()
		}
	}
	ready, err := r.bind()
	r.steps = r.steps || err == nil && ready == nil && r.guesses() && strings.HasSuffix(r.likely(c.head), " sacct")
	if err == nil && ready != nil {
		err = fmt.Errorf("%w%s%s", ready, r.likely(c.head), c.unnamed())
	}
	if err != nil {
		return &placed{1, 1, err}
	}
	return nil
}

// likely names another format that has these titles.
func (r *tableReader) likely(titles []string) string {
	for _, name := range DescribedFormats {
		for _, t := range tables[name] {
			has := func(f field) bool {
				return slices.ContainsFunc(t.columns[f], func(c string) bool { return slices.Contains(titles, candidate(f, c).Title) })
			}
			needed := !slices.ContainsFunc(t.needs, func(title string) bool { return !slices.Contains(titles, title) })
			if name != r.options.From && needed && has(fieldArrival) && (has(fieldDuration) || has(fieldStart) && has(fieldEnd)) {
				return "; it has the columns of --from " + name
			}
		}
	}
	return ""
}

// wanted returns the titles of all columns that may count.
func (r *tableReader) wanted() (list []string) {
	add := func(title string) {
		for _, t := range strings.Split(title, "+") {
			if !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	for f := range numFields {
		for _, text := range r.table.columns[f] {
			add(candidate(f, text).Title)
		}
	}
	for _, col := range r.options.Columns {
		add(col.Title)
	}
	for _, key := range r.keys {
		add(key)
	}
	return list
}

// bind finds the columns of the fields. ready says what no job can be without and is not there.
func (r *tableReader) bind() (ready, err error) {
	titles := r.rows.titles()
	r.at = [numFields][]bound{}
	bind := func(col Column, given bool) bool {
		columns := place(col.Title, titles)
		if columns == nil {
			return false
		}
		r.at[col.Field] = append(r.at[col.Field], bound{columns: columns, unit: col.Unit, given: given, title: col.Title})
		return true
	}
	for f := range numFields {
		if i := slices.IndexFunc(r.options.Columns, func(c Column) bool { return c.Field == f }); i >= 0 {
			col := r.options.Columns[i]
			if !bind(col, true) {
				return nil, fmt.Errorf("there is no column %q, which --columns names; there are %s", short(col.Title), strings.Join(quoted(titles), ", "))
			}
			if n := count(titles, titles[r.at[f][0].columns[0]]); n > 1 {
				return nil, fmt.Errorf("there are two columns %q", short(col.Title))
			}
			continue
		}
		for _, text := range r.table.columns[f] {
			col := candidate(f, text)
			if bind(col, false) && r.guesses() && f != fieldState {
				if n := count(titles, titles[r.at[f][0].columns[0]]); n > 1 && (f.instant() || f.length()) {
					return nil, fmt.Errorf("there are two columns %q", short(col.Title))
				}
				break // one column of a file that nobody has described
			}
		}
	}
	for f, other := range map[field]field{fieldDuration: fieldEnd, fieldSlots: fieldTasks} {
		if given := func(list []bound) bool { return len(list) > 0 && list[0].given }; given(r.at[other]) && !given(r.at[f]) {
			r.at[f] = nil // the column that was named says it
		}
	}
	for f, key := range map[field]string{fieldUser: "user", fieldGroup: "group"} {
		if r.options.Pool == key {
			if len(r.at[f]) == 0 {
				return nil, fmt.Errorf("--pool %s: there is no column for it; --columns %s=TITLE names one; there are %s", key, f, strings.Join(quoted(titles), ", "))
			}
			r.at[fieldPool] = r.at[f]
		}
	}
	if r.options.Pool == "none" {
		r.at[fieldPool] = nil
	}
	has := func(f field) bool { return len(r.at[f]) > 0 }
	missing := func(f field, also, example string) error {
		return fmt.Errorf("there is no column %q%s; say which one it is, such as --columns %s; there are %s%s", f, also, example, strings.Join(quoted(titles), ", "), r.hint())
	}
	switch {
	case !has(fieldArrival) && !(has(fieldWait) && has(fieldStart)):
		ready = missing(fieldArrival, "", "arrival=submitted:ms")
	case !has(fieldDuration) && !(has(fieldStart) && has(fieldEnd)):
		ready = missing(fieldDuration, ", nor both of start and end", "duration=runtime:ms")
	}
	return ready, nil
}

// guesses reports whether the columns are found by their titles alone.
func (r *tableReader) guesses() bool { return r.options.From == "csv" }

func count(titles []string, title string) (n int) {
	for _, t := range titles {
		if t == title {
			n++
		}
	}
	return n
}

// value returns the first known text of a field in the row, and its column.
func (r *tableReader) value(f field) (string, *bound) {
	list := r.at[f]
	for i := range list {
		b := &list[i]
		text := r.rows.cell(b.columns[0])
		if len(b.columns) > 1 {
			var parts []string
			for _, c := range b.columns {
				if t := r.rows.cell(c); !isUnknown(t) {
					parts = append(parts, t)
				}
			}
			text = strings.Join(parts, "/")
		}
		if isUnknown(text) || r.zeros && text == "0" && (f.instant() || f == fieldJob || f == fieldArray) || f == fieldName && isUnknown(r.rows.cell(b.columns[len(b.columns)-1])) {
			continue
		}
		if !b.used {
			b.used = true
			title := b.title
			if len(b.columns) == 1 {
				title = r.rows.titles()[b.columns[0]]
			}
			if b.unit == "" && (f.instant() || f.length()) {
				b.unit = r.unitOf(f, title, text)
			}
			if col := (Column{f, title, b.unit}); !slices.Contains(r.columns, col) {
				r.columns = append(r.columns, col)
			}
		}
		return text, b
	}
	return "", nil
}

// bad returns an error in the column of a field, with its name.
func (r *tableReader) bad(f field, b *bound, err error) error {
	column, hint := 0, ""
	if b != nil {
		column = b.columns[0]
		if !b.given && (f.instant() || f.length()) {
			hint = fmt.Sprintf("; --columns %s=TITLE:UNIT says which column and unit it has", f)
		}
	}
	line, position := r.rows.place(column)
	return &placed{line, position, fmt.Errorf("%s: %w%s", f, err, hint)}
}

// time returns a time of the row; ok says whether it is known.
func (r *tableReader) time(f field) (ns int64, b *bound, err error) {
	text, b := r.value(f)
	if b == nil {
		return 0, nil, nil
	}
	if f.instant() {
		ns, err = r.instant(text, b.unit)
	} else {
		ns, err = r.length(text, b.unit)
	}
	if err != nil {
		err = r.bad(f, b, err)
	}
	return ns, b, err
}

// drop drops the row, unless that is refused.
func (r *tableReader) drop(why drop) error {
	r.dropped[why]++
	if !r.options.Strict {
		return nil
	}
	line, _ := r.rows.place(0)
	text := strings.TrimPrefix(dropTexts[why], "rows dropped, ")
	return &placed{line, 1, fmt.Errorf("--strict: %s%s; without --strict such rows are dropped and counted", text, dropHints[why])}
}

// times are those of a row.
type times struct {
	arrival, start int64
	took           time.Duration
	started, ended bool // the start is known, and the end
	assumed        bool // the arrival is the start
}

// times returns the times of the row, or why it has none.
func (r *tableReader) times() (t times, why drop, err error) {
	var ns [5]int64
	var at [5]*bound
	for i, f := range [...]field{fieldStart, fieldEnd, fieldDuration, fieldWait, fieldArrival} {
		if ns[i], at[i], err = r.time(f); err != nil {
			return t, 0, err
		}
	}
	start, end, took, wait, arrival := ns[0], ns[1], ns[2], ns[3], ns[4]
	hasStart, hasEnd, hasTook, hasWait, hasArrival := at[0], at[1], at[2], at[3], at[4]
	t.started, t.ended = hasStart != nil, hasEnd != nil
	startColumn, endColumn := len(r.at[fieldStart]) > 0, len(r.at[fieldEnd]) > 0
	switch {
	case hasStart == nil && startColumn && (hasEnd == nil || hasTook == nil || took == 0):
		return t, neverRan, nil
	case hasEnd == nil && endColumn:
		return t, stillRuns, nil
	case hasTook != nil && took < 0:
		return t, negative, nil
	case hasTook == nil && (hasStart == nil || hasEnd == nil):
		return t, noRunTime, nil
	case hasTook == nil && end < start:
		return t, backward, nil
	case hasTook == nil:
		if took = end - start; took < 0 { // it overflowed
			return t, 0, r.bad(fieldEnd, hasEnd, errors.New("more than 292 years after the start"))
		}
	}
	switch {
	case hasWait != nil && (r.waits || hasArrival == nil) && hasStart != nil && wait >= 0 && start >= math.MinInt64+wait:
		arrival = start - wait
	case hasArrival == nil:
		return t, noArrival, nil
	case hasStart != nil && slices.Equal(hasArrival.columns, hasStart.columns):
		t.assumed = true
	}
	t.arrival, t.start, t.took = arrival, start, time.Duration(took)
	return t, kept, nil
}

// state returns what the states of the row say of it; whether it was cancelled, too.
func (r *tableReader) state() (why drop, word string) {
	for i := range r.at[fieldState] {
		text := strings.ToLower(r.rows.cell(r.at[fieldState][i].columns[0]))
		first, _, _ := strings.Cut(text, " ") // CANCELLED by 1000
		if first != "" && word == "" {
			word = first
		}
		if why, ok := r.states[first]; ok {
			return why, first
		}
	}
	return kept, word
}

// take takes a row.
func (r *tableReader) take() error {
	id, _ := r.value(fieldID)
	said, word := r.state()
	if r.done != "" && word != r.done {
		if why, ok := r.opens[word]; ok {
			r.open[strings.Clone(id)] = why
		}
		return nil
	}
	delete(r.open, id)
	array := ""
	if r.options.JoinArrays {
		array, _ = r.value(fieldArray)
	}
	if r.element != nil {
		var part bool
		if array, part = r.element(id); part {
			return r.drop(partOf)
		}
	}
	t, why, err := r.times()
	if err != nil {
		return err
	}
	if said == kept && t.took == 0 && strings.HasPrefix(word, "cancel") {
		said = neverRan
	}
	if said != kept && !(r.guesses() && said == neverRan && why == kept && t.started && t.ended && t.took > 0) {
		why = said // a row of an unknown log with a start and a later end ran, whatever its state means there
	}
	if why != kept {
		return r.drop(why)
	}
	if id != "" {
		this := run{strings.Clone(id), t.arrival, t.start, t.took}
		if r.seen[this] {
			return r.drop(repeated)
		}
		r.seen[this] = true
	}
	tasks, width, err := r.size()
	if err != nil {
		return err
	}
	if tasks == 0 {
		return r.drop(noSize)
	}
	if r.table.columns[fieldTasks] != nil && !r.single && len(r.at[fieldTasks])+len(r.at[fieldSlots]) == 0 {
		r.counts[oneTask]++
	}
	p := part{took: t.took, tasks: tasks}
	if p.estimate, err = r.estimate(); err != nil {
		return err
	}
	phase, err := r.integer(fieldPhase, 1<<16-1)
	if err != nil {
		return err
	}
	p.phase = int32(phase)
	j, err := r.job(&t, array)
	if err != nil {
		return err
	}
	atOnce := tasks
	if n := int(j.parallelism) * width; r.waves && j.parallelism > 0 && tasks > n {
		p.took /= time.Duration((tasks + n - 1) / n)
		r.counts[inWaves]++
		j.parallelism, atOnce = uint32(n), n
	} else if r.waves {
		j.parallelism = 0
	}
	if j.tasks += tasks; j.tasks > r.most {
		return r.tooMany()
	}
	if i := len(j.parts) - 1; i >= 0 && j.parts[i].took == p.took && j.parts[i].estimate == p.estimate && j.parts[i].phase == p.phase {
		j.parts[i].tasks += p.tasks
	} else {
		j.parts = append(j.parts, p)
	}
	if t.assumed {
		r.counts[arrivedAtStart]++
	}
	if t.started && t.start < t.arrival {
		r.counts[startedEarly]++
	}
	r.busy.add(&t, atOnce)
	return nil
}

// size returns how many tasks of one slot the row stands for, and of how many slots each of its tasks is.
func (r *tableReader) size() (tasks, width int, err error) {
	text, b := r.value(fieldTasks)
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= r.most && b.unit == "" && len(r.at[fieldSlots]) == 0 && r.options.SlotSize == "" {
		return n, 1, nil // what most logs have
	}
	one := big.NewRat(1, 1)
	n, each := one, one
	if len(r.at[fieldTasks]) > 0 && (b != nil || !r.single) {
		if n, err = r.counted1(fieldTasks, text, b); err != nil || n.Sign() == 0 {
			return 0, 0, err
		}
	}
	if len(r.at[fieldSlots]) > 0 {
		text, b := r.value(fieldSlots)
		if each, err = r.counted1(fieldSlots, text, b); err != nil || each.Sign() == 0 {
			return 0, 0, err
		}
	} else if r.slot.Cmp(one) != 0 || b != nil && b.unit != "" {
		n, each = one, n // the row is one task of this size
	}
	if !n.IsInt() {
		return 0, 0, r.bad(fieldTasks, b, fmt.Errorf("want a whole number, found %q; --slot-size says how much of it a slot is", short(text)))
	}
	each = new(big.Rat).Quo(each, r.slot)
	up := new(big.Int).Add(each.Num(), each.Denom())
	up.Quo(up.Sub(up, big.NewInt(1)), each.Denom())
	if !each.IsInt() {
		r.counts[roundedUp]++
	}
	total := new(big.Int).Mul(up, n.Num())
	if !total.IsInt64() || total.Int64() > int64(r.most) {
		return 0, 0, r.tooMany()
	}
	return int(total.Int64()), int(up.Int64()), nil
}

// counted1 returns an amount of the row, 0 if it is unknown.
func (r *tableReader) counted1(f field, text string, b *bound) (*big.Rat, error) {
	if b == nil {
		return new(big.Rat), nil
	}
	v, err := r.amount(text, b.unit)
	if err == nil && v.Sign() < 0 {
		err = fmt.Errorf("want a number from 0 on, found %q", short(text))
	}
	if err != nil {
		return nil, r.bad(f, b, err)
	}
	return v, nil
}

// tooMany returns the error of a job of too many tasks.
func (r *tableReader) tooMany() error {
	_, b := r.value(fieldTasks)
	return r.bad(fieldTasks, b, fmt.Errorf("more than %d tasks in a job; --slot-size N counts N of them as one", r.most))
}

// estimate returns what is told of each task of the row; 0 is nothing.
func (r *tableReader) estimate() (time.Duration, error) {
	f := fieldEstimate
	if len(r.at[f]) == 0 && r.options.Requested {
		if f = fieldRequested; len(r.at[f]) == 0 {
			return 0, &placed{1, 1, fmt.Errorf("--requested-time: there is no column of it; --columns requested=TITLE:UNIT names one; there are %s", strings.Join(quoted(r.rows.titles()), ", "))}
		}
	}
	ns, b, err := r.time(f)
	if err != nil {
		return 0, err
	}
	if b == nil || ns <= 0 {
		if r.options.Requested {
			r.counts[noEstimate]++
		}
		return 0, nil
	}
	return time.Duration(ns), nil
}

// integer reads a whole number from 0 to most; 0 if it is unknown.
func (r *tableReader) integer(f field, most uint64) (uint64, error) {
	text, b := r.value(f)
	if b == nil {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > most {
		return 0, r.bad(f, b, fmt.Errorf("want a whole number from 0 to %d, found %q", most, short(text)))
	}
	return n, nil
}

// text returns the text of a field. It is kept once, however many jobs have it.
func (r *tableReader) text(f field) string {
	text, _ := r.value(f)
	if text == "" {
		return ""
	}
	if kept, ok := r.texts[text]; ok {
		return kept
	}
	text = strings.Clone(text)
	r.texts[text] = text
	return text
}

// job returns the job of the row: that of earlier rows with the same text in the column job, or another one.
func (r *tableReader) job(t *times, array string) (*logged, error) {
	key, _ := r.value(fieldJob)
	if r.joined != nil {
		key = r.joined(key)
	}
	if r.options.JoinArrays && array != "" {
		key = array
	}
	if j := r.known[key]; j != nil && key != "" {
		j.arrival = min(j.arrival, t.arrival)
		return j, nil
	}
	line, _ := r.rows.place(0)
	j := &logged{arrival: t.arrival, file: r.file, line: line, name: r.text(fieldName), pool: r.text(fieldPool)}
	if text, b := r.value(fieldWeight); b != nil {
		w, err := strconv.ParseFloat(text, 64)
		if err != nil || !(w >= 1.0/(1<<16) && w < 1<<32) {
			return nil, r.bad(fieldWeight, b, fmt.Errorf("want a number from 2^-16 to below 2^32, found %q", short(text)))
		}
		j.weight = w
	}
	n, err := r.integer(fieldParallelism, math.MaxUint32)
	if err != nil {
		return nil, err
	}
	j.parallelism = uint32(n)
	deadline, b, err := r.time(fieldDeadline)
	if err != nil {
		return nil, err
	}
	if b != nil && deadline <= t.arrival {
		return nil, r.bad(fieldDeadline, b, errors.New("it is not after the arrival"))
	}
	j.deadline = deadline
	if key != "" {
		r.known[strings.Clone(key)] = j
	}
	r.jobs = append(r.jobs, j)
	return j, nil
}

// end ends a file.
func (r *tableReader) end() {
	if o, ok := r.rows.(*objects); ok && len(r.jobs) == 0 && len(o.keys) > 0 {
		r.members = o.keys
	}
	for f := range numFields {
		for _, b := range r.at[f] {
			if c := (Column{f, b.title, b.unit}); b.given && !b.used && !slices.Contains(r.empty, c) {
				r.empty = append(r.empty, c)
			}
		}
	}
}

// notes has one line for each thing that was found, left out or assumed.
func (r *tableReader) notes() string {
	var b strings.Builder
	if len(r.columns) > 0 {
		slices.SortStableFunc(r.columns, func(a, b Column) int { return cmp.Compare(a.Field, b.Field) })
		fmt.Fprintf(&b, "columns: %s\n", visible.Text(r.columns.String()))
	}
	if r.steps {
		b.WriteString("the columns are those of --from sacct, which leaves out the steps of jobs\n")
	}
	if len(r.empty) > 0 {
		fmt.Fprintf(&b, "columns without a value in any row: %s\n", visible.Text(r.empty.String()))
	}
	if len(r.members) > 0 && len(r.jobs) == 0 {
		fmt.Fprintf(&b, "members of the first object: %s\n", strings.Join(quoted(r.members), ", "))
	}
	dropped := r.dropped
	for _, why := range r.open {
		dropped[why]++
	}
	for why, n := range dropped {
		if n > 0 {
			fmt.Fprintf(&b, "%s: %d\n", dropTexts[why], n)
		}
	}
	for what, n := range r.counts {
		if n > 0 {
			fmt.Fprintf(&b, "%s: %d\n", remarkTexts[what], n)
		}
	}
	if most := r.busy.most(); most > 0 {
		fmt.Fprintf(&b, "slots in use at the same time, at most: %d (a cluster such as -c %dx1)\n", most, most)
	}
	return b.String()
}

// A run is what tells a row from others with the same ID: a job that was started again.
type run struct {
	id             string
	arrival, start int64
	took           time.Duration
}

// Busy records when slots were in use.
type busy struct {
	starts, ends []change
	unknown      bool // of a row it is not known
}

type change struct {
	at    int64
	tasks int
}

func (u *busy) add(t *times, tasks int) {
	if !t.started || t.start > math.MaxInt64-int64(t.took) {
		u.unknown, u.starts, u.ends = true, nil, nil
	}
	if !u.unknown {
		u.starts, u.ends = append(u.starts, change{t.start, tasks}), append(u.ends, change{t.start + int64(t.took), tasks})
	}
}

// most returns how many slots were in use at a time, at most; 0 if that is not known.
func (u *busy) most() (most int) {
	earlier := func(a, b change) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(u.starts, earlier)
	slices.SortFunc(u.ends, earlier)
	used, k := 0, 0
	for _, s := range u.starts {
		for k < len(u.ends) && u.ends[k].at <= s.at {
			used -= u.ends[k].tasks
			k++
		}
		used += s.tasks
		most = max(most, used)
	}
	return most
}

// list yields the jobs by arrival, with IDs from 1 on. The first arrives at 0, unless times are kept.
func (r *tableReader) list() iter.Seq2[*sim.Job, error] {
	slices.SortStableFunc(r.jobs, func(a, b *logged) int { return cmp.Compare(a.arrival, b.arrival) })
	return func(yield func(*sim.Job, error) bool) {
		for i, l := range r.jobs {
			zero := r.jobs[0].arrival
			if r.options.KeepTimes {
				if zero < 0 {
					yield(nil, r.jobs[0].fault("--keep-times: it arrives before the zero of the log's times"))
					return
				}
				zero = 0
			}
			j, err := l.job(sojourn.JobID(i+1), zero)
			if i > 0 {
				r.jobs[i] = nil // it is in the workload now
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}

// fault returns an error at the first row of the job.
func (l *logged) fault(reason string) error {
	return &trace.Error{File: l.file, Line: max(l.line, 1), Column: 1, Reason: reason}
}

// job makes a job.
func (l *logged) job(id sojourn.JobID, zero int64) (*sim.Job, error) {
	j := &sim.Job{Job: sojourn.Job{ID: id, Name: l.name, Pool: l.pool, Weight: l.weight, Parallelism: l.parallelism}, At: sojourn.Time(l.arrival - zero)}
	if j.At < 0 {
		return nil, l.fault("it arrives more than 292 years after the first job")
	}
	if l.deadline != 0 {
		if j.Deadline = sojourn.Time(l.deadline - zero); j.Deadline <= j.At {
			return nil, l.fault("its deadline is more than 292 years after the first job")
		}
	}
	slices.SortStableFunc(l.parts, func(a, b part) int { return cmp.Compare(a.phase, b.phase) })
	work := uint64(0)
	for k := 0; len(l.parts) > 0; k++ {
		n, tasks := 0, 0
		for n < len(l.parts) && l.parts[n].phase == int32(k) {
			high, low := bits.Mul64(uint64(l.parts[n].took), uint64(l.parts[n].tasks))
			if work += low; high > 0 || low > math.MaxInt64 || work > math.MaxInt64 {
				return nil, l.fault("the sum of the times of the job's tasks is out of range: it is at most 292 years; --columns duration=TITLE:ms says that they are milliseconds")
			}
			tasks += l.parts[n].tasks
			n++
		}
		if n == 0 {
			return nil, l.fault(fmt.Sprintf("the job has a row of phase %d, but none of phase %d: phases count from 0", l.parts[0].phase, k))
		}
		phase, times := sojourn.Phase{Tasks: tasks}, sim.Times{Each: l.parts[0].took}
		phase.Estimate = l.parts[0].estimate
		if parts := l.parts[:n]; n > 1 {
			took, told := make([]time.Duration, 0, tasks), make([]time.Duration, 0, tasks)
			for _, p := range parts {
				for range p.tasks {
					took, told = append(took, p.took), append(told, p.estimate)
				}
			}
			if !alike(took) {
				times = sim.Times{List: took}
			}
			if !alike(told) {
				phase.Estimate, phase.Estimates = 0, told
			}
		}
		if l.needs != nil {
			phase.Needs = l.needs[k]
		}
		j.Phases, j.Times, j.AnyClass = append(j.Phases, phase), append(j.Times, times), append(j.AnyClass, true)
		l.parts = l.parts[n:]
	}
	return j, nil
}

// alike reports whether all times are equal; there is at least one.
func alike(times []time.Duration) bool {
	return !slices.ContainsFunc(times, func(t time.Duration) bool { return t != times[0] })
}
