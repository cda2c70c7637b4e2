package sojourntest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	format "github.com/sojourn-sched/sojourn/history"
	"pgregory.net/rapid"
)

// Replay repeats a failure from its text: the history that a failure prints, from the line "sojourn history 1" on. Make
// it a test, with the arguments of [Run] or [FuzzEvents]:
//
//	sojourntest.Replay(t, newPolicy, sojourntest.Options{}, `
//		sojourn history 1
//		repeat: calls, all questions
//		@0s SlotAdded 0
//		@0s JobArrived 1 | 2
//		@0s Assign 0 -> 1/0/0#1
//		@0s TaskFailed 1/0/0#1 slot=0
//		@0s Assign 0 -> 1/0/0#1
//	`)
//
// Replay makes the calls, whatever their answers are now, and judges the answers by the laws. The header says what the
// failure rests on besides the calls; without it, Replay does everything that Run does with a history. Blanks at the
// beginning of a line do not count.
func Replay(t *testing.T, newPolicy func() sojourn.Policy, o Options, text string) {
	t.Helper()
	replayText(t, newPolicy, &o, text)
}

func replayText(tb rapid.TB, newPolicy func() sojourn.Policy, o *Options, text string) {
	tb.Helper()
	h, w, err := readHistory(text)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	if w.changing && len(o.Changed) == 0 {
		tb.Fatalf("the failure rests on Options.Changed, which is empty")
	}
	if b := w.run(newPolicy, o, h); b != nil {
		tb.Fatalf("%s\n%s", b, b.histories(o))
	}
}

// An ending says what follows the calls of a history.
type ending int

const (
	justCalls      ending = iota
	thenReplays           // slots that may not be offered are offered, and rewritings of the history are replayed
	thenEverything        // before that, all jobs are brought to their end
)

// A way is how the calls of a history are made and judged.
type way struct {
	ending   ending
	thorough bool // all questions are asked after each call
	plain    bool // names and times are small in rewritten histories
	changing bool // the options change with each arrival
	only     filter
	seed     int  // of the choices that rewrite a history
	adapts   bool // reports that were accepted are about the attempt that runs on their slot now
}

// The words of a header that stand for a way.
const (
	repeatHeader = "repeat"
	wordThorough = "all questions"
	wordPlain    = "small names"
	wordChanging = "changed options"
	wordSeed     = "seed "
)

var endingWords = [...]string{"calls", "calls and replays", "calls, ends and replays"}

// String returns the value of the header.
func (w way) String() string {
	words := []string{endingWords[w.ending]}
	for word, is := range w.words() {
		if *is {
			words = append(words, word)
		}
	}
	if w.seed > 0 {
		words = append(words, wordSeed+strconv.Itoa(w.seed))
	}
	return strings.Join(words, "; ")
}

// words yields the words that may be there, and where they are kept.
func (w *way) words() func(func(string, *bool) bool) {
	return func(yield func(string, *bool) bool) {
		_ = yield(wordThorough, &w.thorough) && yield(wordPlain, &w.plain) && yield(wordChanging, &w.changing)
	}
}

// parseWay reads what String returns.
func parseWay(text string) (w way, err error) {
	for i, word := range strings.Split(text, "; ") {
		known := false
		for k := range ending(len(endingWords)) {
			if i == 0 && word == endingWords[k] {
				w.ending, known = k, true
			}
		}
		for name, is := range w.words() {
			if i > 0 && word == name {
				*is, known = true, true
			}
		}
		if number, ok := strings.CutPrefix(word, wordSeed); i > 0 && ok {
			w.seed, err = strconv.Atoi(number)
			known = err == nil
		}
		if !known {
			return w, fmt.Errorf("the header %s has %q, which means nothing to this version", repeatHeader, word)
		}
	}
	return w, nil
}

// readHistory reads the text of a failure.
func readHistory(text string) (h history, w way, err error) {
	var lines strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines.WriteString(strings.TrimSpace(line) + "\n")
	}
	w = way{ending: thenEverything, thorough: true, plain: true}
	for e, err := range format.Read(strings.NewReader(lines.String()), "the text of the failure") {
		if err != nil {
			return nil, w, err
		}
		switch {
		case e.Kind == format.Header && e.Name == repeatHeader:
			if w, err = parseWay(e.Value); err != nil {
				return nil, w, err
			}
		case e.Kind == format.Observe:
			c := call{ev: e.Event, err: sentinel(e.Err)}
			errors.As(e.Err, &c.rejection)
			h = append(h, c)
		case e.Kind == format.Assign:
			h = append(h, call{assign: true, slot: e.Slot, a: e.Assignment, ok: e.OK})
		}
	}
	return h, w, nil
}

// run makes the calls of h in a new trial, whatever their outcomes, and returns the law that this breaks, or nil.
func (w way) run(newPolicy func() sojourn.Policy, o *Options, h history) *breach {
	tr := newTrial(newPolicy, o, newChance(uint64(w.seed), 0))
	tr.thorough, tr.plain = w.thorough, w.plain
	tr.extreme = h.lastDeadline() > lastTime || h.timeBefore(len(h)) > lastTime/2
	tr.names = smallNames(o)
	tr.names.classes = h.classes(tr.names.classes)
	tr.only = w.only
	tr.begin(w.changing)
	calls := math.MaxInt
	b := breachOf(func() {
		for _, c := range h {
			if !c.assign {
				if c.ev.Job != nil {
					c.ev.Job = clone(c.ev.Job)
				}
				if slot := tr.m.slot(c.ev.Slot.ID); w.adapts && c.reports() && slot != nil && slot.task != nil {
					c.ev.Task, c.ev.Attempt = slot.task.id, slot.task.attempts
				}
				tr.observe(c.ev)
			} else if slot := tr.m.slot(c.slot); slot != nil && slot.task == nil {
				tr.assign(c.slot)
			}
		}
		if calls = len(tr.h); w.ending == justCalls {
			return
		}
		tr.misuse()
		if w.ending == thenEverything {
			tr.settle(seeking)
			tr.drain()
		} else if len(tr.h) > 0 {
			tr.compareTwin()
		}
		tr.replays()
	})
	if b != nil {
		// The end of the trial adds its own calls each time.
		b.made, b.history, b.way = tr.h[:min(calls, len(tr.h))], tr.h, w
	}
	return b
}

// report returns the law that is broken and the smallest history found that breaks it.
func (b *breach) report(newPolicy func() sojourn.Policy, o *Options) string {
	least := b.shrink(newPolicy, o)
	how := "To repeat it, give the first history as text to sojourntest.Replay."
	if h, w, err := readHistory(least.firstHistory(o)); err != nil || !least.same(w.run(newPolicy, o, h)) {
		how = "The same calls do not break the law each time: the policy is not deterministic."
	}
	return fmt.Sprintf("%s\n%s\n%s\n", least, least.histories(o), how)
}

// same reports whether other is a breach of the same law.
func (b *breach) same(other *breach) bool { return other != nil && other.law == b.law }

// histories returns what firstHistory does, and what follows or is compared with it.
func (b *breach) histories(o *Options) string {
	made, shown := b.made, b.shown
	text := fmt.Sprintf("\nBroken by this history:\n\n%s", b.firstHistory(o))
	switch n := min(len(made), len(shown)); {
	case !made[:n].sameCalls(shown[:n]):
		return fmt.Sprintf("%s\nThis must then go the same way:\n\n%s", text, shown.text("rewritten", "by the law of "+nameOf(b.law), nil))
	case len(shown) > n:
		_, rest := cutLines(shown.text("", "", nil), above-1+n)
		return fmt.Sprintf("%s\nAnd then:\n\n%s", text, rest)
	}
	return text
}

// firstHistory returns the history of the trial as text that Replay reads.
func (b *breach) firstHistory(o *Options) string {
	arrivals := 0
	return b.made.text(repeatHeader, b.way.String(), func(c *call) string {
		if !b.way.changing || !c.arrives() {
			return ""
		}
		arrivals++
		if k := arrivals % (1 + len(o.Changed)); k > 0 {
			return fmt.Sprintf("saved, and restored under Options.Changed[%d]", k-1)
		}
		return "saved, and restored under the options of newPolicy"
	})
}

// arrives reports whether a job arrived by a call.
func (c *call) arrives() bool {
	return !c.assign && c.err == nil && !c.panics && (c.ev.Kind == sojourn.JobArrived || c.ev.Kind == sojourn.JobAdopted)
}

// reports reports whether an attempt that runs was reported on.
func (c *call) reports() bool {
	k := c.ev.Kind
	return !c.assign && c.err == nil && (k == sojourn.TaskProgress || k == sojourn.TaskFinished || k == sojourn.TaskFailed || k == sojourn.TaskRefused || k == sojourn.TaskPinned)
}

// sameCalls reports whether two histories have the same calls, whatever their outcomes.
func (h history) sameCalls(other history) bool {
	return slices.EqualFunc(h, other, func(a, b call) bool { return a.String() == b.String() })
}

// cutLines cuts text after n lines.
func cutLines(text string, n int) (before, after string) {
	at := 0
	for range n {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return text[:at], text[at:]
}
