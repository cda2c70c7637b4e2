package choice_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/sojourntest/choice"
)

// A failed test keeps the last failure that rapid reports, and goes on.
type failed struct {
	*testing.T
	text string
}

func (f *failed) Errorf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }
func (f *failed) Fatalf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }
func (f *failed) FailNow()                          {}
func (f *failed) Fail()                             {}

// A mute policy has no optional interfaces.
type mute struct{ sojourn.Policy }

// Check fails if the policy follows another rule, in the ranking of an Explainer or in Assign,
// and if it declines a slot that a job can use.
func TestCheckFindsAnotherRule(t *testing.T) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0"} { // these failures are wanted
		old := flag.Lookup(name).Value.String()
		flag.Set(name, value)
		defer flag.Set(name, old)
	}
	last := func(w *choice.World, c sojourn.Class, a, b *choice.Job) bool { return a.Seq > b.Seq }
	first := func(w *choice.World, c sojourn.Class, a, b *choice.Job) bool { return a.Seq < b.Seq }
	for name, tc := range map[string]struct {
		most int // classes; rankings are compared if there is one
		wrap func(sojourn.Policy) sojourn.Policy
		rule func(w *choice.World, c sojourn.Class, a, b *choice.Job) bool
		want string
	}{
		"ranking":  {1, func(p sojourn.Policy) sojourn.Policy { return p }, last, "AppendRanking"},
		"decision": {2, func(p sojourn.Policy) sojourn.Policy { return mute{p} }, last, "want one of job"},
		"decline":  {2, func(p sojourn.Policy) sojourn.Policy { return lazy{p} }, first, "= {Task:0/0/0"},
	} {
		f := &failed{T: t}
		rapid.Check(f, func(t *rapid.T) {
			p, err := fifo.New(fifo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			choice.Check(t, tc.wrap(p), choice.Options{Classes: tc.most, Phases: 3}, tc.rule)
		})
		if !strings.Contains(f.text, tc.want) {
			t.Fatalf("%s: failure %q, want %q", name, f.text, tc.want)
		}
	}
}

// A lazy policy declines every slot.
type lazy struct{ sojourn.Policy }

func (lazy) Assign(sojourn.SlotID) (sojourn.Assignment, bool) { return sojourn.Assignment{}, false }
