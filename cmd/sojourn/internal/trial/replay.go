package trial

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// PolicyHeader is the header of a history that names its policy.
const PolicyHeader = "policy"

// A Replayed is what came of a replay.
type Replayed struct {
	File       string      `json:"file"`
	Policy     string      `json:"policy"`
	Calls      int         `json:"calls"` // that were answered alike
	Equal      bool        `json:"equal"`
	Difference *difference `json:"difference,omitempty"`
	Schema     int         `json:"schema"`
}

// A difference is a history.Difference in JSON, as lines of a history.
type difference struct {
	Line         int           `json:"line"`
	Recorded     string        `json:"recorded"`
	Replayed     string        `json:"replayed"`
	Explanations []explanation `json:"explanations,omitempty"`

	file string
	jobs []sojourn.JobID // which are about
}

// File returns the file that Line counts in: a segment, if the history is a journal.
func (d *difference) File() string { return d.file }

// An explanation is how a policy explains a job just before the call that differs.
type explanation struct {
	Policy string        `json:"policy"`
	Job    sojourn.JobID `json:"job"`
	Attrs  []attribute   `json:"explain"`
}

type attribute struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (r *Replayed) Write(w io.Writer) error {
	d := r.Difference
	if d == nil {
		_, err := io.WriteString(w, format.Hang("", fmt.Sprintf("%s: %s, all equal under %s", format.Visible(r.File), format.Count(r.Calls, "call"), r.Policy)))
		return err
	}
	_, err := io.WriteString(w, format.Hang("", fmt.Sprintf("%s:%d: first difference, after %s", format.Visible(d.file), d.Line, format.Count(r.Calls, "equal call")))+
		format.Hang("recorded: ", d.Recorded)+format.Hang("replayed: ", d.Replayed))
	for _, e := range d.Explanations {
		var words []string
		for _, a := range e.Attrs {
			words = append(words, a.Key+"="+format.Visible(a.Value))
		}
		if err == nil {
			_, err = io.WriteString(w, strings.Join(format.Wrap(fmt.Sprintf("%s, job %d: %s", e.Policy, e.Job, strings.Join(words, ", ")), format.Width(), "  "), "\n")+"\n")
		}
	}
	return err
}

// Replaying says how to replay a history.
type Replaying struct {
	Policy string        // to ask; "" for the one that the history names
	Other  string        // if not "", it is asked, and explained beside Policy
	Until  *sojourn.Time // the time of the last calls; nil for all
}

// errUntil ends a replay.
var errUntil = errors.New("later than asked for")

// Replay replays a history on a policy, up to the first difference. There it asks that policy and the one that the history
// names, or Policy and Other, to explain the jobs that the two answers are about.
func Replay(policies catalog.Catalog, src *Source, how Replaying) (*Replayed, error) {
	named, err := header(src)
	if err != nil {
		return nil, err
	}
	asked, beside, err := choose(policies, src, named, how)
	if err != nil {
		return nil, err
	}
	result := &Replayed{File: src.Name, Policy: asked.String(), Schema: format.Schema}
	p, err := newPolicy(policies, asked)
	if err != nil {
		return nil, err
	}
	read := 0
	err = history.Replay(p, func(yield func(history.Entry, error) bool) {
		for e, err := range src.entries() {
			if err == nil && how.Until != nil && timeOf(&e) > *how.Until {
				err = errUntil
			}
			read++
			if !yield(e, err) {
				return
			}
			if e.Kind != history.Header {
				result.Calls++
			}
		}
	})
	var d *history.Difference
	switch {
	case errors.As(err, &d):
		result.Difference = &difference{Line: d.Recorded.Line, Recorded: d.Recorded.String(), Replayed: d.Got.String(), file: d.Recorded.File}
		if d.Recorded.Kind == history.Assign {
			err = result.Difference.explain(policies, src, read-1, d, append([]catalog.Spec{asked}, beside...))
		} else {
			err = nil
		}
	case errors.Is(err, errUntil):
		err = nil
	}
	if err != nil {
		return nil, badHistory(err)
	}
	result.Equal = d == nil
	return result, nil
}

func timeOf(e *history.Entry) sojourn.Time {
	if e.Kind == history.Observe {
		return e.Event.At
	}
	return e.At
}

// header returns the header that names the policy.
func header(src *Source) (named history.Entry, err error) {
	for e, err := range src.entries() {
		if err != nil {
			return named, badHistory(err)
		}
		if e.Kind != history.Header {
			break
		}
		if e.Name == PolicyHeader {
			named = e
		}
	}
	return named, nil
}

// PolicyOf returns the policy that decided in a history: the given one, or if that is "" the
// one that the history names. made makes a new one.
func PolicyOf(policies catalog.Catalog, src *Source, given string) (name string, made func() (sojourn.Policy, error), err error) {
	named, err := header(src)
	if err != nil {
		return "", nil, err
	}
	spec, _, err := choose(policies, src, named, Replaying{Policy: given})
	if err != nil {
		return "", nil, err
	}
	return spec.String(), func() (sojourn.Policy, error) { return newPolicy(policies, spec) }, nil
}

// choose returns the policy to ask, and those that explain a difference beside it.
func choose(policies catalog.Catalog, src *Source, named history.Entry, how Replaying) (asked catalog.Spec, beside []catalog.Spec, err error) {
	first, fromFile := how.Policy, how.Policy == ""
	if fromFile {
		if first = named.Value; first == "" {
			return asked, nil, usage.Errorf("no policy: %s does not name one, so give -p, such as -p fsp", src.Name)
		}
	}
	if asked, err = oneSpec(policies, first); err != nil {
		if fromFile {
			err = &trace.Error{File: named.File, Line: named.Line, Column: 1, Reason: "the policy that the history names: " + err.Error()}
		}
		return asked, nil, err
	}
	if how.Other != "" {
		other, err := oneSpec(policies, how.Other)
		return other, []catalog.Spec{asked}, err
	}
	if own, err := oneSpec(policies, named.Value); err == nil && named.Value != "" && own.String() != asked.String() {
		beside = append(beside, own)
	}
	return asked, beside, nil
}

func oneSpec(policies catalog.Catalog, spec string) (catalog.Spec, error) {
	specs, err := ParsePolicies(policies, []string{spec})
	if err == nil && len(specs) != 1 {
		err = usage.Errorf("replay takes one policy, %s names %d", spec, len(specs))
	}
	if err != nil {
		return catalog.Spec{}, err
	}
	return specs[0], nil
}

// explain makes the calls before a difference again, and asks each policy about the jobs of the two answers.
func (d *difference) explain(policies catalog.Catalog, src *Source, entries int, about *history.Difference, specs []catalog.Spec) error {
	for _, a := range []*history.Entry{&about.Recorded, &about.Got} {
		if id := a.Assignment.Task.Job; a.OK && !slices.Contains(d.jobs, id) {
			d.jobs = append(d.jobs, id)
		}
	}
	for _, spec := range specs {
		p, err := newPolicy(policies, spec)
		if err != nil {
			return err
		}
		left := entries
		err = history.Replay(p, func(yield func(history.Entry, error) bool) {
			for e, err := range src.entries() {
				if left--; left < 0 || !yield(e, err) {
					return
				}
			}
		})
		if differs := (*history.Difference)(nil); errors.As(err, &differs) {
			continue // it went another way before
		} else if err != nil {
			return err
		}
		e, ok := sojourn.As[sojourn.Explainer](p)
		if !ok {
			continue
		}
		for _, id := range d.jobs {
			if attrs, ok := e.Explain(id); ok {
				x := explanation{Policy: spec.String(), Job: id}
				for _, a := range attrs {
					x.Attrs = append(x.Attrs, attribute{a.Key, a.Value.String()})
				}
				d.Explanations = append(d.Explanations, x)
			}
		}
	}
	return nil
}

// badHistory returns the error of a history as one of bad input, if it is one.
func badHistory(err error) error {
	if bad := (*history.Error)(nil); errors.As(err, &bad) {
		return bad
	}
	return BadJournal(err)
}

// BadJournal returns the error of a journal as one of bad input, if it is one. Its column is that of the byte, from 1.
func BadJournal(err error) error {
	if bad := (*journal.DamageError)(nil); errors.As(err, &bad) {
		return &trace.Error{File: bad.File, Line: 1, Column: int(bad.Offset) + 1, Reason: fmt.Sprintf("byte %d: %s", bad.Offset, bad.Reason)}
	}
	return err
}
