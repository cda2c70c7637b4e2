package convert

import (
	"encoding/json"
	"fmt"
	"slices"

	"strings"
)

// states returns the drops of words: of rows that never ran, and of rows that run.
func states(never, running string) map[string]drop {
	m := map[string]drop{}
	for _, s := range strings.Fields(never) {
		m[s] = neverRan
	}
	for _, s := range strings.Fields(running) {
		m[s] = stillRuns
	}
	return m
}

// described reads the columns of fields, such as arrival=Submit duration=Elapsed:text|ElapsedRaw:s.
func described(text string) map[field][]string {
	m := map[field][]string{}
	for _, part := range strings.Fields(text) {
		name, titles, _ := strings.Cut(part, "=")
		m[field(slices.Index(ColumnFields, name))] = strings.Split(titles, "|")
	}
	return m
}

// exported returns a table in JSON, and the same as CSV.
func exported(t table) []table {
	c := t
	c.objects, c.derive, c.quotes = nil, nil, true
	return []table{t, c}
}

// slurmStates are the "Job State Codes" of sacct.
var slurmStates = states("pending requeue_hold revoked special_exit", "running suspended completing configuring resizing signaling stage_out stopped")

// tables are the descriptions of logs. A format has several where its files differ: the first counts whose
// needs are there.
var tables = map[string][]table{
	"csv": {{
		quotes: true,
		columns: described(`job=job|job_id array=array|array_id|array_job_id id=id name=name|job_name|program|workflow_name|command
			pool=pool|queue|partition|team|tenant|project user=user|user_name|owner group=group|account|group_name
			arrival=arrival|arrival_time|submit|submitted|submit_time|submitted_at|submission_time|created|created_at|creation_time|queued|queued_at|enqueued_at
			wait=wait|wait_time|waited start=start|started|start_time|started_at|start_date|begin
			end=end|ended|end_time|ended_at|end_date|finish|finished|finish_time|finished_at|completed|completed_at|completion_time
			duration=duration|runtime|run_time|elapsed|elapsed_time|took|service_time
			tasks=tasks|num_tasks|ntasks|alloc_cpus|ncpus|num_cpus|cpus|num_cores|cores|processors|num_procs|procs|num_gpus|num_gpu|gpus|num_nodes|nodes
			slots=slots phase=phase estimate=estimate requested=requested|requested_time|timelimit|time_limit|walltime weight=weight
			deadline=deadline parallelism=parallelism state=state|status|conclusion`),
		states: states("pending queued skipped upstream_failed", "running in_progress"),
	}},

	// https://slurm.schedmd.com/sacct.html, "Job Accounting Fields" and "Job State Codes"
	"sacct": {{
		columns: described(`job=JobID id=JobID|JobIDRaw name=User+JobName pool=Partition user=User|UID group=Account|Group arrival=Submit
			start=Start end=End duration=Elapsed:text|ElapsedRaw:s tasks=AllocCPUS|NCPUS|ReqCPUS|AllocTRES:cpu|ReqTRES:cpu|NNodes|AllocNodes
			requested=Timelimit:text|TimelimitRaw:min state=State`),
		states: slurmStates,
		zeros:  true,
		element: func(id string) (array string, part bool) {
			id, _, part = strings.Cut(id, ".")
			array, _, found := strings.Cut(id, "_")
			if !found {
				array = ""
			}
			return array, part
		},
		joined: func(id string) string { // the parts of a heterogeneous job, 12+0 and 12+1, run at the same time
			job, _, found := strings.Cut(id, "+")
			if !found {
				job = ""
			}
			return job
		},
		export: "sacct -a -X -P -S 2026-01-01 --format=JobID,JobName,User,Account,Partition,State,AllocCPUS,Submit,Start,End,Elapsed,Timelimit",
	}, {
		// https://slurm.schedmd.com/rest_api.html, dbv0.0.40_job: sacct --json, and slurmdb/jobs of slurmrestd
		columns: described(`job=het.job_id array=array.job_id id=job_id name=user+name pool=partition user=user|association.user
			group=account|group arrival=time.submission:s start=time.start:s end=time.end:s duration=time.elapsed:s
			tasks=tres.allocated.cpu.count|required.CPUs requested=time.limit.number:min|time.limit:min
			state=state.current|state.current.0`),
		objects: []string{"jobs"},
		zeros:   true,
		states:  slurmStates,
		export:  "sacct -a --json -S 2026-01-01",
	}},

	// Slurm, src/plugins/jobcomp/filetxt/jobcomp_filetxt.c: JOB_FORMAT
	"slurm": {{
		columns: described(`job=HetJobId array=ArrayJobId id=JobId name=UserId+Name pool=Partition user=UserId group=Account|GroupId
			arrival=SubmitTime start=StartTime end=EndTime tasks=ProcCnt requested=TimeLimit:min state=JobState`),
		keys: strings.Fields("JobId UserId GroupId Name JobState Partition TimeLimit StartTime EndTime NodeList NodeCnt ProcCnt WorkDir ReservationName Gres Tres Account QOS WcKey Cluster " +
			"SubmitTime EligibleTime ArrayJobId ArrayTaskId HetJobId HetJobOffset DerivedExitCode ExitCode"),
		states: states("pending", "running suspended"),
		export: "JobCompType=jobcomp/filetxt in slurm.conf, to the file JobCompLoc",
	}},

	// Torque, "Accounting Records"; PBS Professional Administrator's Guide, "Accounting Log"
	"pbs": {{
		columns: described(`id=id name=user+jobname pool=queue user=user group=account|project|group arrival=qtime:s|ctime:s start=start:s
			end=end:s duration=resources_used.walltime:text
			tasks=resources_used.ncpus|Resource_List.ncpus|total_execution_slots|exec_host:places|Resource_List.procs|Resource_List.nodect
			requested=Resource_List.walltime:text state=type`),
		front: []string{"date", "type", "id"},
		keys:  strings.Fields("user group account project jobname queue ctime qtime etime start end exec_host exec_vnode session Exit_status owner run_count"),
		zeros: true,
		done:  "e",
		opens: map[string]drop{"q": neverRan, "d": neverRan, "a": neverRan, "s": stillRuns, "r": stillRuns, "t": stillRuns, "c": stillRuns},
		element: func(id string) (array string, part bool) { // 12[3].server is an element of 12[].server
			array, rest, found := strings.Cut(id, "[")
			if !found {
				return "", false
			}
			return array + "[]", strings.HasPrefix(rest, "]")
		},
		export: "the server, to $PBS_HOME/server_priv/accounting/YYYYMMDD",
	}},

	// https://airflow.apache.org/docs/apache-airflow/stable: stable REST API, TaskInstance; table task_instance
	"airflow": exported(table{
		columns: described(`array=dag_id+dag_run_id+run_id+task_id id=dag_id+dag_run_id+run_id+task_id+map_index+try_number
			name=dag_id+task_id pool=pool user=unixname|dag_id group=dag_id
			arrival=queued_dttm:date|queued_when:date|scheduled_dttm:date|scheduled_when:date|start_date:date
			start=start_date:date end=end_date:date duration=duration:s tasks=pool_slots state=state`),
		objects: []string{"task_instances"},
		single:  true,
		states:  states("scheduled queued skipped upstream_failed removed", "running restarting deferred up_for_retry up_for_reschedule"),
		export:  "GET /api/v2/dags/~/dagRuns/~/taskInstances, or SELECT * FROM task_instance",
	}),

	// https://docs.github.com/en/rest/actions: workflow jobs and workflow runs; gh run list --json
	"github": exported(table{
		columns: described(`id=id|databaseId name=workflow_name+name|workflowName+name|workflow_name|workflowName pool=workflow_name|workflowName
			user=triggering_actor.login|actor.login|head_branch|headBranch group=head_branch|headBranch
			arrival=created_at:date|createdAt:date|started_at:date|startedAt:date
			start=started_at:date|startedAt:date|run_started_at:date
			end=completed_at:date|completedAt:date|updated_at:date|updatedAt:date state=conclusion|status`),
		objects: []string{"jobs", "workflow_runs"},
		states:  states("skipped queued waiting requested pending", "in_progress"),
		export:  "gh api --paginate repos/OWNER/REPO/actions/runs/RUN/jobs",
	}),

	// https://docs.gitlab.com/api/jobs/
	"gitlab": exported(table{
		columns: described(`id=id name=stage+name pool=pipeline.project_id|ref user=user.username group=ref arrival=created_at:date
			wait=queued_duration:s start=started_at:date end=finished_at:date duration=duration:s state=status`),
		objects: []string{},
		waits:   true, // a job is created with its pipeline, and queued when the stages before it have ended
		states:  states("created pending manual scheduled skipped waiting_for_resource preparing", "running canceling"),
		export:  "glab api --paginate projects/ID/jobs",
	}),

	// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1/
	"kubernetes": {{
		columns: described(`id=metadata.uid|metadata.namespace+metadata.name
			name=metadata.namespace+metadata.ownerReferences.0.name|metadata.namespace+metadata.name
			pool=metadata.labels.kueue.x-k8s.io/queue-name|metadata.namespace user=metadata.namespace
			group=metadata.namespace arrival=metadata.creationTimestamp:date start=status.startTime:date
			end=status.completionTime:date|status.conditions.Failed.lastTransitionTime:date
			tasks=spec.completions|spec.parallelism parallelism=spec.parallelism requested=spec.activeDeadlineSeconds:s
			state=kind`),
		states:  map[string]drop{"pod": otherKind, "cronjob": otherKind, "deployment": otherKind, "replicaset": otherKind, "service": otherKind},
		objects: []string{"items"},
		single:  true,
		waves:   true,
		export:  "kubectl get jobs -A -o json",
	}},

	// github.com/alibaba/clusterdata: cluster-trace-gpu-v2023 (openb_pod_list), -v2025 (DLRM), -v2020 (PAI)
	"alibaba-gpu": {{
		needs:  []string{"creation_time", "deletion_time"},
		quotes: true,
		columns: described(`id=name|instance_sn name=app_name+role|app_name pool=qos|role user=app_name arrival=creation_time:s
			start=scheduled_time:s end=deletion_time:s tasks=num_gpu|gpu_request slots=gpu_milli:milli`),
	}, {
		needs:  []string{"job_name", "plan_gpu"},
		header: strings.Split("job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type", ","),
		quotes: true,
		columns: described(`job=job_name name=task_name pool=gpu_type arrival=start_time:s start=start_time:s end=end_time:s
			tasks=inst_num slots=plan_gpu:percent state=status`),
		states: states("waiting", "running"),
	}, {
		needs:   []string{"job_name", "inst_id", "user"},
		header:  strings.Split("job_name,inst_id,user,status,start_time,end_time", ","),
		quotes:  true,
		columns: described(`id=inst_id pool=user user=user arrival=start_time:s start=start_time:s end=end_time:s state=status`),
		states:  states("waiting", "running"),
	}},

	// github.com/msr-fiddle/philly-traces: cluster_job_log; cuts of it in github.com/Rivendile/Muri (times in
	// milliseconds) and github.com/SymbioticLab/Tiresias (in seconds)
	"philly": {{
		needs:   []string{"duration", "resource_time_0"},
		quotes:  true,
		columns: described(`id=job_id name=model_name arrival=submit_time:ms duration=duration:ms tasks=num_gpu`),
	}, {
		needs:   []string{"duration"},
		quotes:  true,
		columns: described(`id=job_id name=model_name arrival=submit_time:s duration=duration:s tasks=num_gpu`),
		export:  "github.com/msr-fiddle/philly-traces, as cluster_job_log",
	}, {
		columns: described(`id=jobid pool=vc user=user group=vc arrival=submitted_time:date name=user start=start:date end=end:date
			tasks=gpus state=status`),
		objects: []string{},
		derive:  phillyJob,
		states:  states("", "running"),
	}},

	// https://batsim.readthedocs.io/en/latest/input-workload.html
	"batsim": {{
		columns: described(`id=id name=profile pool=queue|partition user=user|user_id arrival=subtime:s duration=run_time:s tasks=res
			requested=walltime:s`),
		objects: []string{"jobs"},
		export:  "Batsim's tools, as a workload with jobs and profiles",
	}},
}

// phillyJob sets the start, the end and the GPUs of a job of cluster_job_log: of its first attempt, its last,
// and the widest.
func phillyJob(record []byte, set func(path, value string)) error {
	var job struct {
		Attempts []struct {
			Start  string `json:"start_time"`
			End    string `json:"end_time"`
			Detail []struct{ GPUs []string }
		}
	}
	if err := json.Unmarshal(record, &job); err != nil {
		return fmt.Errorf("want a job of cluster_job_log: %w", err)
	}
	gpus := 0
	for i, a := range job.Attempts {
		n := 0
		for _, d := range a.Detail {
			n += len(d.GPUs)
		}
		gpus = max(gpus, n)
		if i == 0 {
			set("start", a.Start)
		}
		set("end", a.End)
	}
	set("gpus", fmt.Sprint(gpus))
	return nil
}
