// Package suspend gives Jobs of Kubernetes turns in the order of a sojourn policy, without a scheduler of
// its own. Use it in clusters that you may not re-schedule: stock kube-scheduler places the pods, and this
// package decides how many pods each batch/v1 Job may run. It writes spec.suspend and spec.parallelism of
// Jobs and touches no pod.
//
//	policy, err := hfsp.New(hfsp.Options{})
//	...
//	c, err := suspend.New(suspend.Config{Client: client, Policy: policy, Nodes: "pool=batch"})
//	...
//	err = c.Run(ctx)
//
// Tier: kit.
//
// Users label their Jobs, and create them suspended, so that no pod starts before its turn:
//
//	metadata:
//	  labels: {sojourn-sched.github.io/managed: "true"}
//	spec:
//	  suspend: true
//	  completions: 100
//	  parallelism: 20      # the most pods at a time
//
// The command cmd/sojourn-jobs is this package with flags.
//
// # How many pods run
//
// As many as there is room for: what the selected nodes offer that are ready and not cordoned, less what other pods on them request;
// or what a ResourceQuota allows. Cpu, memory, devices and all else that pods request count. Where nodes come and go, and other pods end,
// the room follows (TestRoomOfNodes, TestRoomOfQuota). The room of a Job is that of the nodes whose taints NoSchedule and NoExecute its pod
// template tolerates, or of which it requests a resource of that name, as the admission plugin ExtendedResourceToleration has it; tolerations
// that other admission adds to pods later are not known (TestRoomOfTaintedNodes). Two limits bound what this costs: 64 different taints are looked at, the first
// ones by key, value and effect, and 16 different sets of taints that Jobs tolerate. A node with only other taints counts as one without taints, and a Job with another set
// has the room of all nodes, or of a set that is larger than its own. Beyond these limits pods may be let run that wait with kube-scheduler (TestTaintsBeyondTheLimits).
// The room is that of all these nodes together: a pod that is larger than what is free on each of
// them waits with kube-scheduler, too. A Job whose pods have no room lets others pass, and after a minute room is kept for it, 10
// minutes at most (TestRoomIsKept, TestRoomIsKeptForWhoWantsIt). A Job that fits on no node, or for which there is no node or no quota at all, gets a
// Warning event FitsNowhere (TestNoRoomAtAll, TestHugeRequests). With Config.Slots the number of pods counts instead: policies that promise deadlines, such as rtmr, need it.
//
// # What it writes
//
// A Job runs as many pods at a time as the policy has given it slots. A Job that has none is suspended. The
// annotation [Parallelism] keeps what spec.parallelism was at first: change it to allow more pods or fewer,
// as spec.parallelism itself is overwritten. [Granted] says how many pods the Job may run; the annotation
// [kubernetes.Admitted] says since when the policy has the Job. The annotations Size, Weight, Deadline and
// Pool of package kubernetes describe the Job, and one that is wrong, or a Job that the policy refuses, gets
// the condition [kubernetes.Rejected] and a Warning event.
//
// A Job has one patch under way at a time, and what changes meanwhile goes into the next one.
//
// # What is promised
//
//   - All managed Jobs together run at most Config.Slots pods at a time, or those that there is room for (TestRoomHolds), those that still
//     terminate included.
//     It can be more for as long as the Job controller has not heard of a patch, after somebody else has
//     changed a Job, and while a Job that was deleted still has pods.
//   - A pod that runs is not ended, unless the policy preempts. When a pod has ended, the Job controller makes
//     the next one before anybody is asked. If the policy gives the slot to another Job, parallelism falls by
//     one, but not below the number of pods that are ready. The Job controller then ends a pod that is not
//     scheduled or does not run yet, if there is one. It tells how many pods are ready about once a second, so
//     it may end a pod that has been ready for less.
//   - Pods that end so do not count as failures of the Job.
//   - After a restart nothing is lost but what the policy has learned. Jobs that run are adopted.
//
// # What is not
//
//   - Which pod ends if the policy preempts. The Job controller chooses: pods that are not ready first, then
//     the youngest. Policies preempt only if their options say so (hfsp with Kill, fair with timeouts).
//   - Which index runs next. The policy counts the tasks of a Job.
//   - That a pod which may run finds a node: with Slots, choose as many as kube-scheduler can place.
//   - Exact times. A pod counts from the patch that allowed it.
//
// # Suspending a Job oneself
//
// A user who suspends a Job that runs has it suspended: the policy holds its tasks until the Job is resumed. A
// patch that is under way then does not resume it, unless that patch resumes the Job for its turn or follows
// another one at once. A Job that has no turn is suspended already: set its annotation [Parallelism] to 0, and
// it gets none until the annotation allows pods again. That works at any time; pods that run go on to their ends.
// To take a Job out of the order, remove its label; it then stays as it is. A Job of Kueue or of a JobSet, or with a
// spec.managedBy of another controller, is left alone, whatever its labels (TestJobsOfOthers).
package suspend
