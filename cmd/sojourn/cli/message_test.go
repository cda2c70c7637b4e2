package cli_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/cli"
	"github.com/sojourn-sched/sojourn/fifo"
)

// A refuser refuses events of a kind, which breaks the contract.
type refuser struct {
	sojourn.Policy
	kind sojourn.EventKind
}

func (r refuser) Observe(ev sojourn.Event) error {
	if ev.Kind == r.kind {
		return &sojourn.EventError{Event: ev, Err: sojourn.ErrInvalidJob}
	}
	return r.Policy.Observe(ev)
}

// The name of the command is in front of an error once, although errors of package sojourn begin with it, too. When
// something happened is said as it was.
func TestNameOnceInErrors(t *testing.T) {
	for _, kind := range []sojourn.EventKind{sojourn.SlotAdded, sojourn.JobArrived, sojourn.TaskFinished} {
		policy := cli.NewPolicy("mine", "refuses events", func(options) (sojourn.Policy, error) {
			p, err := fifo.New(fifo.Options{})
			return refuser{p, kind}, err
		})
		var stderr bytes.Buffer
		status := cli.Run([]string{"run", "--sample", "-q", "-p", "mine"}, nil, io.Discard, &stderr, policy)
		said := stderr.String()
		if status == 0 || !strings.HasPrefix(said, "sojourn: policy mine: ") || strings.Count(said, "sojourn: ") != 1 ||
			kind == sojourn.TaskFinished && strings.Contains(said, " at 0s") {
			t.Errorf("with %v refused, status %d: %s", kind, status, said)
		}
	}
}
