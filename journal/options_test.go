package journal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
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
	m := newMemory()
	j := mustOpen(t, m, newFair(1, "a", "b"), Options{})
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
	want := facts(slices.Collect(j.Account().Facts()))
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
		was := m.String()
		s, err := openFiles(m, "dir")
		if err != nil {
			t.Fatal(err)
		}
		j, err := Open(s, tc.policy, Options{})
		switch {
		case tc.err != "":
			if err == nil || !errors.Is(err, sojourn.ErrUnsupported) && !errors.Is(err, sojourn.ErrRejected) || !strings.Contains(err.Error(), tc.err) || m.String() != was {
				t.Errorf("%s: %v, want an error with %s, and the journal was\n%s\nand is\n%s", tc.what, err, tc.err, was, m)
			}
			s.Close()
		case err != nil:
			t.Errorf("%s: %v", tc.what, err)
			s.Close()
		default:
			if got := facts(slices.Collect(j.Account().Facts())); got != want {
				t.Errorf("%s: the facts are\n%s\nwant\n%s", tc.what, got, want)
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
