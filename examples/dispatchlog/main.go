// Command dispatchlog reads what a program with a queue of its own has logged of each call: its flow (a tenant, a user), when it came into the queue, when it was
// dispatched and when it ended. It prints how long the calls of each flow have waited, and how long they would have waited had package kit/flow said which flow is next.
//
//	go run ./examples/dispatchlog [-weights gold=3,free=1] [-workers 8] log.csv
//
// The log is CSV with the titles flow, queued, started and ended, and cost if calls cost something else than time; or JSON lines with these keys. Instants are
// seconds or dates of RFC 3339; a cost is a whole number. Calls without a start or an end are left out, and counted. Without -workers, as many calls run at a time as did at most.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/kit/flow"
)

// A call is a line of the log, with instants in nanoseconds.
type call struct {
	flow                   string
	queued, started, ended int64
	cost                   uint64
}

func main() {
	log.SetFlags(0)
	weights := flag.String("weights", "", "weights of flows, `FLOW=WEIGHT,...`; that of others is 1")
	workers := flag.Int("workers", 0, "how many `calls` run at a time; 0: as many as did at most")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("dispatchlog: want one log, or - for stdin")
	}
	if err := run(os.Stdout, flag.Arg(0), *weights, *workers); err != nil {
		log.Fatal("dispatchlog: ", err)
	}
}

func run(w io.Writer, file, weights string, workers int) error {
	in := os.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	calls, open, err := read(in)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	of, err := parseWeights(weights, calls)
	if err != nil {
		return err
	}
	switch {
	case workers < 0:
		return fmt.Errorf("-workers: %d, want at least 1", workers)
	case workers == 0:
		workers = atMost(calls)
	}
	picked, err := pick(calls, of, workers)
	if err != nil {
		return err
	}
	print(w, calls, picked, workers)
	if open > 0 {
		fmt.Fprintf(w, "\nleft out: %d calls without a start or an end\n", open)
	}
	return nil
}

// read reads CSV or JSON lines. The calls come in the order in which they were queued. open counts those that have not started or not ended.
func read(in io.Reader) (calls []call, open int, err error) {
	r := bufio.NewReader(in)
	if mark, _ := r.Peek(3); string(mark) == "\uFEFF" {
		r.Discard(3)
	}
	first, err := r.Peek(1)
	if err != nil {
		return nil, 0, fmt.Errorf("the log is empty")
	}
	next := fromJSON(r)
	if first[0] != '{' {
		next = fromCSV(r)
	}
	for {
		line, row, err := next()
		if err == io.EOF {
			break
		}
		var c call
		if err == nil {
			c, err = parse(row)
		}
		switch {
		case err == errOpen:
			open++
		case err != nil:
			return nil, 0, fmt.Errorf("line %d: %w", line, err)
		default:
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 {
		return nil, 0, fmt.Errorf("no calls that have ended")
	}
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(a.queued, b.queued) })
	return calls, open, nil
}

// rows returns the next row, with its keys in lower case.
type rows func() (line int, row map[string]string, err error)

// fromCSV reads cells between commas, semicolons or tabs.
func fromCSV(in *bufio.Reader) rows {
	r := csv.NewReader(in)
	head, _ := in.Peek(4096)
	head, _, _ = bytes.Cut(head, []byte("\n"))
	for _, comma := range ";\t" {
		if bytes.Count(head, []byte(string(comma))) > bytes.Count(head, []byte(string(r.Comma))) {
			r.Comma = comma
		}
	}
	titles, err := r.Read()
	for i := range titles {
		titles[i] = strings.ToLower(strings.TrimSpace(titles[i]))
	}
	for _, key := range keys {
		if err == nil && !slices.Contains(titles, key) {
			err = fmt.Errorf("no title %s among %q", key, titles)
		}
	}
	return func() (int, map[string]string, error) {
		if err != nil {
			return 1, nil, err
		}
		cells, err := r.Read()
		if err != nil {
			line := 0
			if bad, ok := err.(*csv.ParseError); ok {
				line, err = bad.Line, bad.Err
			}
			return line, nil, err
		}
		line, _ := r.FieldPos(0)
		row := map[string]string{}
		for i, title := range titles {
			row[title] = cells[i]
		}
		return line, row, nil
	}
}

func fromJSON(in io.Reader) rows {
	s, line := bufio.NewScanner(in), 0
	return func() (int, map[string]string, error) {
		for line++; ; line++ {
			if !s.Scan() {
				return line, nil, cmp.Or(s.Err(), io.EOF)
			}
			if len(bytes.TrimSpace(s.Bytes())) > 0 {
				break
			}
		}
		if !json.Valid(s.Bytes()) {
			return line, nil, fmt.Errorf("want one JSON object")
		}
		var values map[string]any
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.UseNumber()
		err := d.Decode(&values)
		row := map[string]string{"started": "", "ended": ""}
		for key, value := range values { //sojourn:unordered into a map
			if value != nil {
				row[strings.ToLower(key)] = fmt.Sprint(value)
			}
		}
		return line, row, err
	}
}

var (
	keys    = []string{"flow", "queued", "started", "ended"}
	errOpen = errors.New("the call has not started or not ended")
)

func parse(row map[string]string) (c call, err error) {
	for _, key := range keys {
		if _, ok := row[key]; !ok {
			return c, fmt.Errorf("no key %s", key)
		}
	}
	if row["started"] == "" || row["ended"] == "" {
		return c, errOpen
	}
	c.flow = row["flow"]
	for i, to := range []*int64{&c.queued, &c.started, &c.ended} {
		key := keys[i+1]
		if *to, err = instant(row[key]); err != nil {
			return c, fmt.Errorf("%s: %w", key, err)
		}
	}
	if c.started < c.queued || c.ended < c.started {
		return c, fmt.Errorf("queued %s, started %s, ended %s: want them in this order", row["queued"], row["started"], row["ended"])
	}
	c.cost = uint64(c.ended - c.started)
	if text, ok := row["cost"]; ok {
		if c.cost, err = strconv.ParseUint(text, 10, 64); err != nil {
			return c, fmt.Errorf("cost: %q is no whole number", text)
		}
	}
	return c, nil
}

// instant reads seconds or a date.
func instant(text string) (int64, error) {
	if x, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(x) < 1<<33 {
		return int64(math.Round(x * 1e9)), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, fmt.Errorf("%q is neither seconds nor a date such as 2025-01-31T15:04:05Z", text)
	}
	return at.UnixNano(), nil
}

func parseWeights(text string, calls []call) (map[string]uint64, error) {
	of := map[string]uint64{}
	for item := range strings.SplitSeq(text, ",") {
		name, weight, ok := strings.Cut(item, "=")
		if item == "" {
			continue
		}
		n, err := strconv.ParseUint(weight, 10, 48)
		if !ok || err != nil || n == 0 {
			return nil, fmt.Errorf("-weights: %q is not FLOW=WEIGHT, with a whole number from 1 to 2^48-1", item)
		}
		if !slices.ContainsFunc(calls, func(c call) bool { return c.flow == name }) {
			return nil, fmt.Errorf("-weights: no call is of the flow %q", name)
		}
		of[name] = n
	}
	return of, nil
}

// atMost returns how many calls ran at a time at most.
func atMost(calls []call) (most int) {
	type change struct {
		at int64
		by int
	}
	var list []change
	for _, c := range calls {
		if c.ended > c.started {
			list = append(list, change{c.started, 1}, change{c.ended, -1})
		}
	}
	slices.SortFunc(list, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	running := 0
	for _, x := range list {
		running += x.by
		most = max(most, running)
	}
	return max(most, 1)
}

// pick returns when each call starts if package flow says which flow is next. A call is expected to cost what those of its flow have cost of late.
func pick(calls []call, weights map[string]uint64, workers int) ([]int64, error) {
	type running struct {
		call     int
		of       flow.Flow
		end      int64
		expected uint64
	}
	f := flow.New(flow.Options{})
	queues, means := map[flow.Flow][]int{}, map[flow.Flow]uint64{}
	flows := map[string]flow.Flow{}
	var out []running // by end
	starts := make([]int64, len(calls))
	next := 0
	for done := 0; done < len(calls); {
		now := int64(math.MaxInt64)
		if next < len(calls) {
			now = calls[next].queued
		}
		if len(out) > 0 {
			now = min(now, out[0].end)
		}
		for ; len(out) > 0 && out[0].end == now; out = out[1:] {
			x := out[0]
			f.Correct(x.of, x.expected, calls[x.call].cost)
			means[x.of] += calls[x.call].cost/8 - means[x.of]/8
			done++
		}
		for ; next < len(calls) && calls[next].queued == now; next++ {
			name := calls[next].flow
			of, ok := flows[name]
			if !ok {
				var err error
				if of, err = f.Join(flow.Root, name, max(weights[name], 1)); err != nil {
					return nil, err
				}
				flows[name] = of
				means[of] = calls[next].cost
			}
			queues[of] = append(queues[of], next)
			f.SetActive(of, true)
		}
		for len(out) < workers {
			of, ok := f.Least()
			if !ok {
				break
			}
			i := queues[of][0]
			queues[of] = queues[of][1:]
			f.SetActive(of, len(queues[of]) > 0)
			x := running{i, of, now + calls[i].ended - calls[i].started, means[of]}
			f.Charge(of, x.expected)
			starts[i] = now
			at, _ := slices.BinarySearchFunc(out, x.end+1, func(o running, end int64) int { return cmp.Compare(o.end, end) })
			out = slices.Insert(out, at, x)
		}
	}
	return starts, nil
}

// print prints what each flow has had, and how long its calls have waited and would have waited.
func print(w io.Writer, calls []call, picked []int64, workers int) {
	type waits struct{ was, would []int64 }
	all := map[string]*waits{}
	for i, c := range calls {
		x := all[c.flow]
		if x == nil {
			x = &waits{}
			all[c.flow] = x
		}
		x.was, x.would = append(x.was, c.started-c.queued), append(x.would, picked[i]-c.queued)
	}
	fmt.Fprintf(w, "%d calls of %d flows, %d at a time: waits in seconds\n\n", len(calls), len(all), workers)
	fmt.Fprintf(w, "%-12s %7s   %10s %9s %9s   %10s %9s %9s\n", "flow", "calls", "was: mean", "99 %", "longest", "would be:", "99 %", "longest")
	names := make([]string, 0, len(all))
	for name := range all { //sojourn:unordered sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		x := all[name]
		fmt.Fprintf(w, "%-12s %7d   %10s %9s %9s   %10s %9s %9s\n", name, len(x.was), mean(x.was), part(x.was, 99), part(x.was, 100), mean(x.would), part(x.would, 99), part(x.would, 100))
	}
}

func mean(list []int64) string {
	sum := 0.0
	for _, x := range list {
		sum += float64(x)
	}
	return fmt.Sprintf("%.1f", sum/float64(len(list))/1e9)
}

// part returns the least wait that so many per cent are not above.
func part(list []int64, percent int) string {
	slices.Sort(list)
	return fmt.Sprintf("%.1f", float64(list[(len(list)*percent+99)/100-1])/1e9)
}
