package report

import (
	"path/filepath"
	"strconv"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A batsim writes a file with the columns that Batsim writes of its jobs and that its tools,
// such as evalys, read. What is a job there, one box of a Gantt chart, is an attempt at a task
// here: on one resource, which is its slot. Times are in seconds.
type batsim struct {
	*files.CSV
	workload string
	jobs     map[sojourn.JobID]*told
}

// A told is what the policy was told of a job.
type told struct {
	*sojourn.Job
	at sojourn.Time
}

func createBatsim(dir, workload string) (*batsim, error) {
	out, err := files.CreateCSV(filepath.Join(dir, files.Batsim), []string{
		"job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time",
		"success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time",
		"stretch", "allocated_resources", "consumed_energy", "metadata",
	})
	return &batsim{out, workload, map[sojourn.JobID]*told{}}, err
}

// event learns of jobs. It does nothing for nil.
func (b *batsim) event(ev sojourn.Event, err error) {
	if b != nil && err == nil && (ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted) {
		b.jobs[ev.Job.ID] = &told{ev.Job, ev.At.Add(-ev.Service)}
	}
}

// attempt writes an attempt. It does nothing for nil.
func (b *batsim) attempt(r *sim.TaskRecord) {
	if b == nil || r.Outcome == sim.Refused {
		return // it never started
	}
	j := b.jobs[r.Task.Job]
	id := strconv.FormatUint(uint64(r.Task.Job), 10) + "/" + strconv.FormatUint(uint64(r.Task.Phase), 10) + "/" + strconv.FormatUint(uint64(r.Task.Index), 10)
	if r.Attempt > 1 {
		id += "#" + strconv.FormatUint(uint64(r.Attempt), 10)
	}
	requested := "-1"
	if e := j.Phases[r.Task.Phase].EstimateOf(int(r.Task.Index)); e > 0 {
		requested = format.Duration(e)
	}
	success, state := "0", "COMPLETED_FAILED"
	switch r.Outcome {
	case sim.Finished:
		success, state = "1", "COMPLETED_SUCCESSFULLY"
	case sim.Preempted:
		state = "COMPLETED_KILLED"
	}
	took, stretch := r.End.Sub(r.Start), ""
	if took > 0 {
		stretch = strconv.FormatFloat(r.End.Sub(j.at).Seconds()/took.Seconds(), 'f', 6, 64)
	}
	b.Write([]string{
		id, b.workload, j.Name, format.Time(j.at), "1", requested, success, state, format.Time(r.Start), format.Duration(took),
		format.Time(r.End), format.Duration(r.Start.Sub(j.at)), format.Duration(r.End.Sub(j.at)), stretch,
		strconv.FormatUint(uint64(r.Slot), 10), "-1", "",
	})
}

// job forgets a job that has finished. It does nothing for nil.
func (b *batsim) job(r *sim.JobRecord) {
	if b != nil && r.Outcome == sim.Finished {
		delete(b.jobs, r.ID)
	}
}

func (b *batsim) close() error {
	if b == nil {
		return nil
	}
	return b.Close()
}
