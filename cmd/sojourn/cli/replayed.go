package cli

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/trace"
)

// policyHeader is the header of a history that names its policy.
const policyHeader = "policy"

// A replayed is what came of a replay.
type replayed struct {
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

func (r *replayed) write(w io.Writer) error {
	if d := r.Difference; d != nil {
		_, err := fmt.Fprintf(w, "%s:%d: first difference, after %s\nrecorded: %s\nreplayed: %s\n",
			r.File, d.Line, count(r.Calls, "equal call"), d.Recorded, d.Replayed)
		return err
	}
	_, err := fmt.Fprintf(w, "%s: %s, all equal under %s\n", r.File, count(r.Calls, "call"), r.Policy)
	return err
}

// replay replays a history on the policy that spec names, or the history itself
// if spec is empty.
func replay(policies catalog.Catalog, r io.Reader, name, spec string) (*replayed, error) {
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
		if first.Name == policyHeader {
			named = first
		}
	}
	if err != nil {
		return nil, badHistory(err)
	}
	fromFile := spec == ""
	if fromFile {
		if spec = named.Value; spec == "" {
			return nil, usagef("no policy: %s does not name one, so give -p, such as -p fsp", name)
		}
	}
	specs, err := parsePolicies(policies, []string{spec})
	if err == nil && len(specs) != 1 {
		err = usagef("replay takes one policy, %s names %d", spec, len(specs))
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

	result := &replayed{File: name, Policy: specs[0].String()}
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
