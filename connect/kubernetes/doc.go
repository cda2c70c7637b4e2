// Package kubernetes runs a sojourn policy as a scheduler of Kubernetes. Use it if your jobs are
// batch/v1 Jobs and short ones wait for long ones:
//
//	policy, err := hfsp.New(hfsp.Options{})
//	...
//	s, err := kubernetes.New(kubernetes.Config{Client: client, Policy: policy})
//	...
//	err = s.Run(ctx)
//
// Tier: kit.
//
// Pods name it as their scheduler and request one slot, an extended resource that the nodes
// advertise:
//
//	spec:
//	  completionMode: Indexed
//	  template:
//	    spec:
//	      schedulerName: sojourn
//	      containers:
//	      - resources: {limits: {sojourn-sched.github.io/slot: 1}}
//
// The command cmd/sojourn-scheduler is this package with flags.
//
// # Example
//
// Two nodes have 4 slots each. A Job of 80 pods of a minute comes, and then a Job of one pod of 5 s. In the order of arrival
// the one pod would start after 10 minutes. Here, under hfsp or leastwork, it starts on the first slot that becomes free, after a minute.
// README.md has measurements on real servers, beside kube-scheduler.
//
// # What is promised
//
//   - No slot is given twice and no pod is bound twice, also if binds fail, are throttled, or succeed and the answer is lost (TestFaultyBinds).
//   - The policy is told what is true, in whatever order informers hear of it (TestAccountIsTrue).
//   - A pod that may go on no node with a free slot holds up nobody, and is told why (TestBlockedPodsAreTriedOnce, TestNoNodeSuits).
//   - The pods of a gang start all together or not at all (TestGangs).
//   - With Shapes no node is over-committed, and no large pod waits for ever (TestNothingIsOvercommitted, TestLargePodsDoNotStarve).
//   - A pod with a constraint that nobody here looks at is not placed (TestNothingIsPlacedBlindly).
//   - Owners of Jobs gain nothing by what they write, as far as [Limits] forbid it (TestCheatsGainNothing).
//   - A Job that somebody else has suspended is never resumed (TestSuspendedByOthers).
//   - With a [Config.Lease] one of several replicas schedules. It gives the lease back when no bind is under way, and not before (TestLease).
//
// # What it costs
//
// One goroutine owns the policy, and a bind is one request to the API server: README.md has pods a second, and memory, for this
// scheduler and for kube-scheduler. A pod that may go on no node with a free slot is tried once, and not again until such a node has one
// (TestBlockedPodsAreTriedOnce). With Shapes, a new class makes the policy anew, and so does a cluster that has grown or shrunk
// by more than a quarter (TestSmallChangesMakeNoPolicy).
//
// # When it is wrong
//
//   - The nodes are not yours alone, or kube-scheduler must place the pods: package suspend.
//   - Pods have affinities to other pods, spread constraints, host ports, or claims of volumes or devices. They are not placed here, and an event on
//     the pod says so. Preferences among nodes are not looked at. Module plugin runs a policy inside kube-scheduler, which has all of these.
//   - Pods differ in size and Shapes is not set: slots are counted and nothing else. Give it nodes of its own, with as many slots as pods
//     fit. Pods of other schedulers must not request the slots. A pod that requests more cpu, memory or GPUs than
//     any node has is told so (TestSlotOfANodeThatIsTooSmall).
//
// # Where pods go
//
// A pod takes one slot of a node that matches its nodeSelector and required node affinity, and whose taints
// it tolerates. If the first pod in the order of the policy may go on no node with a free slot, the slot
// goes to the next pod that may. So the order is exact among the pods that may go on the node, and a pod
// that waits for its node holds up nobody. When a slot of such a node is free, the pod is asked about
// before anything else gets the slot. While it waits so, the policy has its task as held: it preempts
// nothing for it, and counts slots that the pod cannot use as its own. If no node would ever take a pod,
// its condition PodScheduled and an event say why.
//
// # Pods of any shape
//
// With [Config.Shapes] pods request CPU, memory and whatever else nodes have, in the place of slots, and
// share the nodes by that: see package shape of the library. The policy is fair over dominant shares, with
// a pool for each namespace, unless [Shapes.Policy] makes another one. Nothing is over-committed: the
// requests of a pod count as the API server has them, with init containers and overhead, and so do the pods
// of other schedulers on the nodes. A pod of 32 CPUs would wait for ever while pods of one CPU come and go,
// so after [Shapes.Patience] a node is reserved for it. If no node is large enough, the condition
// PodScheduled of the pod says which resource is short, and by how much.
//
// Pods that ask for the same, nodeSelector, affinity and tolerations included, are one class of the
// policy. A new class, and a cluster that has grown or shrunk by a quarter, make the policy anew, which is
// then told all that is true. Beyond 256 classes similar requests are rounded up to a common one. If a pod
// requests something else than the template of its Job, because something has changed it on the way, it is
// a job of its own. A pod that is resized in place takes what it has grown by from its node (TestResizeInPlace); what it
// gives back is free when it ends.
//
// # Gangs
//
// The pods of a Job with the label [Gang] are bound only when all of them are there and have a
// place, with slots and with shapes, under any policy. Such a Job needs a spec.parallelism of at least
// spec.completions. The gang competes in the policy's order. If it gets only a part of its places, it gives
// them back at the same instant, and they go to others; what a policy keeps free for short tasks is not among its
// places (TestGangs). Once it has waited for [Config.GangPatience], it takes
// each place that comes free before all others, whatever the policy says, until it has all. One gang at a time
// does so: the one that has waited for longest. So gangs never wait for each other. A gang that is wider than
// the cluster never does. If a pod of it goes, or a node with such a place, it gives all of them back and begins anew. So it
// does after [Config.GangKeep], and then waits for longer and longer before it keeps places again (TestGangGivesUp). A place that is kept
// goes to a pod of the same class, or shape, whose Job has a [Size], if that pod ends before the gang can have the places that it
// lacks. When that is follows from the sizes of what runs, once enough of it has one. If all sizes are right, the gang starts no later
// than then (TestBackfill). While a pod runs for longer than its size, no other pod of its pool gets such a place (TestBackfillOfLiars). A gang that
// cannot start costs the loop nothing (TestGangThatWaitsCostsNothing), and preempts nobody.
// A restart forgets what was kept. A pod that has failed, or whose bind was refused, is replaced by itself. Labels are the
// only way to say so: the Workload API of Kubernetes 1.36 is alpha, and not looked at.
//
// # Jobs
//
// A Job is a job of the policy, with a task for each completion, or for each pod at a time if it has no
// completions. If it is Indexed, its indexes are the tasks; otherwise a pod is any task that has none
// (TestJobsWithoutIndexes). A pod of anything else is a job of its own. Annotations on the Job, or on such a
// pod, describe it: see [Size], [Weight], [Deadline] and [Pool]. A Job with a wrong one is not started: a
// Warning event and the condition [Rejected] say why, and a corrected annotation is enough to try again.
//
// Whoever may create a Job writes its annotations. [Limits] say what they may ask for: with the zero Limits the
// pool of a job is its namespace, and no weight is above 1 (TestCheatsGainNothing). Tenants that do not trust each other need
// a policy that shares between pools, such as fair: under hfsp, who cuts the work into small Jobs goes first. A policy
// that knows priorities, as priority:inner=fair does, serves pods and Jobs by spec.priority of their pods
// first, which a PriorityClass sets (TestPriorityOfPods). Others ignore it.
//
// A Job that is created with spec.suspend and the label [Admit] asks for admission. A Job that somebody else suspends, by
// hand, Kueue or a JobSet, is never resumed, also after a restart (TestSuspendedByOthers). If the policy accepts it, the scheduler
// writes the annotation [Admitted] and resumes it in the same patch. Otherwise the condition Rejected
// names the reason, and the deadline that would be accepted. Under policy rtmr create Jobs so, since a
// Job that is refused later has its pods already. A Job that was refused because of what the others need
// is asked about again when there are more slots or fewer jobs. Under rtmr, a Job with a deadline is judged
// once the pods of the last accepted one are known, at most 10 seconds later, and needs as much
// spec.parallelism as it has completions.
//
// A pod that waits for 5 seconds gets an event that says why: see [Config] Events. With [Config.Unschedulable] its condition
// PodScheduled says so too, for autoscalers (TestWaitingPodsSayUnschedulable).
//
// # Restarts
//
// All state is in the API server. A scheduler that starts lists nodes, Jobs and pods, and tells the
// policy first what runs and what is done. The number of an attempt is in an annotation of the pod,
// which the Binding writes. What a policy has learned is lost; the age of Jobs is not.
//
// With [Config.Lease], one of several replicas schedules. A bind names the UID of the pod, and the API
// server accepts one bind of a pod, so two schedulers by mistake never start a pod twice. They may
// exceed the slots of a node for a while: each counts what it has not yet heard of as free.
//
// # How it works
//
// Informers make closures of what they hear. One goroutine owns the policy and runs them, then offers
// the free slots and hands binds to a pool of workers. A bind whose answer is lost is repeated until
// the API server has answered, so its slot is never given twice. A preemption is an eviction, which
// honours disruption budgets; the Job's podFailurePolicy should ignore DisruptionTarget.
package kubernetes
