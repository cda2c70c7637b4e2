package scenario

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/history"
)

// A story is everything that happens in a cluster except decisions of the
// policy.
type story struct {
	events []sojourn.Event                 // in the order of time
	times  map[sojourn.JobID]time.Duration // of tasks, if they differ from the estimates
	until  sojourn.Time
	slots  sojourn.SlotID // number of slots added by slots commands
}

// parse reads a story. Each command becomes a line of a history, which package
// history reads.
func parse(file, told string) (*story, error) {
	s := &story{times: map[sojourn.JobID]time.Duration{}, until: math.MaxInt64}
	var text strings.Builder
	text.WriteString("sojourn history 1\n")
	at := map[int]int{} // line of the story by line of the history
	n, ended := 1, false
	for i, line := range strings.Split(told, "\n") {
		fail := func(format string, args ...any) (*story, error) {
			return nil, fmt.Errorf("%s:%d: %s", file, i+1, fmt.Sprintf(format, args...))
		}
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if ended {
			return fail("%q after run", words[0])
		}
		lines := []string{line}
		var err error
		switch {
		case words[0] == "run":
			ended = true
			lines, err = nil, s.readRun(words[1:])
		case words[0] == "slots":
			lines, err = s.slotLines(words[1:])
		case words[0] == "arrive":
			lines, err = s.arriveLines(words[1:])
		case words[0][0] != '@':
			err = fmt.Errorf("unknown command %q; known are slots, arrive, run, and @ with a time and an event", words[0])
		}
		if err != nil {
			return fail("%v", err)
		}
		for _, l := range lines {
			n++
			at[n] = i + 1
			text.WriteString(l + "\n")
		}
	}
	if !ended {
		return nil, fmt.Errorf("%s: the story does not end with run", file)
	}
	for e, err := range history.Read(strings.NewReader(text.String()), file) {
		if bad, ok := err.(*history.Error); ok {
			return nil, fmt.Errorf("%s:%d: %s", file, at[bad.Line], bad.Reason)
		}
		if err != nil {
			return nil, err
		}
		place := fmt.Sprintf("%s:%d", file, at[e.Line])
		switch last := len(s.events) - 1; {
		case e.Kind != history.Observe:
			return nil, fmt.Errorf("%s: what the policy decides is not part of the story", place)
		case e.Err != nil:
			return nil, fmt.Errorf("%s: what the policy answers is not part of the story", place)
		case e.Event.At < 0 || last >= 0 && e.Event.At < s.events[last].At:
			return nil, fmt.Errorf("%s: time goes back to %v", place, e.Event.At)
		}
		s.events = append(s.events, e.Event)
	}
	return s, nil
}

// fields returns the values of words key=value.
func fields(words []string, known ...string) (map[string]string, error) {
	values := map[string]string{}
	for _, word := range words {
		if strings.HasPrefix(word, "#") {
			break
		}
		key, value, ok := strings.Cut(word, "=")
		_, twice := values[key]
		switch {
		case !ok || !strings.Contains(" "+strings.Join(known, " ")+" ", " "+key+" "):
			return nil, fmt.Errorf("unexpected %q; known are %s", word, strings.Join(known, ", "))
		case twice:
			return nil, fmt.Errorf("duplicate %q", key)
		}
		values[key] = value
	}
	return values, nil
}

func (s *story) readRun(words []string) error {
	values, err := fields(words, "until")
	if until, ok := values["until"]; ok && err == nil {
		var d time.Duration
		d, err = time.ParseDuration(until)
		s.until = sojourn.Time(d)
	}
	return err
}

// slotLines returns the events of "slots N [at=T] [class=C]".
func (s *story) slotLines(words []string) (lines []string, err error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("want slots N")
	}
	n, err := strconv.ParseUint(words[0], 10, 10)
	if err != nil {
		return nil, fmt.Errorf("want up to 1023 slots, found %q", words[0])
	}
	values, err := fields(words[1:], "at", "class")
	if err != nil {
		return nil, err
	}
	for range n {
		s.slots++
		lines = append(lines, fmt.Sprintf("@%s SlotAdded %d class=%s", cmp.Or(values["at"], "0s"), s.slots, cmp.Or(values["class"], "0")))
	}
	return lines, nil
}

// arriveLines returns the event of "arrive ID at=T tasks=N ...".
func (s *story) arriveLines(words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("want arrive ID at=T tasks=N")
	}
	job := []string{"name", "pool", "weight", "deadline"}
	values, err := fields(words[1:], append(job, "at", "tasks", "est", "time", "class")...)
	if err != nil {
		return nil, err
	}
	if values["at"] == "" || values["tasks"] == "" {
		return nil, fmt.Errorf("want arrive ID at=T tasks=N")
	}
	if text, ok := values["time"]; ok {
		id, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("want the number of a job, found %q", words[0])
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("want a time above 0, found %q", text)
		}
		s.times[sojourn.JobID(id)] = d
	}
	line := fmt.Sprintf("@%s JobArrived %s", values["at"], words[0])
	for _, key := range job {
		if v, ok := values[key]; ok {
			line += " " + key + "=" + v
		}
	}
	line += fmt.Sprintf(" | %sx%s class=%s", values["tasks"], cmp.Or(values["est"], "0s"), cmp.Or(values["class"], "0"))
	return []string{line}, nil
}
