package report

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Each attempt that ran is a job of Batsim, with its outcome. Job 1 arrived at 1 s; its tasks have an estimate of 5 s, those of
// job 2, which was 2 s old when it was adopted at 3 s, have none.
func TestBatsim(t *testing.T) {
	dir := t.TempDir()
	b, err := createBatsim(dir, "w.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	s := func(n int) sojourn.Time { return sojourn.Time(time.Duration(n) * time.Second) }
	b.event(sojourn.Event{Kind: sojourn.JobArrived, At: s(1), Job: &sojourn.Job{ID: 1, Name: "a", Phases: []sojourn.Phase{{Tasks: 9, Estimate: 5 * time.Second}}}}, nil)
	b.event(sojourn.Event{Kind: sojourn.JobAdopted, At: s(3), Service: 2 * time.Second, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1}}}}, nil)
	b.event(sojourn.Event{Kind: sojourn.JobArrived, At: s(4), Job: &sojourn.Job{ID: 1, Name: "again", Phases: []sojourn.Phase{{Tasks: 1}}}}, sojourn.ErrDuplicateJob)
	for _, r := range []sim.TaskRecord{
		{Task: sojourn.TaskID{Job: 1, Index: 4}, Attempt: 1, Slot: 3, Start: s(3), End: s(7), Outcome: sim.Finished},
		{Task: sojourn.TaskID{Job: 1}, Attempt: 1, Start: s(3), End: s(3), Outcome: sim.Refused},
		{Task: sojourn.TaskID{Job: 1}, Attempt: 2, Start: s(3), End: s(4), Outcome: sim.Preempted},
		{Task: sojourn.TaskID{Job: 1}, Attempt: 3, Start: s(4), End: s(4), Outcome: sim.Failed},
		{Task: sojourn.TaskID{Job: 2}, Attempt: 1, Slot: 1, Start: s(5), End: s(9), Outcome: sim.Finished},
	} {
		b.attempt(&r)
	}
	b.job(&sim.JobRecord{ID: 1, Outcome: sim.Failed})
	if len(b.jobs) != 2 {
		t.Errorf("%d jobs are known while both run", len(b.jobs))
	}
	b.job(&sim.JobRecord{ID: 1, Outcome: sim.Finished})
	if len(b.jobs) != 1 {
		t.Errorf("%d jobs are known after one has finished", len(b.jobs))
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, files.Batsim))
	if err != nil {
		t.Fatal(err)
	}
	const want = "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata\n" +
		"1/0/4,w.jsonl,a,1,1,5,1,COMPLETED_SUCCESSFULLY,3,4,7,2,6,1.500000,3,-1,\n" +
		"1/0/0#2,w.jsonl,a,1,1,5,0,COMPLETED_KILLED,3,1,4,2,3,3.000000,0,-1,\n" +
		"1/0/0#3,w.jsonl,a,1,1,5,0,COMPLETED_FAILED,4,0,4,3,3,,0,-1,\n" +
		"2/0/0,w.jsonl,,1,1,-1,1,COMPLETED_SUCCESSFULLY,5,4,9,4,8,2.000000,1,-1,\n"
	if string(got) != want {
		t.Errorf("it writes\n%s\nwant\n%s", got, want)
	}
	var none *batsim // no file is asked for
	none.event(sojourn.Event{Kind: sojourn.JobArrived}, nil)
	none.attempt(&sim.TaskRecord{})
	none.job(&sim.JobRecord{})
	if err := none.close(); err != nil {
		t.Error(err)
	}
}
