package sojourn_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/rtmr"
)

// The units of a table of keys, and the kinds of their values.
var unitKinds = map[string][]slog.Kind{
	"text":     {slog.KindString},
	"bool":     {slog.KindBool},
	"list":     {slog.KindAny},
	"group":    {slog.KindGroup},
	"time":     {slog.KindDuration}, // of the driver
	"duration": {slog.KindDuration},
	"s":        {slog.KindFloat64},
	"slot s":   {slog.KindFloat64},
	"1/s":      {slog.KindFloat64},
	"1":        {slog.KindFloat64, slog.KindUint64},
	"tasks":    {slog.KindInt64, slog.KindUint64},
	"slots":    {slog.KindInt64, slog.KindFloat64},
	"jobs":     {slog.KindInt64},
	"phases":   {slog.KindInt64},
	"nodes":    {slog.KindInt64},
	"places":   {slog.KindInt64},
	"job ID":   {slog.KindUint64},
}

// The doc comments of policies list the keys of Explain: every key seen is listed, and the
// stories below show every listed key.
func TestKeysOfExplain(t *testing.T) {
	type found struct {
		units map[string]string // by key
		seen  map[string][]slog.Kind
	}
	types := map[reflect.Type]*found{}
	for _, story := range stories() {
		p, err := story.make()
		if err != nil {
			t.Fatalf("%s: %v", story.name, err)
		}
		of := reflect.TypeOf(p).Elem()
		f := types[of]
		if f == nil {
			f = &found{units: map[string]string{}, seen: map[string][]slog.Kind{}}
			types[of] = f
			dir, _ := folderOf(of.PkgPath())
			documentedKeys(t, dir, of.Name(), "Explain", f.units)
		}
		s := &stage{t: t, name: story.name, p: p, explain: p.(sojourn.Explainer).Explain}
		s.look = func(key string, kind slog.Kind) {
			if slices.Contains(f.seen[key], kind) {
				return
			}
			f.seen[key] = append(f.seen[key], kind)
			if unit, ok := f.units[key]; !ok {
				t.Errorf("%s: Explain tells %q, which the comment on %v.Explain does not list", story.name, key, of)
			} else if !slices.Contains(unitKinds[unit], kind) {
				t.Errorf("%s: %q is of kind %v, and its unit is %s", story.name, key, kind, unit)
			}
		}
		story.tell(s)
		without, _ := story.make()
		for i, ev := range []sojourn.Event{
			{Kind: sojourn.SlotAdded},
			{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Deadline: 1 << 60, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 1}}}},
			{Kind: sojourn.SlotRemoved},
		} {
			if ev.At = sojourn.Time(i); without.Observe(ev) != nil {
				break
			}
		}
		attrs, _ := without.(sojourn.Explainer).Explain(1)
		for _, a := range attrs {
			if a.Key == "no_slots" {
				s.look(a.Key, a.Value.Kind())
			}
		}
	}
	for of, f := range types {
		for _, key := range slices.Sorted(maps.Keys(f.units)) {
			if f.seen[key] == nil {
				t.Errorf("the comment on %v.Explain lists %q, which no story has seen", of, key)
			}
		}
	}
}

var (
	tableHead = regexp.MustCompile(`^\tkey +unit +meaning$`)
	elsewhere = regexp.MustCompile(`(?s)keys\s+are\s+those\s+of\s+\[(\w+)\.(\w+)\.(\w+)\]`)
)

// documentedKeys adds to units the keys that the comment on a method lists, and those of the
// method that it refers to.
func documentedKeys(t *testing.T, dir, receiver, method string, units map[string]string) {
	doc := methodDoc(t, dir, receiver, method)
	where := path.Join(dir, receiver+"."+method)
	if m := elsewhere.FindStringSubmatch(doc); m != nil {
		documentedKeys(t, "kit/"+m[1], m[2], m[3], units)
	} else if method == "Explain" {
		t.Errorf("%s: the comment does not refer to the keys that all policies have", where)
	}
	unit, meaning := 0, 0 // columns
	for line := range strings.Lines(doc) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case tableHead.MatchString(line):
			unit, meaning = strings.Index(line, "unit"), strings.Index(line, "meaning")
		case !strings.HasPrefix(line, "\t"):
			unit, meaning = 0, 0
		case unit > 0:
			if len(line) <= meaning {
				t.Errorf("%s: no meaning in %q", where, line)
				continue
			}
			key, in := strings.TrimSpace(line[:unit]), strings.TrimSpace(line[unit:meaning])
			if key == "" { // the meaning goes on
				continue
			}
			if unitKinds[in] == nil || strings.Contains(key, " ") {
				t.Errorf("%s: no key and unit in %q", where, line)
			}
			if _, twice := units[key]; twice {
				t.Errorf("%s: %q is listed twice", where, key)
			}
			units[key] = in
		}
	}
}

// methodDoc returns the comment on a method of a package of this module. The method may be one of
// an embedded struct, whose name is that of the receiver in lower case.
func methodDoc(t *testing.T, dir, receiver, method string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != method {
				continue
			}
			typ := f.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			switch x := typ.(type) { // of a generic type
			case *ast.IndexExpr:
				typ = x.X
			case *ast.IndexListExpr:
				typ = x.X
			}
			if id, ok := typ.(*ast.Ident); ok && (id.Name == receiver || id.Name == strings.ToLower(receiver)) {
				return f.Doc.Text()
			}
		}
	}
	t.Fatalf("%s: no method %s.%s", dir, receiver, method)
	return ""
}

// A stage plays a story: it asks a policy to explain each job after each event and each
// assignment.
type stage struct {
	t       *testing.T
	name    string
	p       sojourn.Policy
	explain func(sojourn.JobID) ([]slog.Attr, bool)
	look    func(key string, kind slog.Kind)

	now     sojourn.Time
	slots   []sojourn.SlotID
	running []sojourn.Assignment
}

// tell reports an event of this instant, and then a Tick if one is due.
func (s *stage) tell(ev sojourn.Event) {
	s.t.Helper()
	ev.At = s.now
	if err := s.p.Observe(ev); err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
	s.ask()
	if w, ok := s.p.(sojourn.Waker); ok && ev.Kind != sojourn.Tick {
		if at, ok := w.NextWake(); ok && at <= s.now {
			s.tell(sojourn.Event{Kind: sojourn.Tick})
		}
	}
}

// ask looks at the explanations of all jobs; the stories have jobs 1 to 9.
func (s *stage) ask() {
	for id := sojourn.JobID(1); id < 10; id++ {
		attrs, _ := s.explain(id)
		s.lookAt("", attrs)
	}
}

var number = regexp.MustCompile(`[0-9]+$`)

// lookAt looks at keys, and at the keys in groups unless another policy explains them.
func (s *stage) lookAt(group string, attrs []slog.Attr) {
	for _, a := range attrs {
		kind := a.Value.Kind()
		if kind != slog.KindGroup {
			s.look(group+a.Key, kind)
			continue
		}
		key := group + number.ReplaceAllString(a.Key, "N")
		if s.look(key, kind); key != "policy" {
			s.lookAt(key+".", a.Value.Group())
		}
	}
}

// add adds slots of a class, one on each of some nodes.
func (s *stage) add(c sojourn.Class, nodes ...sojourn.NodeID) {
	for _, n := range nodes {
		id := sojourn.SlotID(len(s.slots))
		s.slots = append(s.slots, id)
		s.tell(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Node: n, Rack: 1, Class: c}})
	}
}

// arrive reports a job that is due in an hour.
func (s *stage) arrive(kind sojourn.EventKind, id sojourn.JobID, pool string, phases ...sojourn.Phase) {
	s.t.Helper()
	s.tell(sojourn.Event{Kind: kind, Job: &sojourn.Job{ID: id, Pool: pool, Deadline: sojourn.Time(time.Hour), Phases: phases}})
}

// offer offers all free slots, and returns how many were taken.
func (s *stage) offer() (n int) {
	for _, id := range s.slots {
		if slices.ContainsFunc(s.running, func(a sojourn.Assignment) bool { return a.Slot == id }) {
			continue
		}
		if a, ok := s.p.Assign(id); ok {
			s.running = append(s.running, a)
			n++
			s.ask()
		}
	}
	return n
}

// wait lets time pass.
func (s *stage) wait(d time.Duration) {
	s.now += sojourn.Time(d)
	s.tell(sojourn.Event{Kind: sojourn.Tick})
}

// finish ends the first n running attempts.
func (s *stage) finish(n int) {
	for range min(n, len(s.running)) {
		a := s.running[0]
		s.running = s.running[1:]
		s.tell(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: time.Second})
	}
}

// drain runs everything that is left.
func (s *stage) drain() {
	for range 100 {
		s.wait(time.Second)
		s.finish(1)
		s.offer()
	}
}

// of returns a phase of tasks of 10 s, with inputs on node 1.
func of(c sojourn.Class, tasks, after int) sojourn.Phase {
	inputs := make([][]sojourn.NodeID, tasks)
	for i := range inputs {
		inputs[i] = []sojourn.NodeID{1}
	}
	return sojourn.Phase{Class: c, Tasks: tasks, After: after, Estimate: 10 * time.Second, Inputs: sojourn.MakeInputs(inputs)}
}

// A story is a fixed history.
type story struct {
	maker
	tell func(*stage)
}

func stories() (list []story) {
	for _, m := range placing {
		list = append(list, story{m, threeJobs})
	}
	for _, m := range rigid {
		list = append(list, story{m, rigidJobs})
	}
	with := func(name string, make func() (sojourn.Policy, error), tell func(*stage)) {
		list = append(list, story{maker{name, make}, tell})
	}
	with("easy with places", func() (sojourn.Policy, error) {
		return constructors.EASY(baseline.BackfillOptions{Places: 4})
	}, rigidJobs)
	with("conservative with places", func() (sojourn.Policy, error) {
		return constructors.Conservative(baseline.BackfillOptions{Places: 4})
	}, rigidJobs)
	with("dc that holds slots", func() (sojourn.Policy, error) {
		return constructors.Deadline(baseline.DeadlineConstraintOptions{HoldSlots: true})
	}, threeJobs)
	with("srpt with a reserve", func() (sojourn.Policy, error) {
		return constructors.SRPT(baseline.SRPTOptions{Reserve: 0.5})
	}, threeJobs)
	with("fsp with a reserve", func() (sojourn.Policy, error) {
		return constructors.FSP(baseline.FSPOptions{Reserve: 0.5})
	}, threeJobs)
	with("las with a reserve", func() (sojourn.Policy, error) {
		return constructors.LAS(baseline.LASOptions{Reserve: 0.5})
	}, threeJobs)
	with("pfsp with a reserve", func() (sojourn.Policy, error) {
		return constructors.PFSP(pfsp.Options{Reserve: 0.5})
	}, threeJobs)
	with("hfsp with a reserve", func() (sojourn.Policy, error) {
		return constructors.HFSP(hfsp.Options{Reserve: 0.5})
	}, threeJobs)
	with("mars with batches", func() (sojourn.Policy, error) {
		return constructors.MarS(mars.Options{Batch: 3 * time.Second, Commit: true})
	}, threeJobs)
	with("fair with pools", func() (sojourn.Policy, error) {
		return pooled.Fair(fair.Options{
			Pools: map[string]fair.Pool{
				"bounded": {Min: fair.Slots{0: 2}, Max: fair.Slots{0: 2}},
				"own":     {Policy: func() sojourn.Policy { return newFIFO(nil) }},
			},
			Preemption: fair.Preemption{MinTimeout: time.Second, Interval: time.Second},
		})
	}, func(s *stage) {
		s.add(0, 1, 1, 1, 1)
		s.arrive(sojourn.JobArrived, 1, "greedy", of(0, 8, 0))
		s.offer()
		s.arrive(sojourn.JobArrived, 2, "bounded", of(0, 8, 0))
		s.arrive(sojourn.JobArrived, 3, "own", of(0, 1, 0))
		for range 4 { // the minimum is claimed
			s.wait(time.Second)
		}
		s.drain()
	})
	with("fair with costs", func() (sojourn.Policy, error) {
		return pooled.Fair(fair.Options{Cost: fair.Cost{0: {1 << 28, 1}, 1: {1, 1 << 30}}})
	}, threeJobs)
	with("fair with places", func() (sojourn.Policy, error) { return pooled.Fair(fair.Options{Places: 8}) }, threeJobs)
	with("fair with a delay", func() (sojourn.Policy, error) {
		return pooled.Fair(fair.Options{Delay: 10 * time.Second})
	}, threeJobs)
	with("rtmr of which a slot is lost", func() (sojourn.Policy, error) { return constructors.RTMR(rtmr.Options{}) }, func(s *stage) {
		s.add(0, 1)
		s.arrive(sojourn.JobArrived, 1, "", of(0, 8, 0))
		s.tell(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 0}})
	})
	one := 1
	with("hfsp of narrow limits", func() (sojourn.Policy, error) {
		return constructors.HFSP(hfsp.Options{TrainingTasks: 3, TrainingSlots: &one, EarlySlots: &one, NodeDelay: 10 * time.Second})
	}, func(s *stage) {
		s.arrive(sojourn.JobAdopted, 1, "", of(0, 4, 0), of(1, 4, 1)) // there is no slot yet
		s.add(0, 2, 2, 2)                                             // far from all inputs
		s.add(0, 1)
		s.add(1, 1, 1)
		s.arrive(sojourn.JobArrived, 2, "", of(0, 6, 0))
		s.arrive(sojourn.JobArrived, 3, "", of(0, 2, 0)) // it is tiny, and owes what its first task takes
		s.offer()
		s.drain()
	})
	return list
}

// rigidJobs is a story of jobs of one phase, of which one at a time has room.
func rigidJobs(s *stage) {
	s.add(0, 1)
	for id := range sojourn.JobID(3) {
		s.arrive(sojourn.JobArrived, id+1, "", of(0, 2, 0))
	}
	s.drain()
}

// threeJobs is a story of three jobs of two phases, on four slots of class 0 and three of class
// 1. One job is cancelled while it runs.
func threeJobs(s *stage) {
	s.add(0, 1, 1, 2, 2)
	s.add(1, 1, 2, 3)
	for id := range sojourn.JobID(3) {
		s.arrive(sojourn.JobArrived, id+1, "", of(0, 8, 0), of(1, 1, 0))
	}
	for range 4 {
		s.wait(time.Second)
		s.offer()
	}
	s.finish(2)
	s.offer()
	s.tell(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}})
	s.drain()
}
