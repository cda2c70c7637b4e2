package td_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/td"
)

// A stage plays small schedules. The slots of node n are numbered from 100*n on.
type stage struct {
	t   *testing.T
	p   *td.Policy
	now sojourn.Time
	run map[sojourn.SlotID]sojourn.Assignment
}

func newStage(t *testing.T, opts td.Options, slots ...int) *stage {
	s := &stage{t: t, p: newWith(opts), run: map[sojourn.SlotID]sojourn.Assignment{}}
	for i, count := range slots {
		for k := range count {
			n := sojourn.NodeID(i + 1)
			s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(100*int(n) + k), Node: n}})
		}
	}
	return s
}

func (s *stage) observe(ev sojourn.Event) {
	s.t.Helper()
	ev.At = s.now
	if err := s.p.Observe(ev); err != nil {
		s.t.Fatal(err)
	}
	if err := td.Verify(s.p); err != nil {
		s.t.Fatal(err)
	}
}

// arrive reports a job of one phase. Each of its tasks has an input on one of the nodes;
// 0 stands for a task without input.
func (s *stage) arrive(id sojourn.JobID, demand int, amt time.Duration, nodes ...sojourn.NodeID) {
	s.t.Helper()
	lists := make([][]sojourn.NodeID, len(nodes))
	for i, n := range nodes {
		if n != 0 {
			lists[i] = []sojourn.NodeID{n}
		}
	}
	s.arriveWith(id, demand, sojourn.Phase{Tasks: len(nodes), Estimate: amt, Inputs: sojourn.MakeInputs(lists)})
}

func (s *stage) arriveWith(id sojourn.JobID, demand int, phases ...sojourn.Phase) {
	s.t.Helper()
	s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Name: strconv.Itoa(demand), Phases: phases}})
}

// assign offers a slot and returns what it got, as "job/phase/index<source".
func (s *stage) assign(id sojourn.SlotID) string {
	s.t.Helper()
	a, ok := s.p.Assign(id)
	if err := td.Verify(s.p); err != nil {
		s.t.Fatal(err)
	}
	if !ok {
		return "nothing"
	}
	s.run[id] = a
	return fmt.Sprintf("%v<%d", a.Task, a.Source)
}

// fill offers all slots of a node, and returns how many got a task.
func (s *stage) fill(node, slots int) (n int) {
	for k := range slots {
		if s.run[sojourn.SlotID(100*node+k)].Attempt == 0 && s.assign(sojourn.SlotID(100*node+k)) != "nothing" {
			n++
		}
	}
	return n
}

func (s *stage) end(id sojourn.SlotID, kind sojourn.EventKind, service time.Duration) {
	s.t.Helper()
	a := s.run[id]
	delete(s.run, id)
	s.observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}, Service: service})
}

func (s *stage) finish(id sojourn.SlotID) {
	s.t.Helper()
	s.end(id, sojourn.TaskFinished, 0)
}

func (s *stage) want(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s = %s, want %s", what, got, want)
	}
}

func (s *stage) status(id sojourn.JobID) string { return attr(s.p, id, "status").String() }
func (s *stage) int(id sojourn.JobID, key string) int {
	return int(attr(s.p, id, key).Int64())
}

// nodes returns n times the same node.
func nodes(n int, node sojourn.NodeID) []sojourn.NodeID {
	return slices.Repeat([]sojourn.NodeID{node}, n)
}

// T = 1000, demands 200, 300, 100, 350. The first four jobs fit, with D = 950. The fifth,
// of 350, does not. With L = 0.7, H < (1000 - 0.7*950)/350 + 0.7 = 1.657.
//
// Reference: Figure 3(a) and Formula (1) with its example.
func TestUpperBoundOfTheExample(t *testing.T) {
	s := newStage(t, td.Options{}, 1000)
	for i, demand := range []int{200, 300, 100, 350, 350} {
		s.arrive(sojourn.JobID(i+1), demand, time.Second, nodes(1000, 0)...)
	}
	s.assign(100)
	for id, want := range map[sojourn.JobID]string{1: "teenaged", 2: "teenaged", 3: "teenaged", 4: "teenaged", 5: "infantile"} {
		s.want(fmt.Sprintf("status of job %d", id), s.status(id), want)
	}
	if got := s.int(1, "D"); got != 950 {
		t.Errorf("D = %d, want 950", got)
	}
	if got := attr(s.p, 4, "bound").Float64() / 350; math.Abs(got-1.657) > 0.001 {
		t.Errorf("H = %v, want 1.657", got)
	}
}

// If D = dmax = T, Formula (1) reads H < 1 and leaves no H above 1. This policy takes 1.
func TestUpperBoundIsAtLeastOne(t *testing.T) {
	s := newStage(t, td.Options{L: 1}, 4)
	s.arrive(1, 4, time.Second, nodes(9, 0)...)
	s.assign(100)
	if got := attr(s.p, 1, "bound").Float64(); got != 4 {
		t.Errorf("H*demand = %v, want 4", got)
	}
}

// When slots leave, D may exceed T. Formula (1) then reads (3 - 0.5*4)/4 + 0.5 = 0.75.
func TestUpperBoundWhenSlotsLeave(t *testing.T) {
	s := newStage(t, td.Options{L: 0.5}, 4)
	s.arrive(1, 4, time.Second, nodes(9, 0)...)
	s.assign(100)
	s.assign(101)
	s.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 103}})
	if got := attr(s.p, 1, "bound").Float64(); got != 4 {
		t.Errorf("H*demand = %v, want 4", got)
	}
	s.want("third slot", s.assign(102), "1/0/2<0")
}

// Four jobs are adult, with mean times 23, 4, 10 and 5. Node 3 has tasks of jobs 1 and 2,
// and the local task of job 2, the IO-intensive one, goes first. Node 1 has none, and the
// remote task is one of job 1, the computing-intensive one.
//
// Reference: Figure 3(b) and Section IV-A1.
func TestLocalByAscendingRemoteByDescendingTime(t *testing.T) {
	s := newStage(t, td.Options{L: 0.1, H: 2}, 1, 4, 1)
	for i, amt := range []int{23, 4, 10, 5} {
		at := append(nodes(1, 2), nodes(1, 4)...) // one to start with, on node 2, and one on a node without slots
		if i < 2 {
			at = append(at, 3)
		}
		s.arrive(sojourn.JobID(i+1), 1, time.Duration(amt)*time.Second, at...)
	}
	if n := s.fill(2, 4); n != 4 {
		t.Fatalf("%d of 4 slots started a task", n)
	}
	for id := range sojourn.JobID(4) {
		s.want(fmt.Sprintf("status of job %d", id+1), s.status(id+1), "adult")
	}
	s.want("node 3", s.assign(300), "2/0/2<3")
	s.want("node 1", s.assign(100), "1/0/1<4") // node 4 has most left to do
}

// A job is about to fall below its floor of 7 = 0.7*10 slots. Its slot sticks to it,
// although a job with a local task there is under its upper bound.
//
// Reference: Figure 4 and Algorithm 1, lines 2 to 4.
func TestStickySlot(t *testing.T) {
	s := newStage(t, td.Options{L: 0.7, H: 2}, 10, 10)
	s.arrive(1, 10, 20*time.Second, nodes(40, 1)...)
	s.arrive(2, 10, time.Second, nodes(40, 2)...)
	for range 7 {
		for k := range 10 {
			if s.run[sojourn.SlotID(100+k)].Attempt == 0 {
				s.assign(sojourn.SlotID(100 + k))
				break
			}
		}
	}
	if s.int(1, "occupied") != 7 {
		t.Fatalf("job 1 holds %d slots, want 7", s.int(1, "occupied"))
	}
	// Job 2 is teenaged now. Its floor is met on node 2, and then job 1 takes two more
	// slots there.
	for k := range 7 {
		s.assign(sojourn.SlotID(200 + k))
	}
	if got := []int{s.int(1, "occupied"), s.int(2, "occupied")}; !slices.Equal(got, []int{7, 7}) {
		t.Fatalf("the jobs hold %v slots, want 7 each", got)
	}
	s.finish(100)
	s.want("the slot of job 1", s.assign(100)[:1], "1")
	s.finish(200)
	s.want("the slot of job 2", s.assign(200)[:1], "2")
}

// Two jobs are below their floors of 1. A slot goes to the job whose task ended on it,
// not to the first by arrival. A slot that has left and comes back has no last job.
func TestLastJobOfASlot(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		s := newStage(t, td.Options{L: 1}, 2)
		s.arrive(1, 1, time.Second, nodes(3, 1)...)
		s.arrive(2, 1, time.Second, nodes(3, 1)...)
		s.want("first slot", s.assign(100), "1/0/0<1")
		s.want("second slot", s.assign(101), "2/0/0<1")
		s.finish(100)
		s.finish(101)
		want := "2/0/1<1"
		if leaves {
			s.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 101}})
			s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 101, Node: 1}})
			want = "1/0/1<1"
		}
		s.want("second slot", s.assign(101), want)
	}
}

// One job is senile and holds 15 of 100 slots. The others, of demands 20 each, may hold
// 26 each by H = 1.3, so 7 slots would be idle. An infantile job gets them, since Osen +
// D = 15 + 60 < 100. It does not grow up, since its demand is 50.
//
// Reference: Figure 5, divided by ten, and Formulas (2) and (3).
func TestInfantileJobFillsIdleSlots(t *testing.T) {
	s := newStage(t, td.Options{H: 1.3}, 100)
	s.arrive(1, 40, time.Second, nodes(40, 0)...)
	for id := range sojourn.JobID(3) {
		s.arrive(id+2, 20, time.Second, nodes(200, 0)...)
	}
	s.arrive(5, 50, time.Second, nodes(200, 0)...)
	s.arrive(6, 50, time.Second, nodes(200, 0)...)
	if n := s.fill(1, 100); n != 100 {
		t.Fatalf("%d of 100 slots started a task", n)
	}
	s.want("status of job 1", s.status(1), "senile")
	s.want("status of job 5", s.status(5), "waiting")
	ended := 0
	for k := range 100 {
		if id := sojourn.SlotID(100 + k); s.run[id].Task.Job == 1 && ended < 25 {
			s.finish(id)
			ended++
		}
	}
	s.fill(1, 100)
	got := []int{s.int(1, "occupied"), s.int(2, "occupied"), s.int(3, "occupied"), s.int(4, "occupied"), s.int(5, "occupied")}
	if want := []int{15, 26, 26, 26, 7}; !slices.Equal(got, want) {
		t.Errorf("occupied = %v, want %v", got, want)
	}
	s.want("status of job 5", s.status(5), "infantile")
	s.want("status of job 6", s.status(6), "waiting")
}

// A job goes through the six statuses from left to right.
//
// Reference: Figure 6.
func TestStatuses(t *testing.T) {
	s := newStage(t, td.Options{L: 1, H: 2}, 4)
	s.arrive(1, 3, time.Second, nodes(3, 0)...) // holds the whole cluster at first
	s.arrive(2, 2, time.Second, nodes(4, 0)...)
	s.want("before anything is asked", s.status(2), "waiting")
	s.fill(1, 4)
	// Osen + D = 3 < 4, but with the demand of 2 it would be 5.
	s.want("on what is left over", s.status(2), "infantile")
	s.finish(100)
	s.finish(101)
	s.assign(100)
	s.want("with Osen + D + 2 <= 4, and 2 of 2 slots", s.status(2), "adult")
	s.assign(101)
	s.finish(103)
	s.want("with a task left", s.status(2), "adult")
	s.assign(103)
	s.want("with nothing left to start", s.status(2), "senile")
	s.arrive(3, 4, time.Second, nodes(9, 0)...)
	for _, id := range []sojourn.SlotID{100, 101, 102, 103} {
		s.finish(id)
	}
	if _, live := s.p.Explain(2); live {
		t.Error("job 2 is live, want it finished")
	}
	s.assign(100)
	s.want("a job that the cluster is free for", s.status(3), "teenaged")
}

// Theta tuples of a node make it hot. A tuple lives for split*theta/beta.
//
// Reference: Section IV-A2.
func TestHotQueue(t *testing.T) {
	opts := td.Options{Theta: 2, SplitSize: 30e6, Bandwidth: 10e6, HotPolicy: td.Strict} // 3 s*2 = 6 s
	s := newStage(t, opts, 0, 4)
	s.arrive(1, 4, time.Second, nodes(9, 1)...)
	s.want("first read", s.assign(200), "1/0/0<1")
	s.now = sojourn.Time(time.Second)
	s.observe(sojourn.Event{Kind: sojourn.Tick})
	s.want("second read", s.assign(201), "1/0/1<1")
	s.want("third read", s.assign(202), "nothing")
	if at, ok := s.p.NextWake(); !ok || at != sojourn.Time(6*time.Second) {
		t.Errorf("NextWake = %v, %v, want 6s: the first tuple is overdue at t + split*theta/beta", at, ok)
	}
	s.now = sojourn.Time(6*time.Second - 1)
	s.observe(sojourn.Event{Kind: sojourn.Tick})
	s.want("third read before", s.assign(202), "nothing")
	s.now = sojourn.Time(6 * time.Second)
	s.observe(sojourn.Event{Kind: sojourn.Tick})
	s.want("third read", s.assign(202), "1/0/2<1")
	s.want("fourth read", s.assign(203), "nothing")
}

// The source of a remote task is the node with the largest R_n = sum of amt(j)*rs_jn over
// all co-scheduled jobs, not over the served job alone.
//
// Reference: Section IV-A2, potential hot spots.
func TestSourceHasMostLeftToDo(t *testing.T) {
	s := newStage(t, td.Options{L: 0.5, H: 9}, 0, 0, 0, 3)
	s.arrive(1, 1, 10*time.Second, 1, 2, 2, 3, 3) // R: 10, 20, 20
	s.arrive(2, 1, 2*time.Second, 3, 1, 1, 1, 1)  // and 8, 0, 2
	s.want("job 1 below its floor", s.assign(400), "1/0/3<3")
	s.want("job 2 below its floor", s.assign(401), "2/0/1<1") // R: 18, 20, 12; nodes 1 and 3 have tasks of it
	s.want("job 1, the slower one", s.assign(402), "1/0/1<2")
}
