package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/journal"
)

// The policy has other options at a restart. Weights change; a pool that is gone while it has a job is an error that names it
// and leaves the journal as it is, so that the pool can come back.
func TestOtherOptions(t *testing.T) {
	newFair := func(weight float64, pools ...string) sojourn.Policy {
		o := fair.Options{Strict: true, Pools: map[string]fair.Pool{}}
		for _, name := range pools {
			o.Pools[name] = fair.Pool{Weight: weight}
		}
		return pooled.Fair.Must(o)
	}
	dir := t.TempDir()
	open := func(p sojourn.Policy) (*journal.Journal, error) {
		s, err := journal.OpenFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(s, p, journal.Options{})
		if err != nil {
			s.Close()
		}
		return j, err
	}
	facts := func(j *journal.Journal) string { return fmt.Sprint(slices.Collect(j.Account().Facts())) }
	files := func() string {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %x\n", filepath.Base(name), data)
		}
		return b.String()
	}
	j, err := open(newFair(1, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Pool: "a", Phases: []sojourn.Phase{{Tasks: 2}}}},
	} {
		if err := j.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := j.Assign(0); !ok {
		t.Fatal("nothing starts")
	}
	want := facts(j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		what   string
		policy sojourn.Policy
		err    string
	}{
		{"another weight", newFair(2, "a", "b"), ""},
		{"a pool less, without jobs", newFair(1, "a"), ""},
		{"a pool less, with a job", newFair(1, "b"), `"a"`},
		{"a pool more", newFair(1, "a", "b", "c"), ""},
	} {
		was := files()
		j, err := open(tc.policy)
		switch {
		case tc.err != "":
			if err == nil || !errors.Is(err, sojourn.ErrUnsupported) && !errors.Is(err, sojourn.ErrRejected) || !strings.Contains(err.Error(), tc.err) || files() != was {
				t.Errorf("%s: %v, want an error with %s, and the journal was\n%s\nand is\n%s", tc.what, err, tc.err, was, files())
			}
		case err != nil:
			t.Errorf("%s: %v", tc.what, err)
		default:
			if got := facts(j); got != want {
				t.Errorf("%s: the facts are\n%s\nwant\n%s", tc.what, got, want)
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
