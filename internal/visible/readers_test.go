package visible_test

import (
	"context"
	"encoding"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/kit/flow"
	"github.com/sojourn-sched/sojourn/kit/priority"
	"github.com/sojourn-sched/sojourn/kit/release"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/plan"
	"github.com/sojourn-sched/sojourn/research/shadow"
	"github.com/sojourn-sched/sojourn/research/trace"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
)

// evils are what a name may have that terminals obey.
var evils = []string{"\x1b[2J", "\u202e", "\a", "\r", "\u0085", "\x00", "\ufeff", "\u2028", "\xff", "\n", "\t"}

const evilName = "p\x1b]0;x\a\u202e\r\n\t\x00\u0085\u2028\ufeff\xff"

// An errorsSeen fails the test if an error has what a terminal obeys. It counts errors.
type errorsSeen struct {
	t *testing.T
	n int
}

func (e *errorsSeen) see(what string, err error) {
	if err == nil {
		return
	}
	e.n++
	if got := err.Error(); strings.ContainsFunc(got, obeyed) || !utf8.ValidString(got) {
		e.t.Errorf("%s: error %q", what, got)
	}
}

// policies returns what makes each kind of policy that has snapshots.
func policies(t *testing.T) map[string]func() encoding.BinaryUnmarshaler {
	of := func(make func() sojourn.Policy) func() encoding.BinaryUnmarshaler {
		return func() encoding.BinaryUnmarshaler { return make().(encoding.BinaryUnmarshaler) }
	}
	return map[string]func() encoding.BinaryUnmarshaler{
		"account.Account": func() encoding.BinaryUnmarshaler {
			return account.New(constructors.FIFO.Must(fifo.Options{}))
		},
		"forecast.Watch": func() encoding.BinaryUnmarshaler {
			return forecast.New(constructors.FIFO.Must(fifo.Options{}))
		},
		"baseline.Backfill":           of(constructors.EASY.With(baseline.BackfillOptions{})),
		"baseline.DeadlineConstraint": of(constructors.Deadline.With(baseline.DeadlineConstraintOptions{})),
		"baseline.FSP":                of(constructors.FSP.With(baseline.FSPOptions{})),
		"baseline.LAS":                of(constructors.LAS.With(baseline.LASOptions{})),
		"baseline.List":               of(constructors.HUWF.With(baseline.ListOptions{})),
		"baseline.Local":              of(constructors.Local.With(baseline.LocalOptions{})),
		"baseline.SRPT":               of(constructors.SRPT.With(baseline.SRPTOptions{})),
		"fair.Policy": func() encoding.BinaryUnmarshaler {
			p, err := pooled.Fair(fair.Options{Pools: map[string]fair.Pool{evilName: {}}})
			if err != nil {
				t.Fatal(err)
			}
			return p.(encoding.BinaryUnmarshaler)
		},
		"fifo.Policy":      of(constructors.FIFO.With(fifo.Options{})),
		"hfsp.Policy":      of(constructors.HFSP.With(hfsp.Options{})),
		"leastwork.Policy": of(constructors.LeastWork.With(leastwork.Options{})),
		"mars.Policy":      of(constructors.MarS.With(mars.Options{})),
		"pfsp.Policy":      of(constructors.PFSP.With(pfsp.Options{})),
		"priority.Policy": func() encoding.BinaryUnmarshaler {
			p, err := priority.New(constructors.FIFO.With(fifo.Options{}), priority.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return p.(encoding.BinaryUnmarshaler)
		},
		"release.Policy": func() encoding.BinaryUnmarshaler {
			return release.New(constructors.FIFO.Must(fifo.Options{})).(encoding.BinaryUnmarshaler)
		},
		"flow.Flows": func() encoding.BinaryUnmarshaler {
			f := flow.New(flow.Options{})
			if _, err := f.Join(flow.Root, "a", 1); err != nil {
				t.Fatal(err)
			}
			return f
		},
		"rtmr.Policy": of(constructors.RTMR.With(rtmr.Options{})),
		"td.Policy":   of(constructors.TD.With(td.Options{})),
	}
}

// No error about a snapshot of another policy, of other options, or of names that were changed on the way has a character
// that terminals obey.
func TestErrorsOfSnapshots(t *testing.T) {
	other, err := snapshot.Append(nil, snapshot.Header{Policy: evilName, Options: []snapshot.Option{snapshot.Opt(evilName, evilName)}}, func(*snapshot.Writer) {})
	if err != nil {
		t.Fatal(err)
	}
	for name, make := range policies(t) {
		seen := errorsSeen{t: t}
		p := make()
		seen.see(name, p.UnmarshalBinary(other))
		seen.see(name, p.UnmarshalBinary([]byte(evilName)))
		if p, ok := p.(sojourn.Policy); ok {
			for _, ev := range []sojourn.Event{
				{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 1}},
				{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Name: "name of the job", Pool: "pool", Phases: []sojourn.Phase{{Tasks: 2, Estimate: 5}}}},
			} {
				seen.see(name, p.Observe(ev))
			}
		}
		saved, err := p.(encoding.BinaryAppender).AppendBinary(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := 16; i < len(saved); i++ {
			evil := evils[i%len(evils)]
			for _, forged := range []string{string(saved[:i]) + evil + string(saved[min(i+len(evil), len(saved)):]), string(saved[:i]) + evil + string(saved[i:])} {
				data := []byte(forged)
				snapshot.Seal(data)
				seen.see(name, make().UnmarshalBinary(data))
			}
		}
		if seen.n < 10 {
			t.Errorf("%s: %d errors", name, seen.n)
		}
	}
}

// No error about an option in words, or about a job in bytes or JSON, does.
func TestErrorsOfTexts(t *testing.T) {
	for name, read := range texts {
		seen := errorsSeen{t: t}
		for _, evil := range append(evils, evilName, "{"+evilName, `{"Files":[{"`+evilName, `"`+evilName+`"`) {
			seen.see(name, read(evil))
		}
		if seen.n < 10 {
			t.Errorf("%s: %d errors", name, seen.n)
		}
	}
}

// text returns what reads a text into a new value.
func text[T any, P interface {
	*T
	encoding.TextUnmarshaler
}]() func(string) error {
	return func(s string) error { return P(new(T)).UnmarshalText([]byte(s)) }
}

var texts = map[string]func(string) error{
	"fair.Order":           text[fair.Order](),
	"fair.Ties":            text[fair.Ties](),
	"hfsp.Preemption":      text[hfsp.Preemption](),
	"pfsp.Order":           text[pfsp.Order](),
	"rtmr.Booking":         text[rtmr.Booking](),
	"rtmr.Order":           text[rtmr.Order](),
	"td.HotPolicy":         text[td.HotPolicy](),
	"vqueue.Late":          text[vqueue.Late](),
	"plan.ParsePlanner":    func(s string) error { _, err := plan.ParsePlanner(s); return err },
	"snapshot.DecodeJob":   func(s string) error { _, err := snapshot.DecodeJob([]byte(s)); return err },
	"snapshot.DecodePool":  func(s string) error { _, err := snapshot.DecodePool([]byte(s)); return err },
	"trace.ParseCluster":   func(s string) error { _, err := trace.ParseCluster(s); return err },
	"Inputs.UnmarshalJSON": func(s string) error { return new(sojourn.Inputs).UnmarshalJSON([]byte(s)) },
	"live.Pool.ChangePool": func(s string) error {
		policy, err := fair.New(fair.Options{})
		if err != nil {
			return err
		}
		p, err := live.New(policy, live.Options{Slots: 1})
		if err != nil {
			return err
		}
		defer p.Close(context.Background())
		return p.ChangePool(s, func(n *sojourn.Pool) { n.Weight = -1 })
	},
}

// No error of a journal does, wherever its folder is and whatever is in its files.
func TestErrorsOfJournals(t *testing.T) {
	seen := errorsSeen{t: t}
	dir := filepath.Join(t.TempDir(), strings.ReplaceAll(evilName, "\x00", ""))
	open := func(read func(string) (journal.Store, error), dir string) journal.Store {
		s, err := read(dir)
		seen.see("open", err)
		return s
	}
	open(journal.ReadFiles, dir)
	if err := os.WriteFile(dir, nil, 0o666); err != nil {
		t.Skip(err) // the file system has no such names
	}
	open(journal.OpenFiles, dir)
	open(journal.OpenFiles, dir+"/x")
	open(journal.OpenFiles, evilName) // no name of a file
	open(journal.FollowFiles, evilName)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	s := open(journal.OpenFiles, dir)
	open(journal.OpenFiles, dir) // it is in use
	j, err := journal.Open(s, constructors.FIFO.Must(fifo.Options{}), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Name: evilName, Pool: evilName, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
			t.Fatal(err)
		}
		seen.see("attach", j.Attach(sojourn.JobID(1000), []byte(evilName)))
		seen.see("keep", j.Keep(evilName, []byte(evilName)))
	}
	j.Close()
	seen.see("closed", j.Observe(sojourn.Event{Kind: sojourn.Tick}))
	file := s.Name(1)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(data); i += len(data) / 12 {
		forged := []byte(string(data[:i]) + evils[i%len(evils)] + string(data[i:]))
		if err := os.WriteFile(file, forged, 0o666); err != nil {
			t.Fatal(err)
		}
		for range 2 { // once as one process finds it, and once as the next does
			if s := open(journal.OpenFiles, dir); s != nil {
				j, err := journal.Open(s, constructors.FIFO.Must(fifo.Options{}), journal.Options{})
				if seen.see("restore", err); err == nil {
					seen.see("close", j.Close())
				}
				s.Close()
			}
		}
		if s := open(journal.ReadFiles, dir); s != nil {
			seen.see("inspect", last(journal.Inspect(s)))
			seen.see("history", last(journal.History(s)))
			s.Close()
		}
	}
	for _, name := range []string{"00000009.journal", "00000003.journal"} { // what stands between is missing
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
		if s := open(journal.ReadFiles, dir); s != nil {
			seen.see("history", last(journal.History(s)))
			seen.see("inspect", last(journal.Inspect(s)))
			s.Close()
		}
	}
	if seen.n < 12 {
		t.Errorf("%d errors", seen.n)
	}
}

// No error about the name of a flow has such a character.
func TestErrorsOfFlows(t *testing.T) {
	seen := errorsSeen{t: t}
	f, n := flow.New(flow.Options{}), flow.Root
	for range flow.MaxDepth + 1 {
		_, err := f.Join(n, evilName, 0)
		seen.see("weight", err)
		m, err := f.Join(n, evilName, 1)
		if seen.see("deep", err); err == nil {
			_, err = f.Join(n, evilName, 1)
			seen.see("twice", err)
			seen.see("weight", f.SetWeight(m, 0))
			n = m
		}
	}
	if seen.n < 3*flow.MaxDepth {
		t.Errorf("%d errors", seen.n)
	}
}

// No error about the name of a policy that is to take over has such a character.
func TestErrorsOfSwaps(t *testing.T) {
	seen := errorsSeen{t: t}
	for _, named := range []func(string) (sojourn.Policy, error){
		nil,
		func(string) (sojourn.Policy, error) { return nil, nil },
		func(name string) (sojourn.Policy, error) { return nil, fmt.Errorf("no policy %s", name) },
	} {
		s, err := shadow.New(constructors.FIFO.Must(fifo.Options{}), constructors.FIFO.Must(fifo.Options{}), shadow.Options{Policy: named})
		if err != nil {
			t.Fatal(err)
		}
		seen.see("swap", s.Swap(evilName))
	}
	if seen.n < 3 {
		t.Errorf("%d errors", seen.n)
	}
}

// Each function of the library that reads text or bytes, and may fail, is tried by a test of this package, or has a reason
// not to be.
func TestAllReadersAreTried(t *testing.T) {
	api, err := os.ReadFile("../../testdata/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{
		"account.Account.Restore": "events, and the snapshot that snapshot.Restore reads",
		"door.Door.Pause":         "its name is made safe first, by poolName", "door.Door.SetWeight": "its name is made safe first, by poolName",
		"journal.Journal.UnmarshalBinary": "that of the policy in it",
		"live.Handler":                    "it is the owner's",
		"live.Save":                       "its errors name numbers",
		"shadow.Options":                  "its function is the owner's",
		"statuspage.WithPolicy":           "its function has no text",
		"snapshot.Append":                 "it writes", "snapshot.Restore": "through the policies",
	}
	tried := map[string]bool{"journal.OpenFiles": true, "journal.FollowFiles": true, "journal.ReadFiles": true, "journal.Journal.Attach": true, "journal.Journal.Keep": true, "workload.Generator.Jobs": true, "workload.Lookup": true, "history.Read": true, "flow.Flows.Join": true, "shadow.Shadow.Swap": true}
	for _, name := range regexp.MustCompile(`trace\.Read\w*`).FindAllString(source(t), -1) {
		tried[name] = true
	}
	for name := range policies(t) {
		tried[name+".UnmarshalBinary"] = true
	}
	for name := range texts {
		tried[name], tried[name+".UnmarshalText"], tried["sojourn."+name] = true, true, true
	}
	found := 0
	for line := range strings.Lines(string(api)) {
		m := regexp.MustCompile(`^pkg \S*?(\w+), (?:func |type |method \(\*?(\w+)\) )(\w+)\S*? ?.*\(.*(?:io\.Reader|\[\]byte|string).*\) .*error`).FindStringSubmatch(line)
		if m == nil || strings.Contains(line, " interface, ") || regexp.MustCompile(`^(AppendBinary|Marshal\w+|GobEncode)$`).MatchString(m[3]) {
			continue
		}
		name := m[1] + "." + m[3]
		if m[2] != "" {
			name = m[1] + "." + m[2] + "." + m[3]
		}
		if found++; !tried[name] && reasons[name] == "" {
			t.Errorf("%s is tried by no test of what errors show: %s", name, line)
		}
	}
	if found < 40 {
		t.Errorf("%d functions were found in the API", found)
	}
}

// source returns the text of the test of readers of files.
func source(t *testing.T) string {
	b, err := os.ReadFile("errors_test.go")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
