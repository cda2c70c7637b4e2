package journal_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/journal"
)

// childFolder names the folder in which this binary schedules until it is killed.
const childFolder = "SOJOURN_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		s := newScheduler(dir)
		fmt.Println("open")
		for {
			s.step(true)
			fmt.Println("step")
		}
	}
	os.Exit(m.Run())
}

// A scheduler is a driver with a journal. What it does to the world goes to another file, effects, which it appends to and
// which outlives it, as tasks do that run elsewhere:
//
//	ack JOB TASKS TASKS   the job was acknowledged to who submitted it
//	x TASK#N              the attempt was started
//	f TASK#N              it finished
//	b TASK#N              it failed
type scheduler struct {
	j       *journal.Journal
	effects *os.File
	rng     *rand.Rand
	running []sojourn.Assignment
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newScheduler(dir string) *scheduler {
	lines, started, ended := readEffects(dir)
	dropTorn(filepath.Join(dir, "effects"))
	effects, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	must(err)
	s := &scheduler{effects: effects, rng: rand.New(rand.NewPCG(uint64(len(lines)), 7))}
	store, err := journal.OpenFiles(filepath.Join(dir, "journal"))
	must(err)
	s.j, err = journal.Open(store, newHFSP(nil), journal.Options{Keep: true, SnapshotBytes: 2000, Policy: "hfsp"})
	must(err)
	if got := s.j.Restored(); got.Rebuilt != nil {
		panic(got.Rebuilt)
	}
	if s.j.Restored().Records == 0 {
		for id := range sojourn.SlotID(4) {
			s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
		}
	}
	// Attempts that the journal knows still run, unless the world says that they ended. One that the world does not know
	// was decided, but not started.
	known := map[string]bool{}
	for at := range s.j.Account().Attempts() {
		a := sojourn.Assignment{Task: at.Task, Attempt: at.Number, Slot: at.Slot.ID}
		known[name(a)] = true
		s.running = append(s.running, a)
		if !started[name(a)] {
			s.say("x " + name(a))
		}
	}
	for _, a := range slices.Clone(s.running) {
		if how := ended[name(a)]; how != "" {
			s.report(a, how)
		}
	}
	for a := range started {
		if ended[a] == "" && !known[a] {
			panic("the journal has lost attempt " + a)
		}
	}
	return s
}

func name(a sojourn.Assignment) string { return fmt.Sprintf("%v#%d", a.Task, a.Attempt) }

func (s *scheduler) say(line string) {
	_, err := s.effects.WriteString(line + "\n")
	must(err)
}

func (s *scheduler) observe(ev sojourn.Event) {
	ev.At = s.j.Account().Now().Add(time.Duration(s.rng.Int64N(int64(20 * time.Second))))
	must(s.j.Observe(ev))
}

// report reports how an attempt ended.
func (s *scheduler) report(a sojourn.Assignment, how string) {
	s.running = slices.DeleteFunc(s.running, func(b sojourn.Assignment) bool { return a.Task == b.Task })
	kind := sojourn.TaskFinished
	if how == "b" {
		kind = sojourn.TaskFailed
	}
	s.observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
}

// step submits a job, ends an attempt, and fills the slots.
func (s *scheduler) step(submit bool) {
	if submit && s.j.Account().Live() < 8 {
		job := &sojourn.Job{ID: s.j.MaxJob() + 1, Name: fmt.Sprint("n", s.rng.IntN(3)),
			Phases: []sojourn.Phase{{Tasks: 1 + s.rng.IntN(6)}, {Tasks: 1 + s.rng.IntN(2)}}}
		s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
		must(s.j.Flush())
		s.say(fmt.Sprintf("ack %d %d %d", job.ID, job.Phases[0].Tasks, job.Phases[1].Tasks))
	}
	if len(s.running) > 0 {
		a := s.running[s.rng.IntN(len(s.running))]
		how := "f"
		if s.rng.IntN(8) == 0 {
			how = "b"
		}
		s.say(how + " " + name(a))
		s.report(a, how)
	}
	if w, _ := sojourn.As[sojourn.Waker](s.j); w != nil {
		if at, ok := w.NextWake(); ok && at <= s.j.Account().Now() {
			must(s.j.Observe(sojourn.Event{Kind: sojourn.Tick, At: s.j.Account().Now()}))
		}
	}
	var starts []sojourn.Assignment
	for seeker, _ := sojourn.As[sojourn.Seeker](s.j); ; {
		id, ok := seeker.Seek(0)
		if !ok {
			break
		}
		if a, ok := s.j.Assign(id); ok {
			starts = append(starts, a)
		}
	}
	must(s.j.Flush())
	for _, a := range starts {
		s.say("x " + name(a))
		s.running = append(s.running, a)
	}
}

// dropTorn cuts a line off that a kill has left without its end: what it says was not done yet.
func dropTorn(file string) {
	if data, err := os.ReadFile(file); err == nil {
		must(os.Truncate(file, int64(bytes.LastIndexByte(data, '\n')+1)))
	}
}

// readEffects returns the whole lines of the file, the attempts that were started, and how others ended.
func readEffects(dir string) (lines []string, started map[string]bool, ended map[string]string) {
	started, ended = map[string]bool{}, map[string]string{}
	data, _ := os.ReadFile(filepath.Join(dir, "effects"))
	for line := range strings.Lines(string(data)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		line = strings.TrimSpace(line)
		lines = append(lines, line)
		switch what, attempt, _ := strings.Cut(line, " "); what {
		case "x":
			started[attempt] = true
		case "f", "b":
			ended[attempt] = what
		}
	}
	return lines, started, ended
}

// A scheduler is killed at random moments, again and again. No acknowledged job is lost, no attempt number is started twice, no
// task finishes twice, attempts that ran go on under their numbers, and all decisions are those of a policy that never
// crashed.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range kills {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childFolder+"="+dir)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(4) > 0 { // otherwise it may be killed while it opens the journal
			lines := bufio.NewReader(out)
			for range 1 + rng.IntN(40) {
				if _, err := lines.ReadString('\n'); err != nil {
					break
				}
			}
		}
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("kill %d: %v\n%s", i, err, stderr.String())
		}
		if i%5 == 0 { // a write that crosses a page of the file may be cut off there
			f, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
			must(err)
			_, err = f.WriteString("f 1/0")
			must(err)
			must(f.Close())
		}
	}
	s := newScheduler(dir)
	for s.j.Account().Live() > 0 {
		s.step(false)
	}
	must(s.j.Close())
	checkEffects(t, dir)

	store, err := journal.ReadFiles(filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	if err := history.Replay(newHFSP(t), history.Check(journal.History(store))); err != nil {
		t.Errorf("a policy that never crashed decides otherwise: %v", err)
	}
}

func checkEffects(t *testing.T, dir string) {
	lines, _, _ := readEffects(dir)
	count := map[string]int{} // of "x TASK#N" and "f TASK"
	acked := 0
	for _, line := range lines {
		what, attempt, _ := strings.Cut(line, " ")
		if what == "f" {
			attempt, _, _ = strings.Cut(attempt, "#")
		}
		if what != "ack" {
			count[what+" "+attempt]++
		}
	}
	for _, line := range lines {
		var job, first, second int
		if n, _ := fmt.Sscanf(line, "ack %d %d %d", &job, &first, &second); n != 3 {
			continue
		}
		acked++
		for phase, tasks := range []int{first, second} {
			for k := range tasks {
				if task := "f " + strconv.Itoa(job) + "/" + strconv.Itoa(phase) + "/" + strconv.Itoa(k); count[task] == 0 {
					t.Errorf("acknowledged, but never finished: %s", task)
				}
			}
		}
	}
	for what, n := range count {
		if n > 1 && !strings.HasPrefix(what, "b ") {
			t.Errorf("%d times: %s", n, what)
		}
	}
	if acked < kills/2 {
		t.Errorf("%d jobs were acknowledged in %d lives: too few", acked, kills)
	}
	t.Logf("%d kills, %d jobs acknowledged, %d effects", kills, acked, len(lines))
}
