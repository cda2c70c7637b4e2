package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// inOrder serves jobs in the order of arrival.
type inOrder struct {
	queue *queue.Jobs[struct{}, uint64]
}

func newInOrder() *inOrder {
	return &inOrder{queue.NewJobs(queue.JobOrder[struct{}, uint64]{
		Key:  func(j *ledger.Job[struct{}]) uint64 { return j.Seq() },
		Less: func(a, b uint64) bool { return a < b },
	})}
}

func (p *inOrder) Observe(ev sojourn.Event) error {
	if err := p.queue.Ledger.Check(&ev); err != nil {
		return err
	}
	p.queue.File(&ev, p.queue.Apply(&ev))
	return nil
}

func (p *inOrder) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	return p.queue.Assign(id)
}

// seeking is inOrder as a Seeker.
type seeking struct{ *inOrder }

func (p seeking) Seek(c sojourn.Class) (sojourn.SlotID, bool) { return p.queue.Seek(c) }

// patient starts nothing before 7 s.
type patient struct{ *inOrder }

const patience = sojourn.Time(7 * time.Second)

func (p patient) NextWake() (sojourn.Time, bool) { return patience, p.queue.Ledger.Now() < patience }

func (p patient) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	if p.queue.Ledger.Now() < patience {
		return sojourn.Assignment{}, false
	}
	return p.inOrder.Assign(id)
}

// hasty wants the first attempt of job 1 killed once job 2 is there.
type hasty struct{ *inOrder }

func (p hasty) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	if a, ok := p.queue.Ledger.Attempt(1); ok && a.Task.Job == 1 && a.Number == 1 && p.queue.Ledger.Job(2) != nil {
		dst = append(dst, sojourn.Preemption{Task: a.Task, Attempt: 1, Slot: 1, For: 2})
	}
	return dst
}

// double assigns each task to whatever slot is offered, for ever.
type double struct{ *inOrder }

func (p double) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	return sojourn.Assignment{Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: id}, true
}

func (p double) Seek(sojourn.Class) (sojourn.SlotID, bool) { return 1, true }

// restless wants to be woken at once, always.
type restless struct{ *inOrder }

func (p restless) NextWake() (sojourn.Time, bool) { return 0, true }

func TestPlay(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    sojourn.Policy
		told string
		want string
	}{
		{"declines without a Seeker", newInOrder(), `
slots 2 # a comment
arrive 1 at=1s tasks=1 est=2s pool=a name=b weight=2 deadline=9s # so
run # to the end
`, `
@0s SlotAdded 1
@0s SlotAdded 2
@0s Assign 1 -> none
@0s Assign 2 -> none
@1s JobArrived 1 name=b pool=a weight=2 deadline=9s | 1x2s
@1s Assign 1 -> 1/0/0#1
@1s Assign 2 -> none
@1s Assign 2 -> none
@3s TaskFinished 1/0/0#1 slot=1 service=2s
@3s Assign 1 -> none
@3s Assign 2 -> none
`},
		{"classes and later slots", seeking{newInOrder()}, `
slots 1
@0s JobArrived 1 | 1x2s | 1x2s class=7
slots 1 at=5s class=7
run
`, `
@0s SlotAdded 1
@0s JobArrived 1 | 1x2s | 1x2s class=7
@0s Assign 1 -> 1/0/0#1
@2s TaskFinished 1/0/0#1 slot=1 service=2s
@5s SlotAdded 2 class=7
@5s Assign 2 -> 1/1/0#1
@7s TaskFinished 1/1/0#1 slot=2 service=2s
`},
		{"until", seeking{newInOrder()}, `
slots 1
arrive 1 at=0s tasks=9 est=2s time=4s class=0
arrive 2 at=20s tasks=1
run until=8s
`, `
@0s SlotAdded 1
@0s JobArrived 1 | 9x2s
@0s Assign 1 -> 1/0/0#1
@4s TaskFinished 1/0/0#1 slot=1 service=4s
@4s Assign 1 -> 1/0/1#1
@8s TaskFinished 1/0/1#1 slot=1 service=4s
@8s Assign 1 -> 1/0/2#1
`},
		{"a task of unknown time runs until told otherwise", seeking{newInOrder()}, `
slots 1
arrive 1 at=0s tasks=2
@5s TaskFinished 1/0/0#1 slot=1 service=5s
run
`, `
@0s SlotAdded 1
@0s JobArrived 1 | 2
@0s Assign 1 -> 1/0/0#1
@5s TaskFinished 1/0/0#1 slot=1 service=5s
@5s Assign 1 -> 1/0/1#1
`},
		{"adoption", seeking{newInOrder()}, `
slots 1
@0s JobAdopted 1 | 1x5s
@1s TaskAdopted 1/0/0#3 slot=1 service=2s
run
`, `
@0s SlotAdded 1
@0s JobAdopted 1 | 1x5s
@0s Assign 1 -> 1/0/0#1
@1s TaskAdopted 1/0/0#3 slot=1 service=2s !ErrTaskState
@5s TaskFinished 1/0/0#1 slot=1 service=5s
`},
		{"adoption at once", seeking{newInOrder()}, `
slots 1
@0s JobAdopted 1 | 1x5s
@0s TaskAdopted 1/0/0#3 slot=1 service=2s
run
`, `
@0s SlotAdded 1
@0s JobAdopted 1 | 1x5s
@0s TaskAdopted 1/0/0#3 slot=1 service=2s
@3s TaskFinished 1/0/0#3 slot=1 service=5s
`},
		{"a Tick where one is asked for", patient{newInOrder()}, `
slots 1
arrive 1 at=0s tasks=1 est=2s
run
`, `
@0s SlotAdded 1
@0s JobArrived 1 | 1x2s
@0s Assign 1 -> none
@7s Tick
@7s Assign 1 -> 1/0/0#1
@9s TaskFinished 1/0/0#1 slot=1 service=2s
@9s Assign 1 -> none
`},
		{"preemption", hasty{newInOrder()}, `
slots 1
arrive 1 at=0s tasks=1 est=10s
arrive 2 at=4s tasks=1 est=2s
run
`, `
@0s SlotAdded 1
@0s JobArrived 1 | 1x10s
@0s Assign 1 -> 1/0/0#1
@4s JobArrived 2 | 1x2s
@4s TaskFailed 1/0/0#1 slot=1 cause=preempted
@4s Assign 1 -> 1/0/0#2
@14s TaskFinished 1/0/0#2 slot=1 service=10s
@14s Assign 1 -> 2/0/0#1
@16s TaskFinished 2/0/0#1 slot=1 service=2s
@16s Assign 1 -> none
`},
		{"retiring slots", newInOrder(), `
slots 2
arrive 1 at=0s tasks=3 est=5s
@2s SlotRemoved 2
@3s SlotAdded 2
@4s SlotRemoved 1
run until=5s
`, `
@0s SlotAdded 1
@0s SlotAdded 2
@0s JobArrived 1 | 3x5s
@0s Assign 1 -> 1/0/0#1
@0s Assign 2 -> 1/0/1#1
@2s SlotRemoved 2
@3s SlotAdded 2
@4s SlotRemoved 1
@5s TaskFinished 1/0/0#1 slot=1 service=5s
@5s TaskFinished 1/0/1#1 slot=2 service=5s
@5s Assign 2 -> 1/0/2#1
`},
		{"ends before arrivals, in the order of start", seeking{newInOrder()}, `
slots 2
arrive 1 at=0s tasks=1 est=5s
arrive 2 at=0s tasks=1 est=5s
@5s SlotRemoved 1
run
`, `
@0s SlotAdded 1
@0s SlotAdded 2
@0s JobArrived 1 | 1x5s
@0s JobArrived 2 | 1x5s
@0s Assign 1 -> 1/0/0#1
@0s Assign 2 -> 2/0/0#1
@5s TaskFinished 1/0/0#1 slot=1 service=5s
@5s TaskFinished 2/0/0#1 slot=2 service=5s
@5s SlotRemoved 1
`},
	} {
		got, err := play("f", tc.told, tc.p)
		if want := strings.TrimPrefix(tc.want, "\n"); err != nil || got != want {
			t.Errorf("%s:%sgot\n%serror %v\nwant\n%s", tc.name, tc.told, got, err, want)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct{ told, want string }{
		{"slots 1\n", "f: the story does not end with run"},
		{"run\nslots 1\n", `f:2: "slots" after run`},
		{"run till=4s\n", `f:1: unexpected "till=4s"; known are until`},
		{"run until=4\n", "missing unit"},
		{"jump\nrun\n", `f:1: unknown command "jump"; known are slots, arrive, run, and @ with a time and an event`},
		{"slots\nrun\n", "f:1: want slots N"},
		{"slots 1024\nrun\n", `f:1: want up to 1023 slots, found "1024"`},
		{"slots 1 class=65536\nrun\n", "f:1: 65536 is out of range"},
		{"slots 2\nslots 1 clas=1\nrun\n", `f:2: unexpected "clas=1"; known are at, class`},
		{"slots 2\n# so\n@0s Tock\nrun\n", "f:3: unknown kind of event"},
		{"slots 2\n@0s Assign 1 -> none\nrun\n", "f:2: what the policy decides is not part of the story"},
		{"slots 2\n@0s SlotAdded 1 !ErrDuplicateSlot\nrun\n", "f:2: what the policy answers is not part of the story"},
		{"slots 2 at=5s\n@4s Tick\nrun\n", "f:2: time goes back to 4s"},
		{"@-4s Tick\nrun\n", "f:1: time goes back to -4s"},
		{"arrive\nrun\n", "f:1: want arrive ID at=T tasks=N"},
		{"arrive 1 at=0s\nrun\n", "f:1: want arrive ID at=T tasks=N"},
		{"arrive 1 at=0s at=1s tasks=1\nrun\n", `f:1: duplicate "at"`},
		{"arrive 1 at=0s tasks=1 time=0s\nrun\n", `f:1: want a time above 0, found "0s"`},
		{"arrive x at=0s tasks=1 time=1s\nrun\n", `f:1: want the number of a job, found "x"`},
		{"arrive 1 at=0s tasks=x\nrun\n", "f:1: want a number"},
	} {
		if _, err := play("f", tc.told, newInOrder()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want %s", tc.told, err, tc.want)
		}
	}
}

func TestBrokenPolicies(t *testing.T) {
	const told = "slots 2\narrive 1 at=0s tasks=1 est=5s\nrun\n"
	for _, tc := range []struct {
		p    sojourn.Policy
		want string
	}{
		{double{newInOrder()}, "f: the policy breaks the contract: history:6:1: a decision for slot 1, which runs 1/0/0#1"},
		{restless{newInOrder()}, "f: the story does not end within 10000 instants"},
	} {
		if _, err := play("f", told, tc.p); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%T: error %v, want %s", tc.p, err, tc.want)
		}
	}
}

// With update, Run writes what is below the line, and then finds nothing wrong.
func TestUpdate(t *testing.T) {
	const told = "slots 1\narrive 1 at=0s tasks=1 est=2s\nrun\n"
	const did = "@0s SlotAdded 1\n@0s JobArrived 1 | 1x2s\n@0s Assign 1 -> 1/0/0#1\n@2s TaskFinished 1/0/0#1 slot=1 service=2s\n"
	for _, text := range []string{told, told + line, told + line + "@0s Tick\n", told + line + did} {
		file := filepath.Join(t.TempDir(), "story.txt")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		newPolicy := func() sojourn.Policy { return seeking{newInOrder()} }
		Run(t, file, newPolicy, true)
		got, err := os.ReadFile(file)
		if err != nil || string(got) != told+line+did {
			t.Errorf("%q: becomes %q, error %v\nwant %q", text, got, err, told+line+did)
		}
		Run(t, file, newPolicy, false)
	}
}

func TestCompare(t *testing.T) {
	for _, tc := range []struct{ got, want, diff string }{
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb\nc\n", "a\nx\n", "run\n----\na\ngot:\nb\nc\nwant:\nx\n"},
		{"a\n", "", "run\n----\ngot:\na\nwant:\n"},
		{"a\n", "a\nb\n", "run\n----\na\ngot:\nwant:\nb\n"},
	} {
		if got := compare("run\n", tc.got, tc.want); got != tc.diff {
			t.Errorf("%q and %q: got %q, want %q", tc.got, tc.want, got, tc.diff)
		}
	}
}
