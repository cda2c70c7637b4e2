package trial

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/trace"
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
}

// A difference is a history.Difference in JSON, as lines of a history.
type difference struct {
	Line     int    `json:"line"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

func (r *Replayed) Write(w io.Writer) error {
	if d := r.Difference; d != nil {
		_, err := fmt.Fprintf(w, "%s:%d: first difference, after %s\nrecorded: %s\nreplayed: %s\n",
			r.File, d.Line, format.Count(r.Calls, "equal call"), d.Recorded, d.Replayed)
		return err
	}
	_, err := fmt.Fprintf(w, "%s: %s, all equal under %s\n", r.File, format.Count(r.Calls, "call"), r.Policy)
	return err
}

// Replay replays a history on the policy that spec names, or the history itself
// if spec is empty.
func Replay(policies catalog.Catalog, r io.Reader, name, spec string) (*Replayed, error) {
	next, stop := iter.Pull2(history.Check(history.Read(r, name)))
	defer stop()

	// Headers come first. What comes after them is put back.
	var (
		first history.Entry
		err   error
		more  = true
		named history.Entry
	)
	for more && err == nil {
		first, err, more = next()
		if first.Kind != history.Header {
			break
		}
		if first.Name == PolicyHeader {
			named = first
		}
	}
	if err != nil {
		return nil, badHistory(err)
	}
	fromFile := spec == ""
	if fromFile {
		if spec = named.Value; spec == "" {
			return nil, usage.Errorf("no policy: %s does not name one, so give -p, such as -p fsp", name)
		}
	}
	specs, err := ParsePolicies(policies, []string{spec})
	if err == nil && len(specs) != 1 {
		err = usage.Errorf("replay takes one policy, %s names %d", spec, len(specs))
	}
	if err != nil {
		if fromFile {
			err = &trace.Error{File: name, Line: named.Line, Column: 1, Reason: "the policy that the history names: " + err.Error()}
		}
		return nil, err
	}
	p, err := newPolicy(policies, specs[0])
	if err != nil {
		return nil, err
	}

	result := &Replayed{File: name, Policy: specs[0].String()}
	err = history.Replay(p, func(yield func(history.Entry, error) bool) {
		for e, err := first, error(nil); more; e, err, more = next() {
			if !yield(e, err) {
				return
			}
			result.Calls++
		}
	})
	var d *history.Difference
	if errors.As(err, &d) {
		result.Difference = &difference{d.Recorded.Line, d.Recorded.String(), d.Got.String()}
	} else if err != nil {
		return nil, badHistory(err)
	}
	result.Equal = d == nil
	return result, nil
}

// badHistory returns the error of a history as one of bad input, if it is one.
func badHistory(err error) error {
	if bad := (*history.Error)(nil); errors.As(err, &bad) {
		return &trace.Error{File: bad.File, Line: bad.Line, Column: bad.Column, Reason: bad.Reason}
	}
	return err
}
