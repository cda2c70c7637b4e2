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

// A name that holds what errors of package sojourn begin with stands in messages as it is.
func TestNamesInErrorsStay(t *testing.T) {
	for _, name := range []string{"sojourn: a", "a: sojourn: b"} {
		for _, args := range [][]string{
			{"run", "-w", name, "-c", "1x1", "-p", "fifo"}, {"validate", name}, {"explain", name, "1"}, {"journal", "inspect", name}, {"journal", "verify", name},
			{"journal", "export", name}, {"replay", name}, {"forecast", name}, {"report", name}, {"paper", name},
			{"run", "--sample", "-p", "fair:pools=" + name}, {"convert", "--from", "swf", name}, {"run", "-w", "/dev/null", "-c", name, "-p", "fifo"},
			{"run", "--sample", "-p", "fifo", "--estimates", name}, {"sweep", "--sample", "-p", "fifo", "--vary", name},
		} {
			var stderr bytes.Buffer
			if status := cli.Run(args, strings.NewReader(""), io.Discard, &stderr); status == 0 || !strings.Contains(stderr.String(), name) {
				t.Errorf("%q: status %d: %s", args, status, stderr.String())
			}
		}
	}
}

// An empty name of a file or folder, as an unset variable of a shell gives, is an error: nothing that was asked for is left out.
func TestEmptyPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"run", "--sample", "-p", "fifo", "-o", ""}, {"run", "--sample", "-p", "fifo", "--output="}, {"run", "-w", "", "-c", "1x1", "-p", "fifo"},
		{"compare", "--sample", "-p", "fifo", "-o", ""}, {"plan", "--sample", "-p", "huwf", "-o", ""}, {"paper", "td", "-o", ""},
		{"report", "out", "-o", ""}, {"sweep", "--sample", "-p", "fifo", "--vary", "load=1", "-o", ""},
	} {
		var stdout, stderr bytes.Buffer
		if status := cli.Run(args, strings.NewReader(""), &stdout, &stderr); status != 2 || stdout.Len() > 0 || !strings.Contains(stderr.String(), "it is empty") {
			t.Errorf("%q: status %d: %.200s%s", args, status, stdout.String(), stderr.String())
		}
	}
}
